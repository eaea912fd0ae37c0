// Package powerloss is a file system for tests that loses, at the press of a button, what has not been synced.
//
// A process that is killed loses nothing it has written: the kernel has it. A machine that loses power does lose what the
// kernel had not written to the disk. A [Disk] shows that without a machine: a FUSE file system keeps two copies of a
// folder. In one are all writes, as a process sees them; the other gets of each file what fsync, or a file opened with
// O_SYNC, asks for. What is in the second is what a power loss leaves.
//
// It is harsher than most disks are, since it loses every write that was not synced, and milder in one point: names
// (creating, renaming and removing files) survive at once, as with a file system that journals them.
//
// The same disk can be full for a while: see [Disk.Fill].
//
// It needs Linux and /dev/fuse, and may be imported by tests alone.
//
// The package imports nothing of Carillon.
package powerloss

// Package powerloss is a file system for tests that loses unsynced data on request.
//
// A killed process loses nothing it has written: the kernel has it. A machine that loses power loses what the kernel had not
// yet written to the disk. A [Disk] shows that without a machine: a FUSE file system keeps two copies of a folder. One has all
// writes, as a process sees them. The other has only the parts of each file that fsync, or a file opened with O_SYNC, has
// written through. The second copy is what a power loss leaves.
//
// The disk is harsher than most real ones, because it loses every write that was not synced. It is milder in one point: names
// (creating, renaming and removing files) survive at once, as with a file system that journals them.
//
// The same disk can be full for a while: see [Disk.Fill].
//
// It needs Linux and /dev/fuse, and may be imported by tests alone.
//
// The package imports nothing of Carillon.
package powerloss

// Package archive knows what an archive looks like, and reads and writes it. An archive is a bucket in which the closed executions of a namespace stay
// after their retention.
//
// Each execution is two objects:
//
//	<namespace>/histories/<workflow ID>/<run ID>.json                          its history, as Temporal's JSON
//	<namespace>/executions/<day>/<type>/<end>_<workflow ID>_<run ID>.json      its entry: what lists show, and the digest of the history
//
// The day is that of the end, in UTC. Workflow IDs and types are escaped: see [Token]. So a day, and a type within a day, is found by one prefix, and
// the history of a run by its IDs alone. An entry is written only after its history has been read back, so whoever finds an entry finds the history.
//
// The content of both follows from the execution alone. To write them again does no harm.
//
// [Open] opens a bucket by its URL. The package may import subjects, internal/archive/objectstore and internal/bus. It knows no journal, and must
// never decide what is archived or removed.
package archive

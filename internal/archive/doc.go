// Package archive knows what an archive looks like, and reads and writes it. An archive is a bucket in which the closed executions of a namespace stay
// after their retention.
//
// Each execution is two objects:
//
//	<namespace>/histories/<workflow ID>/<run ID>_<end>.json                         its history, as Temporal's JSON
//	<namespace>/executions/<day>/<type>/<hour>/<end>_<workflow ID>_<run ID>.json    its entry: what lists show, and the digest of the history
//
// Three empty objects say that there are entries of a day, a type and an hour, because not every store lists folders:
//
//	<namespace>/days/<day>.json
//	<namespace>/types/<day>/<type>.json
//	<namespace>/hours/<day>/<type>/<hour>.json
//
// The day and the hour are those of the end, in UTC. Workflow IDs and types are escaped: see [Token]. So a day, and a type within a day, is found by one
// prefix, and the history of a run by its IDs alone; and the run of a workflow ID that ended last is known from names. An entry is written only after its
// history has been read back and these objects are there, so whoever finds an entry finds the history, and whoever looks for it finds the entry.
//
// Names and contents follow from the execution alone. To write them again does no harm.
//
// The events of schedules are in two kinds of objects. Sequence is where a part of their stream begins, which is archived at once:
//
//	<namespace>/schedules/<schedule>/<day>_<sequence>.json    the events of a schedule and a day in a part
//	<namespace>/schedule-days/<day>/<sequence>.json           of which schedules there are events of a day in a part
//
// [Open] opens a bucket by its URL. The package may import subjects, internal/archive/objectstore and internal/bus. It knows no journal, and must
// never decide what is archived or removed.
package archive

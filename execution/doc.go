// Package execution decides what becomes of workflow executions. It is pure: it has no clock, no randomness and no I/O, so that a test can
// replay any order of events.
//
//   - A [State] is what the journal of a workflow ID adds up to. [State.Apply] adds an [Entry] of the journal.
//   - [Decide] answers an [Input], such as a signal or the completion of a task: it returns the entry to append, the state after it, and
//     what to reply. The one append of this entry is the transition; nothing else needs to be atomic with it.
//   - [Owed] says what an entry makes due: tasks to offer, and what other workflows and schedules are to be told. [State.NextDeadline] says when time changes something next.
//   - A [Token] is what a worker gets with a task and gives back with its result.
//
// Events, commands, payloads and failures are Temporal's own messages (go.temporal.io/api), and errors are those of its package
// serviceerror. What only the service needs to know is in the other fields of an entry, as the values after the transition: a state is
// replayed without any rule, so a release with other rules reads old journals as they were.
//
// There is one file for each kind of input and of command. Only history imports the package, gateway for its tokens, internal/backlog for
// what is to be offered, and internal/search and internal/consistency to read journals. It may import internal/codec. It must never contain anything about NATS, nor wait for anything.
package execution

// Package live shows what happens to schedules while it happens: one aligned line for each event of the event stream,
// with the lateness of every action.
//
// A [View] turns events into lines. It is a pure consumer: it holds no connection and no clock, and it is for one
// goroutine. [Follow] feeds it from the event stream, from a [Position] taken before the roles of the process begin, so
// that nothing they do is lost. Events arrive at least once and repeats are dropped by ID.
//
// Actions that were due before the process began are caught up: the view shows each once, when it has ended, and sums
// them up for each schedule when the last has.
//
// The package may import schedule, subjects and internal/cli/render.
package live

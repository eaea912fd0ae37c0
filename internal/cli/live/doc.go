// Package live shows what happens to schedules while it happens: one aligned line for each event of the event stream, with the lateness of
// every action.
//
// A [View] turns events into lines. It only consumes: it holds no connection and no clock. It is for one goroutine. [Follow] feeds it from
// the event stream, beginning at a [Position] that was taken before the roles of the process begin. So it misses nothing that they do.
// Events arrive at least once, and repeats are dropped by their ID.
//
// Actions that were due before the process began are caught up. The view shows each of them once, when it has ended. When the last one of a
// schedule has ended, the view sums them up.
//
// The package may import schedule, subjects and internal/cli/render.
package live

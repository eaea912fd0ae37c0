// Package workertest runs handlers of package worker in unit tests, without NATS and without a server.
//
//	func TestCharge(t *testing.T) {
//		result := workertest.Run(t, worker.HandlerOf(charge), workertest.Request{
//			Input:       Invoice{Number: 4711},
//			RetryPolicy: &schedule.RetryPolicy{MaximumAttempts: 3},
//		})
//		var receipt Receipt
//		if err := result.Decode(&receipt); err != nil {
//			t.Fatal(err)
//		}
//		...
//	}
//
// The code is that of a worker ([worker.Trial]): inputs are decoded and results encoded as JSON, panics are failures, the
// time limits hold, and after an error it is the worker's own decision whether the run is tried again.
//
// # Several attempts
//
// [Run] makes all attempts that the retry policy allows. It does not wait between them; the deadline of the run comes
// closer by as much instead. What becomes of each attempt is in [Result.Attempts].
//
// # Cancels and the end of the worker
//
// [Start] returns while the handler executes. Then [Execution.Cancel], [Execution.Terminate] and [Execution.Shutdown] do what
// their names say, [Execution.NextHeartbeat] waits for the handler to come so far, and [Execution.Wait] returns the result.
//
// # Time
//
// Time is that of package time. In a test of an hour's timeout, use testing/synctest, whose time passes at once:
//
//	synctest.Test(t, func(t *testing.T) {
//		result := workertest.Run(t, handler, workertest.Request{TaskTimeout: time.Hour})
//		...
//	})
//
// Handlers that do real I/O do not belong in there; see the documentation of testing/synctest.
//
// The package may import schedule and worker.
package workertest

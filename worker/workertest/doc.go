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
// The code is the code of a worker ([worker.Trial]): inputs are decoded and results encoded as JSON, panics are failures, the time limits
// apply, and the worker's own code decides whether the run is tried again after an error.
//
// # Several attempts
//
// [Run] makes all attempts that the retry policy allows. It does not wait between them; instead, it moves the deadline of the run forward
// by the waiting time. [Result.Attempts] says what became of each attempt.
//
// # Cancels and the end of the worker
//
// [Start] returns while the handler executes. Then [Execution.Cancel], [Execution.Terminate] and [Execution.Shutdown] do what their names
// say, [Execution.NextHeartbeat] waits for the next heartbeat of the handler, and [Execution.Wait] returns the result.
//
// # Time
//
// Time is the time of package time. To test a timeout of an hour, use testing/synctest, where the hour passes at once:
//
//	synctest.Test(t, func(t *testing.T) {
//		result := workertest.Run(t, handler, workertest.Request{TaskTimeout: time.Hour})
//		...
//	})
//
// Do not use handlers with real I/O in it; see the documentation of testing/synctest.
//
// The package may import schedule and worker.
package workertest

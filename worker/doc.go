// Package worker runs actions: it is the Go SDK for the processes that do the work a schedule starts.
//
// A worker serves one task queue. It takes start requests from it, runs the handler registered for the request's type,
// reports how the run ended, and only then acknowledges the request:
//
//	w, err := worker.New(nc, worker.Config{TaskQueue: "reports"})
//	...
//	worker.Handle(w, "monthly_report", func(ctx context.Context, in ReportInput) (ReportResult, error) {
//		...
//	})
//	err = w.Run(ctx) // until ctx is done, and everything the worker held is finished or given back
//
// [Handle] takes a function with an input and a result of types of its own; a [Handler], for [Worker.Register], has the whole
// [Run]. [Middleware] is put around all of them. What a handler may ask for, by its context: the run ([FromContext]), the
// result of the schedule's last success ([LastResult]), what an earlier attempt has recorded ([LastHeartbeat]), and a logger
// that says which run it is ([Logger]). Handlers are tested without a server by package workertest; examples/worker is a
// complete program with its tests, and docs/workers.md explains it.
//
// What a handler must know:
//
//   - A run is executed at least once. When a worker dies, or loses NATS for longer than the acknowledgement wait,
//     another one runs it again. [Run.RequestID] is the idempotency key: it is the same for every attempt of a run, and
//     of that run alone.
//   - The handler's context ends when the run is canceled or terminated, when its deadline or the attempt's time limit
//     or its heartbeat timeout has passed, and some time after the worker began to stop; [context.Cause] says which:
//     [ErrCanceled], [ErrTerminated], [ErrRunTimeout], [ErrTaskTimeout], [ErrHeartbeatTimeout] or [ErrShutdown].
//   - A handler that was canceled may clean up, with a context of its own ([context.WithoutCancel]), for as long as the
//     time limits of the run allow. One that goes on for two seconds after a time limit is left: the run is reported or
//     given back, the slot is free, and what the handler returns is ignored. So is a handler that was terminated, at
//     once. The worker cannot stop it; a retry may run beside it. As many handlers that were left as Config.Concurrency go
//     on like that; one more keeps its slot until it returns, so that a worker full of them takes on nothing.
//   - An error is tried again if the action has a retry policy that allows it, on whichever worker is free.
//     [NonRetryable] and the policy's list of error types end the run at once. Without a policy the first error does.
//   - While the handler runs the worker keeps the lease on the request alive. [Heartbeat] is needed only if the action has
//     a heartbeat timeout, or to record progress for the next attempt, and is a convenient place to learn that the run is
//     over.
//
// Every decision is a pure function of the request, the number of the delivery and what the handler returned; they are
// in decide.go. The rest moves messages. Handlers run concurrently, each in a goroutine of its own; all exported
// functions and methods may be called from any of them.
//
// The protocol itself, for workers in other languages, is docs/worker-protocol.md. The package imports schedule,
// subjects and small internal packages, and nothing of the pools.
package worker

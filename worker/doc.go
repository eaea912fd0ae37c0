// Package worker is the Go SDK for processes that run the actions of schedules.
//
// A worker serves one task queue. It takes a start request from the queue, runs the handler that is registered for its type, reports how
// the run ended, and only then acknowledges the request:
//
//	w, err := worker.New(nc, worker.Config{TaskQueue: "reports"})
//	...
//	worker.Handle(w, "monthly_report", func(ctx context.Context, in ReportInput) (ReportResult, error) {
//		...
//	})
//	err = w.Run(ctx) // until ctx is done, and everything the worker held is finished or given back
//
// [Handle] takes a function whose input and result have types of their own. A [Handler], for [Worker.Register], gets the whole [Run].
// [Middleware] wraps all of them. From its context, a handler can get the run ([FromContext]), the result of the schedule's last success
// ([LastResult]), the progress of an earlier attempt ([LastHeartbeat]), and a logger that names the run ([Logger]). Package workertest
// tests handlers without a server. examples/worker is a complete program with tests; docs/workers.md explains it.
//
// What a handler must know:
//
//   - A run is executed at least once. If a worker dies, or loses NATS for longer than the acknowledgement wait, another worker runs it
//     again. [Run.RequestID] is the idempotency key: all attempts of a run have the same one, and no other run has it.
//   - The handler's context ends when the run is canceled or terminated, when the run's deadline, the attempt's time limit or its heartbeat
//     timeout has passed, and some time after the worker began to stop. [context.Cause] says which: [ErrCanceled], [ErrTerminated],
//     [ErrRunTimeout], [ErrTaskTimeout], [ErrHeartbeatTimeout] or [ErrShutdown].
//   - A canceled handler may clean up, with a context of its own ([context.WithoutCancel]), within the time limits of the run.
//   - A handler that continues for two seconds after a time limit is left: the run is reported or given back, its slot is free, and the
//     handler's result is ignored. A terminated handler is left at once. The worker cannot stop a handler, so a retry may run beside it. At
//     most Config.Concurrency handlers continue like that; any further one keeps its slot until it returns. So a worker full of them takes
//     no new runs.
//   - After an error, the run is tried again on any free worker if the action has a retry policy that allows it. [NonRetryable] and the
//     policy's list of error types end the run at once. Without a policy, the first error ends it.
//   - While the handler runs, the worker extends the lease on the request. [Heartbeat] is needed only if the action has a heartbeat
//     timeout, or to record progress for the next attempt. It also returns an error once the handler's context has ended.
//
// Every decision is a pure function of the request, the number of the delivery and what the handler returned; they are in decide.go. The
// other files move messages. Handlers run concurrently, each in a goroutine of its own; all exported functions and methods may be called
// from any of them.
//
// docs/worker-protocol.md describes the protocol, for workers in other languages. The package imports schedule, subjects and small internal
// packages, and nothing of the pools.
package worker

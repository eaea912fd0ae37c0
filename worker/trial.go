package worker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Trial is one attempt of a run without NATS, for tests; package workertest makes it convenient. It uses the code of a worker: the same
// limits, the same recovery from panics, the same decision about what becomes of the run.
type Trial struct {
	// Handler executes the attempt. Required.
	Handler Handler
	// Middleware is as in Config.
	Middleware []Middleware
	// Request is the request that the worker would get. It need not be complete.
	Request schedule.ActionRequest
	// Attempt counts the attempts, from 1. Zero means 1.
	Attempt int
	// LastHeartbeat is as in Run.
	LastHeartbeat json.RawMessage
	// OnHeartbeat, unless nil, is called with the details of each heartbeat, in the goroutine that makes it.
	OnHeartbeat func(details json.RawMessage)
	// Logger receives the logs. Nil means slog.Default().
	Logger *slog.Logger
}

// TrialResult says what a worker would do after an attempt.
type TrialResult struct {
	// Completion is the completion that it would report; nil if the run goes on or was terminated.
	Completion *schedule.Completion
	// Again says that the run would go back to the queue, for another attempt after Delay. Failure says why; it is nil if the worker stops.
	Again   bool
	Delay   time.Duration
	Failure *schedule.Failure
	// LastHeartbeat is what the next attempt would get.
	LastHeartbeat json.RawMessage
}

// Execute makes the attempt. The cause of the end of ctx says what the handler sees: ErrCanceled is a cancel of the run, ErrTerminated its
// termination, anything else the end of the worker after its drain timeout. The limits of the request apply. Time is the time of package
// time.
func (t Trial) Execute(ctx context.Context) TrialResult {
	t.Attempt = max(t.Attempt, 1)
	if t.Logger == nil {
		t.Logger = slog.Default()
	}
	h := newHeld(context.WithoutCancel(ctx), nil, t.Request, t.Attempt)
	defer h.cancel(nil)
	h.previous, h.onHeartbeat = t.LastHeartbeat, t.OnHeartbeat
	final, endFinal := context.WithCancel(context.Background()) //permit:context.Background it outlives ctx, as in a worker that stops
	defer endFinal()
	defer context.AfterFunc(ctx, func() { endTrial(h, context.Cause(ctx), final, endFinal) })()
	result := t.decide(ctx, final, h)
	if result.LastHeartbeat = h.lastDetails(); result.LastHeartbeat == nil {
		result.LastHeartbeat = t.LastHeartbeat
	}
	return result
}

// decide does what Worker.attempt does.
func (t Trial) decide(ctx, final context.Context, h *held) TrialResult {
	e := executor{
		now: time.Now, //permit:time.Now a trial is in real time
		log: t.Logger, strays: newStrays(make(chan struct{}, 1)), maxResult: func() int { return MaxResultBytes },
	}
	v := before(&t.Request, arrival{
		delivery: t.Attempt, cause: context.Cause(ctx), stopping: ctx.Err() != nil, types: []string{t.Request.Type}, now: e.now(),
	})
	o := outcome{verdict: v, attempt: t.Attempt - 1}
	if v.kind == execute {
		_, v = e.execute(final.Done(), h, wrapped(t.Handler, t.Middleware))
		o = outcome{verdict: v, attempt: t.Attempt}
	}
	switch o.kind {
	case giveBack:
		return TrialResult{Again: true, Delay: o.delay, Failure: o.failure}
	case report:
		completion := newCompletion(h, o, e.now())
		return TrialResult{Completion: &completion}
	}
	return TrialResult{}
}

// endTrial passes the end of a trial's context to its run, as the phases and controls of a worker do.
func endTrial(h *held, cause error, final context.Context, endFinal func()) {
	if errors.Is(cause, ErrCanceled) || errors.Is(cause, ErrTerminated) {
		h.control(cause)
		return
	}
	h.cancel(ErrShutdown)
	if sleep.For(final, handBackTime) == nil {
		endFinal()
	}
}

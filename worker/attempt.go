package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

// attempt is one call of a handler. It is over when the handler returns or is left. A handler that is left may continue, but its result is
// ignored.
type attempt struct {
	held *held
	// ctx is the context of the handler; end ends it.
	ctx context.Context
	end context.CancelCauseFunc
	out <-chan returned
	// began is when the handler was called.
	began time.Time
	// clock fires when a time limit may be over. exceeded is the limit that is over; once it is set, clock measures the grace.
	clock    *time.Timer
	exceeded error
}

// executor runs attempts, without NATS. It is safe for concurrent use.
type executor struct {
	now    func() time.Time
	log    *slog.Logger
	strays *strays // handlers that were left
	// maxResult returns how many bytes a result may have.
	maxResult func() int
}

// execute runs the handler and decides what follows. Once final is closed, it no longer waits for the handler. The returned context carries
// the span of the attempt.
func (e *executor) execute(final <-chan struct{}, h *held, handler Handler) (context.Context, verdict) {
	traced, span := telemetry.StartProcess(h.ctx, telemetry.DestinationAction)
	if span.IsRecording() {
		span.SetAttributes(h.spanAttributes()...)
	}
	defer span.End()
	ctx, cancel := withLimits(traced, &h.request)
	defer cancel()
	a := e.begin(ctx, h, handler)
	defer a.close()
	v := e.await(final, a)
	v.describe(span)
	return traced, v
}

// begin calls the handler.
func (e *executor) begin(ctx context.Context, h *held, handler Handler) *attempt {
	a := &attempt{held: h, began: e.now(), clock: time.NewTimer(0)}
	a.ctx, a.end = context.WithCancelCause(ctx)
	if h.started.IsZero() {
		h.started = a.began
	}
	h.setAlive(a.began)
	run := &Run{ActionRequest: h.request, Attempt: h.delivery, LastHeartbeat: h.previous, log: e.log, beat: e.beat(h)}
	e.log.DebugContext(ctx, "run begins", h.attrs()...)
	a.out = invoke(context.WithValue(a.ctx, runKey{}, run), handler, run, e.maxResult())
	return a
}

// beat returns the function that handles a heartbeat of a run.
func (e *executor) beat(h *held) func(details any) {
	return func(details any) {
		now, encoded := e.now(), encodeDetails(details)
		if encoded != nil {
			h.setDetails(encoded)
		}
		h.setAlive(now)
		h.heartbeat(now)
		if h.onHeartbeat != nil {
			h.onHeartbeat(encoded)
		}
	}
}

func (a *attempt) close() {
	a.clock.Stop()
	a.end(nil)
}

// await waits for the handler, but no longer than the run may last, and decides what follows.
func (e *executor) await(final <-chan struct{}, a *attempt) verdict {
	h := a.held
	for {
		select {
		case out := <-a.out:
			return after(&h.request, e.ended(h, out, h.cause(a.ctx)))
		case <-h.terminated:
			e.leave(a, ErrTerminated)
			return after(&h.request, ending{attempt: h.delivery, cause: ErrTerminated, now: e.now()})
		case <-final:
			e.leave(a, ErrShutdown)
			return verdict{kind: giveBack}
		case <-a.clock.C:
			if !a.tick(e.now()) {
				continue
			}
			e.leave(a, a.exceeded)
			failure := stillRunning(a.exceeded, h.lastDetails())
			return after(&h.request, ending{attempt: h.delivery, failure: failure, cause: h.cause(a.ctx), now: e.now()})
		}
	}
}

// tick checks the time limits. If one is over, it ends the context and starts the grace. It reports whether the handler has used up its
// grace. It resets the clock for the next check. The limits also apply to a handler whose context has already ended, for example by a
// cancel. A heartbeat during the grace is too late.
func (a *attempt) tick(now time.Time) (left bool) {
	if a.exceeded != nil {
		return true
	}
	at, limit := firstLimit(&a.held.request, a.began, a.held.lastAlive())
	switch {
	case limit == nil: // no limit applies
	case now.Before(at):
		a.clock.Reset(at.Sub(now))
	default:
		a.exceeded = limit
		a.end(limit)
		a.clock.Reset(grace)
	}
	return false
}

// leave stops waiting for the handler. The handler continues beside the run that takes its slot, and is counted until it returns.
func (e *executor) leave(a *attempt, cause error) {
	left, keepsSlot := e.strays.add(a.out)
	a.held.slotKept = keepsSlot
	attrs := append(a.held.attrs(), keyAttempt, a.held.delivery, keyReason, cause, keyHandlersLeft, left)
	if errors.Is(cause, ErrTerminated) { // it had no time to return
		e.log.DebugContext(a.ctx, "handler of a terminated run is left", attrs...)
		return
	}
	e.log.ErrorContext(a.ctx, "handler ignores the end of its context and is left", attrs...)
	if keepsSlot {
		e.log.ErrorContext(a.ctx, "too many handlers were left: until they return, the worker takes on less", attrs...)
	}
	telemetry.Fail(trace.SpanFromContext(a.ctx), "handler_left", "the handler did not return")
}

// withLimits gives the context of one attempt a deadline, so that the handler's own calls know it.
func withLimits(ctx context.Context, req *schedule.ActionRequest) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := cancel
	if !req.Deadline.IsZero() {
		ctx, cancel = context.WithDeadlineCause(ctx, req.Deadline, ErrRunTimeout)
		stop = join(stop, cancel)
	}
	if req.TaskTimeout > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, req.TaskTimeout.Std(), ErrTaskTimeout)
		stop = join(stop, cancel)
	}
	return ctx, stop
}

func join(first, second context.CancelFunc) context.CancelFunc {
	return func() { second(); first() }
}

// ended turns what a handler returned into the input of after.
func (e *executor) ended(h *held, out returned, cause error) ending {
	if out.failure != nil && out.failure.Details == nil {
		out.failure.Details = h.lastDetails()
	}
	return ending{
		attempt: h.delivery, result: out.result, failure: out.failure, final: out.final, cause: cause, now: e.now(),
	}
}

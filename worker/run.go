package worker

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

// receive handles one message from the queue, from its arrival to its answer.
func (w *Worker) receive(p phases, s *slot, msg jetstream.Msg) {
	meta, err := msg.Metadata()
	if err != nil {
		w.others.Error("not a message of a stream", keySubject, msg.Subject(), keyError, err)
		return
	}
	w.countArrival(meta.NumDelivered)
	request, err := parseRequest(w.names, msg.Subject(), msg.Data())
	if err != nil {
		w.deadLetter(p.final, msg, meta, err)
		return
	}
	h := newHeld(telemetry.Extract(p.work, msg.Headers()), msg, request, int(meta.NumDelivered))
	defer h.cancel(nil)
	h.started, _ = w.retried.get(request.RequestID, w.now())
	if w.isNew(p.final, h) {
		w.process(p, s, h)
	}
}

// isNew reports whether a request is to be executed: the worker neither holds it nor has finished it. It looks for the finished ones when it
// holds the request, because settle remembers a request before it gives it up: in the other order, one could end in between and run again.
func (w *Worker) isNew(ctx context.Context, h *held) bool {
	if !w.held.admit(h) {
		return false
	}
	_, done := w.finished.get(h.request.RequestID, w.now())
	if done { // NATS has lost the acknowledgement
		w.held.remove(h)
		w.acknowledge(ctx, h.end())
	}
	return !done
}

// process takes a run through its attempt.
func (w *Worker) process(p phases, s *slot, h *held) {
	if p.pull.Err() == nil {
		w.applyStored(p.final, h)
	}
	o := w.attempt(p, h)
	if h.slotKept {
		s.forget()
	} else {
		s.pass()
	}
	w.settle(p, h, o)
}

// attempt decides about a run, and executes it if the decision says so.
func (w *Worker) attempt(p phases, h *held) outcome {
	turn := w.turns.await(h, p.pull)
	if turn {
		defer w.turns.end(&h.request)
	}
	stopping := p.pull.Err() != nil // it may have taken some time to come here
	v := before(&h.request, arrival{
		delivery: h.delivery, cause: h.controlCause(), crowded: !turn, stopping: stopping, types: w.types(), now: w.now(),
	})
	if v.kind != execute {
		return outcome{verdict: v, attempt: h.delivery - 1, trace: h.ctx}
	}
	w.findProgress(p.final, h)
	begin := w.now()
	w.countExecuting(1)
	ctx, v := w.executor.execute(p.final.Done(), h, w.handler(h.request.Type))
	w.countExecuting(-1)
	w.countAttempt(&v, w.now().Sub(begin))
	return outcome{verdict: v, attempt: h.delivery, trace: ctx}
}

// outcome is a verdict about a run, with the other contents of its completion.
type outcome struct {
	verdict
	attempt int
	trace   context.Context
}

// settle carries out a verdict. It removes the request from the table before it answers, because an answer may bring the request back at
// once.
func (w *Worker) settle(p phases, h *held, o outcome) {
	if o.kind == report {
		if err := w.report(p.final, h, o); err != nil {
			w.log.Error("completion not stored, the run will be repeated", append(h.attrs(), keyError, err)...)
			o.verdict = verdict{kind: giveBack}
		}
	}
	if o.kind == giveBack {
		w.retried.add(h.request.RequestID, h.started, w.now())
		w.storeProgress(p.final, h)
		w.held.remove(h)
		w.logGiveBack(h, o)
		p.awaitPulled()
		_ = h.end().NakWithDelay(o.delay) // if it is lost, the request comes back after the acknowledgement wait
		return
	}
	w.finished.add(h.request.RequestID, struct{}{}, w.now())
	w.held.remove(h)
	w.acknowledge(p.final, h.end())
}

// newCompletion returns the completion of an outcome for the invoker, without the worker's identity.
func newCompletion(h *held, o outcome, now time.Time) schedule.Completion {
	return schedule.Completion{
		RequestID: h.request.RequestID, RunID: h.request.RunID,
		Status: o.status, Result: o.result, Failure: o.failure,
		StartTime: utc(h.started), CloseTime: utc(now), Attempt: o.attempt,
	}
}

// controlCause returns the cause of a control that has ended the run; nil if there is none.
func (h *held) controlCause() error {
	if cause := h.cause(h.ctx); errors.Is(cause, ErrCanceled) || errors.Is(cause, ErrTerminated) {
		return cause
	}
	return nil
}

// answersAtOnce is how many runs may be over but not answered yet, in addition to those that execute.
const answersAtOnce = 1_000

// slot is the right to execute one run. It takes two round trips to NATS to report a run and to acknowledge its request; the next run need
// not wait for them. A slot belongs to one goroutine.
type slot struct {
	worker    *Worker
	answering bool
	forgotten bool
}

// pass lets the next run begin while this one is being answered. If too many runs wait for NATS, it keeps the slot: a worker must not
// collect ever more runs that it cannot report.
func (s *slot) pass() {
	select {
	case s.worker.answers <- struct{}{}:
		s.answering = true
		s.worker.release(1)
	default:
	}
}

// forget leaves the slot to a handler that was left; see strays.
func (s *slot) forget() { s.forgotten = true }

// end gives back what the run uses of the worker.
func (s *slot) end() {
	switch {
	case s.forgotten:
	case s.answering:
		<-s.worker.answers
	default:
		s.worker.release(1)
	}
}

const (
	// deadLetterSource is the source of a worker's dead letters in metrics.
	deadLetterSource = "worker"
	// deadLetterRetry is the delay after which a message comes again if it could not be stored as a dead letter.
	deadLetterRetry = 5 * time.Second
)

// deadLetter moves a message that no worker can run to the dead letter stream. The message stays in the queue until the stream has stored
// it.
func (w *Worker) deadLetter(ctx context.Context, msg jetstream.Msg, meta *jetstream.MsgMetadata, reason error) {
	subject := w.names.WorkerDeadLetter(w.config.Namespace, w.config.TaskQueue)
	letter := deadletter.NewPlain(subject, msg, meta, reason, w.bus.MaxPayload())
	err := w.callOnce(ctx, func(ctx context.Context) error {
		return w.bus.Publish(ctx, letter)
	})
	if err != nil {
		w.others.WarnContext(ctx, "dead letter not stored, will try again", keySubject, msg.Subject(), keyError, err)
		_ = msg.NakWithDelay(deadLetterRetry)
		return
	}
	metrics.DeadLetters.Add(ctx, 1, deadLetterSource)
	w.others.ErrorContext(ctx, "message is a dead letter", keySubject, msg.Subject(), keyReason, reason)
	_ = msg.TermWithReason("dead letter") // if it is lost, there will be two letters
}

package worker

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/workerbus"
)

// A control reaches a run in one of two ways:
//
//  1. live, by the subscription of Run;
//  2. from the control stream, if it was sent before the worker listened or while it had no connection.
//
// A replica that lags behind may answer a direct read of the stream. Therefore the worker remembers live controls for a while, for runs
// that arrive after them.

const (
	controlReads    = 3
	controlReadTime = 2 * time.Second
)

// onControl applies a control to its run, or remembers it until the run arrives.
func (w *Worker) onControl(msg workerbus.Message) {
	control, err := parseControl(msg.Data)
	if err != nil {
		w.others.Warn("control ignored", keySubject, msg.Subject, keyError, err)
		return
	}
	cause := causeOf(control.Kind)
	w.controls.add(control.RunID, cause, w.now())
	if h := w.held.byRunID(control.RunID); h != nil {
		h.control(cause)
	}
}

// applyStored applies a control that was sent before the run arrived. If NATS does not answer, the run begins nevertheless: a lost cancel
// is better than runs that do not begin.
func (w *Worker) applyStored(ctx context.Context, h *held) {
	if w.hasHeard(h) {
		w.applyHeard(h)
		return
	}
	if err := w.findControl(ctx, h); err != nil {
		w.others.WarnContext(ctx, "controls cannot be read, the run goes ahead", append(h.attrs(), keyError, err)...)
	}
}

// applyHeard applies the control of a run that came by the subscription, and returns its cause; nil if there is none.
func (w *Worker) applyHeard(h *held) error {
	cause, ok := w.controls.get(h.request.RunID, w.now())
	if ok {
		h.control(cause)
	}
	return cause
}

// recoverControls looks for the controls of the runs in progress after each loss of the connection, until ctx is done. It looks some time
// after the reconnect: a control that came just before the subscription may not be stored yet.
func (w *Worker) recoverControls(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	known := w.bus.Reconnects()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := w.bus.Reconnects(); now != known && w.findControls(ctx) {
			known = now
		}
	}
}

// findControls applies the stored controls of all runs that the worker holds. It reports false if it could not read one.
func (w *Worker) findControls(ctx context.Context) bool {
	runs := w.held.all()
	slices.SortFunc(runs, func(a, b *held) int { return cmp.Compare(a.request.RequestID, b.request.RequestID) })
	for _, h := range runs {
		if err := w.findControl(ctx, h); err != nil {
			w.others.WarnContext(ctx, "controls cannot be read, will try again", append(h.attrs(), keyError, err)...)
			return false
		}
	}
	return true
}

// findControl applies the stored control of a run, if there is one.
func (w *Worker) findControl(ctx context.Context, h *held) error {
	if errors.Is(w.applyHeard(h), ErrTerminated) {
		return nil // nothing overrules a terminate; after a cancel, a terminate may follow
	}
	subject := w.names.Control(h.request.Namespace, h.request.TaskQueue, h.request.WorkflowID)
	var data []byte
	var err error
	for range controlReads {
		if data, err = w.readControl(ctx, subject); err == nil || errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		_ = sleep.For(ctx, ioBackoff(1))
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	control, err := parseControl(data)
	if err == nil && control.RunID == h.request.RunID { // the last control may concern an earlier run
		h.control(causeOf(control.Kind))
	}
	return nil // invalid data never becomes a control
}

func (w *Worker) readControl(ctx context.Context, subject string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, controlReadTime)
	defer cancel()
	return w.bus.Last(ctx, w.names.ControlStream(), subject)
}

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

// A control reaches a run on one of two ways: as it is published, by the subscription of Run; or, if that was before the
// worker listened, or while it had no connection, from the control stream. A direct read of that stream may be answered by a
// replica that lags behind, so controls seen live are remembered for a while, for runs that come after them.

const (
	controlReads    = 3
	controlReadTime = 2 * time.Second
)

// onControl applies a control to the run it names, or remembers it for when the run comes.
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

// applyStored applies a control that was sent before the run came. If NATS does not answer, the run goes ahead: better
// that one cancel comes to nothing than that none of the runs begins.
func (w *Worker) applyStored(ctx context.Context, h *held) {
	if w.hasHeard(h) {
		w.applyHeard(h)
		return
	}
	if err := w.findControl(ctx, h); err != nil {
		w.others.WarnContext(ctx, "controls cannot be read, the run goes ahead", append(h.attrs(), keyError, err)...)
	}
}

// applyHeard applies the control of a run that came by the subscription, and returns it, nil if none did.
func (w *Worker) applyHeard(h *held) error {
	cause, ok := w.controls.get(h.request.RunID, w.now())
	if ok {
		h.control(cause)
	}
	return cause
}

// recoverControls looks for the controls of the runs in progress after each loss of the connection, until ctx is done. It
// looks some time after the connection is there again: a control that came just before the subscription may take a
// moment to be stored.
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

// findControls applies the stored controls of all runs the worker holds. It reports false if one could not be read.
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

// findControl applies the control of a run, if there is one.
func (w *Worker) findControl(ctx context.Context, h *held) error {
	if errors.Is(w.applyHeard(h), ErrTerminated) {
		return nil // after a cancel there may have been a terminate
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
	return nil // what is not a control will never be one
}

func (w *Worker) readControl(ctx context.Context, subject string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, controlReadTime)
	defer cancel()
	return w.bus.Last(ctx, w.names.ControlStream(), subject)
}

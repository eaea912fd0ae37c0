package worker

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A control reaches a run on one of two ways: as it is published, by the subscription of Run; or, if that was before the
// run came to this worker, from the control stream. A direct read of that stream may be answered by a replica that lags
// behind, so controls seen live are remembered for a while too.

const (
	controlReads    = 3
	controlReadTime = 2 * time.Second
)

// onControl applies a control to the run it names, or remembers it for when the run comes.
func (w *Worker) onControl(msg *nats.Msg) {
	control, err := parseControl(msg.Data)
	if err != nil {
		w.log.Warn("control ignored", keySubject, msg.Subject, keyError, err)
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
	if cause, ok := w.controls.get(h.request.RunID, w.now()); ok {
		h.control(cause)
		return
	}
	subject := w.names.Control(h.request.Namespace, h.request.TaskQueue, h.request.WorkflowID)
	var msg *jetstream.RawStreamMsg
	var err error
	for range controlReads {
		if msg, err = w.readControl(ctx, subject); err == nil || errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		_ = wait(ctx, ioBackoff(1))
	}
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
	case err != nil:
		w.log.Warn("controls cannot be read, the run goes ahead", append(h.attrs(), keyError, err)...)
	default:
		control, err := parseControl(msg.Data)
		if err == nil && control.RunID == h.request.RunID { // the last control may concern an earlier run
			h.control(causeOf(control.Kind))
		}
	}
}

func (w *Worker) readControl(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, controlReadTime)
	defer cancel()
	return w.controlStream.GetLastMsgForSubject(ctx, subject)
}

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	ackTries = 3
	ackTime  = 2 * time.Second
)

// report stores the completion of a run. It tries until ctx is done, however long NATS is away.
//
// The message has no message ID, since repeats do no harm: the stream keeps one message for each subject, so a repeat replaces a waiting
// one, and the invoker ignores later repeats by their request ID. De-duplication would only add a risk: if a failed NATS server lost the
// first completion, it could drop the second.
func (w *Worker) report(ctx context.Context, h *held, o outcome) error {
	completion := newCompletion(h, o, w.now())
	completion.Worker = w.config.Identity
	data, err := json.Marshal(completion)
	if err != nil {
		return err
	}
	msg := nats.NewMsg(h.request.Callback)
	msg.Data = data
	msg.Header.Set("Content-Type", "application/json")
	traced, span := telemetry.StartPublish(o.trace, msg.Subject)
	if span.IsRecording() {
		span.SetAttributes(h.spanAttributes()...)
		span.SetAttributes(telemetry.AttributeStatus.String(string(o.status)))
	}
	telemetry.Inject(traced, msg.Header)
	err = w.retry(ctx, "completion not stored, will try again", func(ctx context.Context) error {
		return w.bus.Publish(ctx, msg)
	})
	telemetry.End(span, err)
	if err == nil {
		w.logReported(h, o)
	}
	return err
}

// acknowledge removes a request from the queue and waits for the confirmation. If the acknowledgement were lost, another worker would
// execute the run again.
func (w *Worker) acknowledge(ctx context.Context, msg jetstream.Msg) {
	var err error
	for attempt := 1; attempt <= ackTries; attempt++ {
		if err = doubleAck(ctx, msg); err == nil || errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
			return
		}
		if sleep.For(ctx, ioBackoff(attempt)) != nil {
			break
		}
	}
	// A redelivery to this worker will be acknowledged again. The request of a terminated run may be gone with its consumer.
	w.others.WarnContext(ctx, "acknowledgement not confirmed", keySubject, msg.Subject(), keyError, err)
}

func doubleAck(ctx context.Context, msg jetstream.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, ackTime)
	defer cancel()
	return msg.DoubleAck(ctx)
}

func (w *Worker) logReported(h *held, o outcome) {
	attrs := append(h.attrs(), keyAttempt, o.attempt, keyStatus, o.status)
	if o.failure == nil {
		w.log.DebugContext(o.trace, "run completed", attrs...)
		return
	}
	attrs = append(attrs, keyErrorType, o.failure.Type, keyError, o.failure.Message)
	if o.status == schedule.StatusCanceled {
		w.log.InfoContext(o.trace, "run canceled", attrs...)
		return
	}
	w.log.WarnContext(o.trace, "run ended without success", attrs...)
}

func (w *Worker) logGiveBack(h *held, o outcome) {
	attrs := append(h.attrs(), keyAttempt, o.attempt, keyDelay, o.delay)
	if o.failure != nil {
		attrs = append(attrs, keyErrorType, o.failure.Type, keyError, o.failure.Message)
	}
	w.log.InfoContext(o.trace, "run given back to the queue", attrs...)
}

// utc prepares a time that leaves the process. The zero time stays zero.
func utc(t time.Time) time.Time { return t.Round(0).UTC() }

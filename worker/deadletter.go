package worker

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/metrics"
)

const (
	// deadLetterSource is where a worker's dead letters come from, as metrics name it.
	deadLetterSource = "worker"
	// deadLetterRetry is when a message comes again that could not be made a dead letter.
	deadLetterRetry = 5 * time.Second
)

// deadLetter moves a message that nobody can run to the dead letter stream. It stays in the queue until that has it.
func (w *Worker) deadLetter(ctx context.Context, msg jetstream.Msg, meta *jetstream.MsgMetadata, reason error) {
	subject := w.names.WorkerDeadLetter(w.config.Namespace, w.config.TaskQueue)
	letter := deadletter.NewPlain(subject, msg, meta, reason, w.bus.MaxPayload())
	err := w.callOnce(ctx, func(ctx context.Context) error {
		return w.bus.Publish(ctx, letter)
	})
	if err != nil {
		w.others.Warn("dead letter not stored, will try again", keySubject, msg.Subject(), keyError, err)
		_ = msg.NakWithDelay(deadLetterRetry)
		return
	}
	metrics.DeadLetters.Add(ctx, 1, deadLetterSource)
	w.others.Error("message is a dead letter", keySubject, msg.Subject(), keyReason, reason)
	_ = msg.TermWithReason("dead letter") // if it is lost, there will be two letters
}

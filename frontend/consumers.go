package frontend

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// consumerTimeout bounds the making of a consumer: as long as JetStream waits for its leaders.
	consumerTimeout = 4 * time.Second
	// consumersWaiting is how many requests for consumers may wait. They come when a worker starts and finds no consumer.
	consumersWaiting = 256
	// consumerReply is the type that JetStream gives the answer to a request to make a consumer.
	consumerReply = "io.nats.jetstream.api.v1.consumer_create_response"
)

// consumerMade is JetStream's answer to a request to make a consumer: with a config or an error.
type consumerMade struct {
	Type  string              `json:"type"`
	Error *jetstream.APIError `json:"error,omitempty"`
	*jetstream.ConsumerInfo
}

// makeConsumers makes the consumers of task queues for workers that may not. Whoever may make a consumer chooses where it
// delivers to, and reads whatever the filters in the request body say. So the account of an untrusted worker imports this
// subject, and its requests come here. The body is ignored; the subject names the queue. The answer is JetStream's.
func (f *Frontend) makeConsumers(ctx context.Context) (stop func(), err error) {
	asked, err := f.config.Conn.QueueSubscribe(f.config.Names.WorkerConsumerRequests(), "frontend", func(request *nats.Msg) {
		if request.Reply == "" || !f.mayAnswer(request.Reply) {
			return
		}
		answer, err := json.Marshal(f.makeConsumer(ctx, request.Subject))
		if err == nil {
			err = request.Respond(answer)
		}
		if err != nil {
			f.config.Logger.WarnContext(ctx, "a worker that asks for its consumer is not answered", "subject", request.Subject, "error", err)
		}
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = asked.Unsubscribe() }, asked.SetPendingLimits(consumersWaiting, -1)
}

// makeConsumer makes the consumer that a request names, unless it exists.
func (f *Frontend) makeConsumer(ctx context.Context, subject string) consumerMade {
	made := consumerMade{Type: consumerReply}
	namespace, queue, err := f.config.Names.ParseWorkerConsumerRequest(subject)
	if err != nil {
		made.Error = &jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeBadRequest, Description: err.Error()}
		return made
	}
	ctx, cancel := context.WithTimeout(ctx, consumerTimeout)
	defer cancel()
	stream, config := f.config.Names.ActionStream(), f.config.Names.WorkerConsumer(namespace, queue)
	consumer, err := f.config.JS.CreateConsumer(ctx, stream, config)
	if errors.Is(err, jetstream.ErrConsumerExists) { // an operator has tuned it
		consumer, err = f.config.JS.Consumer(ctx, stream, config.Durable)
	}
	if err == nil {
		made.ConsumerInfo = consumer.CachedInfo()
		return made
	}
	f.config.Logger.WarnContext(ctx, "the consumer of a task queue cannot be made", "namespace", namespace, "task_queue", queue, "error", err)
	if !errors.As(err, &made.Error) {
		made.Error = &jetstream.APIError{Code: 503, Description: err.Error()}
	}
	return made
}

package backup

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/sleep"
)

const (
	// patience is how long a cluster may take to elect a leader, or to make a consumer that it has promised.
	patience      = 30 * time.Second
	patienceDelay = 100 * time.Millisecond
)

// patiently repeats a step as long as it fails for a temporary reason. The step must do no harm when it is done twice.
func patiently(ctx context.Context, step func() error) error {
	deadline := time.Now().Add(patience) //permit:time.Now how long NATS may take
	for {
		err := step()
		if err == nil || !passing(err) || ctx.Err() != nil || time.Now().After(deadline) { //permit:time.Now how long NATS may take
			return err
		}
		if err := sleep.For(ctx, patienceDelay); err != nil {
			return err
		}
	}
}

// passing reports whether an error is temporary: nobody answers, or not yet.
func passing(err error) bool {
	for _, known := range []error{
		nats.ErrNoResponders, nats.ErrTimeout, nats.ErrDisconnected, jetstream.ErrNoStreamResponse, jetstream.ErrNoHeartbeat,
		context.DeadlineExceeded,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && api.Code == http.StatusServiceUnavailable
}

package loop

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// outcome says what becomes of a message.
type outcome int

const (
	acked outcome = iota
	returned
	retried
	deadLettered
	outcomes // how many there are
)

func (o outcome) String() string {
	return [outcomes]string{"acked", "returned", "retried", "dead_letter"}[o]
}

// instruments count what becomes of the messages of a pool.
type instruments struct{ pool string }

func (i instruments) settled(o outcome) {
	metrics.PoolMessages.Add(metrics.Untraced(), 1, i.pool, o.String())
	if o == deadLettered {
		metrics.DeadLetters.Add(metrics.Untraced(), 1, i.pool)
	}
}

func (i instruments) arrived(deliveries uint64) {
	if deliveries > 1 {
		metrics.PoolRedelivered.Add(metrics.Untraced(), 1, i.pool)
	}
}

func (i instruments) handled(took time.Duration, v Verdict) {
	outcome := metrics.TransitionDone
	switch {
	case v.err != nil:
		outcome = metrics.TransitionRetry
	case v.IsHold():
		outcome = metrics.TransitionHold
	case !v.rest.IsZero():
		outcome = metrics.TransitionRest
	}
	metrics.PoolTransition.RecordTime(metrics.Untraced(), took, i.pool, outcome)
}

// observe initializes the counters, and reports how many messages are in flight until stop is called.
func (i instruments) observe(inFlight func() int) (stop func()) {
	metrics.BeginPool(metrics.Untraced(), i.pool)
	return metrics.Observe(func(_ context.Context, o metrics.Observer) {
		o.Gauge(metrics.PoolInFlight, float64(inFlight()), i.pool)
	}, metrics.PoolInFlight)
}

package matching_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/matching"
)

// bothWork lets each of two matchings start tasks only after both have had one to start.
type bothWork struct {
	matching.Starter
	own   *sync.Once
	ready *sync.WaitGroup
}

func (s bothWork) Start(ctx context.Context, task offer.Task, to offer.Poller) error {
	s.own.Do(s.ready.Done)
	both := make(chan struct{})
	go func() {
		s.ready.Wait()
		close(both)
	}()
	select {
	case <-both:
		return s.Starter.Start(ctx, task, to)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestRatesOfSeveralMatchings: each counts the tasks that it takes from the backlog, and together they have dispatched all of them. A task that
// history no longer wants has left the queue, too.
func TestRatesOfSeveralMatchings(t *testing.T) {
	t.Parallel()
	const tasks, unwanted = 40, 5
	b := newBench(t, shared(t), 1)
	b.store(t, workflows, 0, tasks)
	b.history.refuses(func(task offer.Task) error {
		if task.EventID <= unwanted {
			return matching.ErrForget
		}
		return nil
	})
	now := time.Now()
	var ready sync.WaitGroup
	ready.Add(2)
	for range 2 {
		b.match(t, func(c *matching.Config) {
			c.Starter, c.Every = bothWork{Starter: c.Starter, own: &sync.Once{}, ready: &ready}, 50*time.Millisecond
			c.Now = func() time.Time { return now } // all of it happens in the first second
			c.Concurrency = 2                       // so that neither takes all polls
		})
	}
	for range 8 {
		b.poll(t, b.polls, workflows)
	}
	b.requireDrained(t, workflows)
	natstest.Eventually(t, natstest.Patience, "both have told what they dispatched", func() bool {
		return math.Abs(b.rates(t, workflows).Dispatched*firstSecond-tasks) < 1e-6
	})
	assert.Zero(t, b.rates(t, activities))
}

// firstSecond is what one task a second weighs after the first second, so that a rate times this is a number of tasks.
var firstSecond = 15 * -math.Expm1(-1./15)

// rates are those of the dispatched tasks of a queue, as they are told within a moment.
func (b *bench) rates(t testing.TB, q offer.Queue) offer.Rates {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	rates, err := offer.AskRates(ctx, b.conn, b.names, q)
	require.NoError(t, err)
	return rates[3]
}

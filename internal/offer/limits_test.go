package offer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

var activities = Queue{Namespace: "default", Kind: Activity, Name: "q"}

// TestLimit: polls take as many offers as the limit lets them, in the order in which the offers came, and go on waiting.
func TestLimit(t *testing.T) {
	t.Parallel()
	l := newLine(time.Hour, time.Second)
	l.limit(start, 10)
	polls := joined(t, l, 1, 2, 3, 4, 5)
	assert.Same(t, polls[0], l.ask(start))
	assert.Same(t, polls[1], l.ask(start), "a quiet queue may make up 0.2 s")
	assert.False(t, l.limited(start))
	assert.Nil(t, l.ask(start))
	assert.Nil(t, l.stand(start, standingOffer{"a", "reply-a", at(time.Hour)}))
	assert.Nil(t, l.stand(start, standingOffer{"b", "reply-b", at(time.Hour)}))
	require.True(t, l.held())
	assert.False(t, l.rests(), "a sweep must come")
	assert.True(t, l.limited(start))
	assert.False(t, l.limited(at(time.Minute)))

	matches, _ := l.expire(at(99 * time.Millisecond))
	assert.Empty(t, matches)
	matches, _ = l.expire(at(100 * time.Millisecond))
	require.Len(t, matches, 1)
	assert.Equal(t, match{"reply-a", polls[2], 1}, *matches[0])
	assert.Nil(t, l.ask(at(150*time.Millisecond)))
	matches, _ = l.expire(at(200 * time.Millisecond))
	require.Len(t, matches, 1)
	assert.Equal(t, match{"reply-b", polls[3], 1}, *matches[0])
	assert.False(t, l.held())

	l.limit(at(200*time.Millisecond), rate.Inf)
	assert.Same(t, polls[4], l.ask(at(200*time.Millisecond)))
}

// TestAPollThatComesBackIsLimited: it does not take the offer that stands.
func TestAPollThatComesBackIsLimited(t *testing.T) {
	t.Parallel()
	l := newLine(time.Hour, time.Second)
	l.limit(start, 1)
	first := joined(t, l, 1)[0]
	require.Same(t, first, l.ask(start))
	require.Nil(t, l.stand(start, standingOffer{"a", "reply-a", at(500 * time.Millisecond)}))
	require.Nil(t, l.stand(start, standingOffer{"b", "reply-b", at(time.Hour)}))
	second := newPoll(2, Poller{})
	require.Nil(t, l.join(start, second))
	matches, _ := l.expire(at(time.Second))
	require.Len(t, matches, 1, "the other offer no longer stands")
	assert.Equal(t, match{"reply-b", second, 1}, *matches[0])
}

// TestLimitOfSeveralGateways: together they hand out what workers have asked for, and not more.
func TestLimitOfSeveralGateways(t *testing.T) {
	t.Parallel()
	const perSecond, tasks = 40, 60
	names := natstest.Names(t)
	o := newOfferer(t, url(t), names)
	var gateways []*gateway
	for range 2 {
		g := runGateway(t, url(t), names, time.Hour, 0)
		g.Limit(activities, perSecond)
		for i := range tasks {
			g.poll(t, activities, fmt.Sprint("w", i))
		}
		gateways = append(gateways, g)
	}
	for _, g := range gateways {
		natstest.Eventually(t, natstest.Patience, "the gateway has its share", func() bool { return g.shareOf(activities) == perSecond/2 })
	}
	began := time.Now()
	for range tasks {
		offered(t, o, activities, natstest.Patience)
	}
	const burst = perSecond * limitBurst
	assert.GreaterOrEqual(t, time.Since(began), time.Duration((tasks-2*burst)/perSecond*float64(time.Second)))

	natstest.Eventually(t, natstest.Patience, "it is known that the limit has kept tasks from polls", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		polling, err := WhoPolls(ctx, gateways[0].conn, names, activities)
		require.NoError(t, err)
		return polling.Limited
	})

	for _, g := range gateways {
		g.Limit(activities, 0)
		assert.Zero(t, g.shareOf(activities))
	}
}

// shareOf returns how many tasks of a queue a gateway hands out in a second; 0 for any number.
func (p *Polls) shareOf(q Queue) rate.Limit {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.served[q]; s != nil && s.line.limiter != nil {
		return s.line.limiter.Limit()
	}
	return 0
}

// TestLimitsThatMeanNothing change nothing.
func TestLimitsThatMeanNothing(t *testing.T) {
	t.Parallel()
	g := runGateway(t, url(t), natstest.Names(t), 0, 0)
	for _, none := range []float64{0, unlimited, 1e9, -1} {
		g.Limit(activities, none)
		assert.Empty(t, g.served)
	}
	g.Limit(activities, 5)
	g.Limit(activities, -1)
	assert.EqualValues(t, 5, g.shareOf(activities))
	g.Limit(activities, unlimited)
	assert.Zero(t, g.shareOf(activities))
	g.Limit(Queue{}, 5)
	assert.Len(t, g.served, 1)
}

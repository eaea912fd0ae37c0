package diagnosis

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Between two requests of a live process for messages there is a moment without a request. So Gather looks several times at
// consumers that nobody requests messages from.
const (
	askedLooks = 4
	askedEvery = 250 * time.Millisecond
)

// unasked is a consumer from which nobody requested messages at the first look.
type unasked struct {
	consumer *Consumer
	stream   string
	first    movement
	asked    bool
}

// movement is the part of a consumer's state that changes while processes work on its messages.
type movement struct {
	delivered, acknowledged uint64
	held                    int
}

func movementOf(info *jetstream.ConsumerInfo) movement {
	return movement{info.Delivered.Consumer, info.AckFloor.Consumer, info.NumAckPending}
}

// awaitAsked checks the consumers without an open request for up to a second. It looks whether processes request messages, or
// make progress with those that they have.
func (g *gatherer) awaitAsked(ctx context.Context) {
	left := g.unasked()
	for range askedLooks {
		if len(left) == 0 || sleep.For(ctx, askedEvery) != nil {
			break
		}
		var group sync.WaitGroup
		slots := make(chan struct{}, gatherConcurrency)
		for _, u := range left {
			group.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				g.lookAgain(ctx, u)
			})
		}
		group.Wait()
		left = keepUnasked(left)
	}
	for _, u := range left {
		u.consumer.Unasked = true
	}
}

func (g *gatherer) unasked() (all []*unasked) {
	for i := range g.facts.Streams {
		s := &g.facts.Streams[i]
		for j := range s.Consumers {
			if c := &s.Consumers[j]; !c.Missing && c.Waiting == 0 {
				all = append(all, &unasked{consumer: c, stream: s.Name, first: c.movement})
			}
		}
	}
	return all
}

func (g *gatherer) lookAgain(ctx context.Context, u *unasked) {
	consumer, err := g.JS.Consumer(ctx, u.stream, u.consumer.Name)
	if err != nil {
		u.asked = true // nothing is known, which is no reason for an alarm
		return
	}
	info := consumer.CachedInfo()
	u.asked = info.NumWaiting > 0 || movementOf(info) != u.first
}

func keepUnasked(all []*unasked) (left []*unasked) {
	for _, u := range all {
		if !u.asked {
			left = append(left, u)
		}
	}
	return left
}

// pulse returns when the timers of a task stream last worked; zero if that is unknown.
func pulse(ctx context.Context, stream jetstream.Stream, names subjects.Names, shard int) time.Time {
	last, err := stream.GetLastMsgForSubject(ctx, names.Pulse(shard))
	if err != nil {
		return time.Time{} // of an earlier release, or less than ten seconds old
	}
	return last.Time
}

package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// settleEvery is the time between two calls of Settle.
const settleEvery = 250 * time.Millisecond

// Position is a place in the event stream.
type Position uint64

// End returns the position behind the newest event.
func End(ctx context.Context, js jetstream.JetStream, names subjects.Names) (Position, error) {
	stream, err := js.Stream(ctx, names.EventStream())
	if err != nil {
		return 0, fmt.Errorf("live: open the event stream: %w", err)
	}
	return Position(stream.CachedInfo().State.LastSeq + 1), nil
}

// Last returns the newest completion of a schedule, and false if there is none.
func Last(ctx context.Context, js jetstream.JetStream, names subjects.Names, key schedule.Key) (schedule.Event, bool, error) {
	stream, err := js.Stream(ctx, names.EventStream())
	if err != nil {
		return schedule.Event{}, false, fmt.Errorf("live: open the event stream: %w", err)
	}
	message, err := stream.GetLastMsgForSubject(ctx, names.Event(key, schedule.EventCompleted))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return schedule.Event{}, false, nil
	}
	if err != nil {
		return schedule.Event{}, false, fmt.Errorf("live: read the last event of %s: %w", key, err)
	}
	var event schedule.Event
	if err := json.Unmarshal(message.Data, &event); err != nil {
		return schedule.Event{}, false, fmt.Errorf("live: read the last event of %s: %w", key, err)
	}
	return event, true, nil
}

// Follow shows the events of a namespace, from a position until ctx ends.
func Follow(ctx context.Context, js jetstream.JetStream, names subjects.Names, namespace string, from Position, view *View) error {
	consumer, err := js.OrderedConsumer(ctx, names.EventStream(), jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{names.Events(schedule.Key{Namespace: namespace})},
		DeliverPolicy:  jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:    uint64(from),
	})
	if err != nil {
		return fmt.Errorf("live: follow the events: %w", err)
	}
	events := make(chan schedule.Event)
	consuming, err := consumer.Consume(func(message jetstream.Msg) {
		var event schedule.Event
		if json.Unmarshal(message.Data(), &event) != nil {
			return // this version cannot read the event; the stream keeps it for others
		}
		select {
		case events <- event:
		case <-ctx.Done():
		}
	})
	if err != nil {
		return fmt.Errorf("live: follow the events: %w", err)
	}
	defer func() {
		consuming.Stop()
		<-consuming.Closed()
	}()
	return show(ctx, events, view)
}

func show(ctx context.Context, events <-chan schedule.Event, view *View) error {
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	for {
		select {
		case event := <-events:
			view.Event(event)
		case now := <-tick.C:
			view.Settle(now)
		case <-ctx.Done():
			return nil
		}
	}
}

// recentSize bounds the remembered IDs. A repeat follows its original within a transition or two.
const recentSize = 4096

// recent remembers the IDs of the newest events, to drop repeats. The zero value is ready to use.
type recent struct {
	known map[string]struct{}
	ring  []string
	next  int
}

// add remembers an ID and reports whether it was new. An empty ID is always new.
func (r *recent) add(id string) bool {
	if id == "" {
		return true
	}
	if _, ok := r.known[id]; ok {
		return false
	}
	if r.known == nil {
		r.known = make(map[string]struct{}, recentSize)
	}
	r.known[id] = struct{}{}
	if len(r.ring) < recentSize {
		r.ring = append(r.ring, id)
		return true
	}
	delete(r.known, r.ring[r.next])
	r.ring[r.next] = id
	r.next = (r.next + 1) % recentSize
	return true
}

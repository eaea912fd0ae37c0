package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/schedule"
)

// poll is how often to look whether something has happened. No figure depends on it.
const poll = 50 * time.Millisecond

// until waits for a moment and shows its progress.
func (s *session) until(ctx context.Context, stage string, at time.Time) error {
	from := time.Now()
	total := int(at.Sub(from) / time.Second)
	for time.Now().Before(at) {
		s.config.Progress(stage, int(time.Since(from)/time.Second), total)
		_ = sleep.For(ctx, min(time.Second, time.Until(at)))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// await waits until all of something is done, or until nothing more has been done for the time of Patience.
func (s *session) await(ctx context.Context, stage string, look func() (done, total int, err error)) error {
	best, since := -1, time.Now()
	for {
		done, total, err := look()
		if err != nil || done >= total {
			return err
		}
		if done > best {
			best, since = done, time.Now()
		}
		if time.Since(since) > s.config.Patience {
			return nil // what is missing shows in the result
		}
		s.config.Progress(stage, done, total)
		_ = sleep.For(ctx, poll)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// awaitRuns waits until everything has begun that is due in a span.
func (s *session) awaitRuns(ctx context.Context, l *ledger, within span) error {
	return s.await(ctx, "waiting for the last actions", func() (int, int, error) {
		if ran, all := l.progress(); ran == all {
			return ran, all, nil
		}
		t := l.count(within)
		return t.started, t.due, nil
	})
}

// settle waits until the pools have nothing to do. Without pools, nobody does it; of another server, nobody knows.
func (s *session) settle(ctx context.Context) error {
	if s.config.listsOnly || s.foreign() {
		return nil
	}
	most := 0
	return s.await(ctx, "settling", func() (int, int, error) {
		left, err := s.tasks(ctx)
		most = max(most, left)
		return most - left, most, err
	})
}

// quiet waits until the pools have nothing to do, and the search index is up to date.
func (s *session) quiet(ctx context.Context) error {
	if err := s.settle(ctx); err != nil || s.foreign() {
		return err
	}
	return s.awaitIndex(ctx)
}

// indexTimeout bounds how long the search index may take to read a million schedules.
const indexTimeout = 10 * time.Minute

// awaitIndex waits until the search index is up to date. The index reads slowly, in order not to be in the way.
func (s *session) awaitIndex(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, indexTimeout, errors.New("bench: the search index was not built in time"))
	defer cancel()
	s.config.Progress("waiting for the search index", 0, 0)
	for from := time.Now(); ; _ = sleep.For(ctx, poll) {
		reply, err := s.client.CountMatching(ctx, schedule.CountRequest{Query: "paused = true"})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && schedule.CodeOf(err) != schedule.CodeUnavailable:
			return err
		case err == nil && reply.IndexedUpTo.After(from):
			return nil
		}
	}
}

// tasks counts the messages that the pools have not handled.
func (s *session) tasks(ctx context.Context) (left int, err error) {
	for shard := range s.cluster.Facts.Shards {
		for _, of := range s.names.PoolConsumers(shard) {
			consumer, err := s.js.Consumer(ctx, of.Stream, of.Config.Durable)
			if err != nil {
				return 0, fmt.Errorf("bench: look for tasks: %w", err)
			}
			info := consumer.CachedInfo()
			left += int(info.NumPending) + info.NumAckPending
		}
	}
	return left, nil
}

// awaitWorker waits until the worker has no request left.
func (s *session) awaitWorker(ctx context.Context) error {
	most := 0
	return s.await(ctx, "waiting for the worker", func() (int, int, error) {
		stream, err := s.js.Stream(ctx, s.names.ActionStream())
		if err != nil {
			return 0, 0, fmt.Errorf("bench: look for requests: %w", err)
		}
		left, err := taskqueue.Queued(ctx, stream, s.names)
		if err != nil {
			return 0, 0, fmt.Errorf("bench: look for requests: %w", err)
		}
		most = max(most, left)
		return most - left, most, nil
	})
}

// nextEvent is the sequence that the next event will have.
func (s *session) nextEvent(ctx context.Context) (uint64, error) {
	stream, err := s.js.Stream(ctx, s.names.EventStream())
	if err != nil {
		return 0, fmt.Errorf("bench: look at the events: %w", err)
	}
	return stream.CachedInfo().State.LastSeq + 1, nil
}

// completions waits for the events of want completions, from a sequence on, and returns when they were stored. It gives up when
// none has come for the time of Patience.
func (s *session) completions(ctx context.Context, from uint64, want int) ([]time.Time, error) {
	consumer, err := s.js.CreateConsumer(ctx, s.names.EventStream(), jetstream.ConsumerConfig{
		FilterSubject: completedEvents(s.names.Events(schedule.Key{Namespace: namespace})),
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from, HeadersOnly: true,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return nil, fmt.Errorf("bench: read the events: %w", err)
	}
	stored := make([]time.Time, 0, want)
	err = s.await(ctx, "counting completions", func() (int, int, error) {
		for more := len(stored) < want; more; {
			before := len(stored)
			if stored, err = fetch(consumer, stored); err != nil {
				return 0, 0, fmt.Errorf("bench: read the events: %w", err)
			}
			more = len(stored) > before
		}
		return len(stored), want, nil
	})
	name := consumer.CachedInfo().Name
	return stored, errors.Join(err, s.js.DeleteConsumer(context.WithoutCancel(ctx), s.names.EventStream(), name))
}

// fetch appends when the next messages of a consumer were stored, if there are any.
func fetch(consumer jetstream.Consumer, to []time.Time) ([]time.Time, error) {
	const most = 5_000
	batch, err := consumer.FetchNoWait(most)
	if err != nil {
		return to, err
	}
	for msg := range batch.Messages() {
		meta, err := msg.Metadata()
		if err != nil {
			return to, err
		}
		to = append(to, meta.Timestamp)
	}
	return to, batch.Error()
}

// completedEvents narrows a subject that matches all events of a namespace to those of one kind, of all schedules.
func completedEvents(events string) string {
	return events[:len(events)-len(">")] + "*." + string(schedule.EventCompleted)
}

// momentsIn counts the moments of a span, and returns the last of all.
func momentsIn(s span, moments []time.Time) (count int, last time.Time) {
	for _, at := range moments {
		if s.has(at) {
			count++
		}
		if at.After(last) {
			last = at
		}
	}
	return count, last
}

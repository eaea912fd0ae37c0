package invoker_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// gate is something that one party waits for and another brings about.
type gate struct {
	once sync.Once
	open chan struct{}
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) pass() { g.once.Do(func() { close(g.open) }) }

func (g *gate) await(ctx context.Context) error {
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readFirst are buckets that write no record of the invoker before somebody has asked for the last result.
type readFirst struct {
	kv.Buckets
	record, result string
	asked          *gate
	reads          atomic.Int32 // of the last result
	armed          atomic.Bool
}

func (r *readFirst) GetLeader(ctx context.Context, bucket, key string) (kv.Entry, error) {
	if key == r.result {
		r.asked.pass()
		r.reads.Add(1)
	}
	return r.Buckets.GetLeader(ctx, bucket, key)
}

func (r *readFirst) Update(ctx context.Context, bucket, key string, data []byte, revision uint64) (uint64, error) {
	if key == r.record && r.armed.Load() {
		if err := r.asked.await(ctx); err != nil {
			return 0, err
		}
	}
	return r.Buckets.Update(ctx, bucket, key, data, revision)
}

// TestTheLastResultIsReadWhileTheRecordIsWritten: a run does not wait for one and then for the other. It is told what the run
// before has returned.
func TestTheLastResultIsReadWhileTheRecordIsWritten(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	buckets, err := kv.OpenBuckets(t.Context(), s.js, s.names, 1)
	require.NoError(t, err)
	gated := &readFirst{
		Buckets: buckets, record: kv.Invoker(s.key).String(), result: kv.Result(s.key).String(), asked: newGate(),
	}
	invokers := s.newPool(func(c *invoker.Config) { c.Store = kv.NewStore(gated, s.names, 1) })
	_, run := s.startAndHold(invokers)
	ended := completionOf(run)
	ended.Completion.Result = []byte(`"one"`)
	s.handle(invokers, ended)
	require.True(t, s.record().HasResult)

	gated.asked = newGate()
	gated.reads.Store(0)
	gated.armed.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	e := s.handOff("", 2)
	require.NoError(t, invokers.Handle(ctx, s.key, s.group(false, invoker.Message{Enqueue: &e})).Err())
	require.JSONEq(t, `"one"`, string(s.take().LastSuccess))
	require.EqualValues(t, 1, gated.reads.Load())
}

// eventsLast is a bus that stores no events before a run has been published.
type eventsLast struct {
	bus.Bus
	events, runs string // the beginnings of their subjects
	begun        *gate
	// failing lets the events be refused then.
	failing bool
}

var errRefused = errors.New("refused")

func (e *eventsLast) PublishAll(ctx context.Context, msgs []*nats.Msg) error {
	if len(msgs) > 0 && strings.HasPrefix(msgs[0].Subject, e.events) {
		if err := e.begun.await(ctx); err != nil {
			return err
		}
		if e.failing {
			return errRefused
		}
	}
	return e.Bus.PublishAll(ctx, msgs)
}

func (e *eventsLast) PublishOnce(ctx context.Context, msg *nats.Msg) (bool, error) {
	repeated, err := e.Bus.PublishOnce(ctx, msg)
	if err == nil && strings.HasPrefix(msg.Subject, e.runs) {
		e.begun.pass()
	}
	return repeated, err
}

// TestARunDoesNotWaitForTheEventsBefore: what a run has waited for is over, and the events that tell of that are published beside
// the run. Where they are refused, the run is not started again, and they are told later.
func TestARunDoesNotWaitForTheEventsBefore(t *testing.T) {
	t.Parallel()
	for name, failing := range map[string]bool{"published": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newInstallation(t)
			own := bus.New(s.js)
			t.Cleanup(own.Close)
			invokers := s.newPool()
			e := s.handOff(schedule.OverlapBufferAll, 1, 2)
			s.handle(invokers, invoker.Message{Enqueue: &e})
			first := s.take()
			require.NoError(t, first.msg.DoubleAck(t.Context()))

			gated := &eventsLast{
				Bus: own, events: s.names.Prefix() + ".event.", runs: s.names.Prefix() + ".action.", begun: newGate(), failing: failing,
			}
			other := s.newPool(func(c *invoker.Config) { c.Bus = gated })
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			ended := completionOf(first)
			err := other.Handle(ctx, s.key, s.group(false, ended)).Err()
			if failing {
				require.ErrorIs(t, err, errRefused)
			} else {
				require.NoError(t, err)
			}
			second := s.take()
			require.NotEqual(t, first.RequestID, second.RequestID)
			s.handle(s.newPool(), ended, completionOf(second))
			require.Zero(t, s.queued()-1, "only the second run, which is not acknowledged")
			require.ElementsMatch(t, append(whole, whole...), s.kindsOf(schedule.EventStarted, schedule.EventCompleted))
		})
	}
}

// kindsOf are the kinds of the events, each once, that are of some kinds.
func (s *installation) kindsOf(kinds ...schedule.EventKind) (found []schedule.EventKind) {
	for _, kind := range s.events() {
		for _, wanted := range kinds {
			if kind == wanted {
				found = append(found, kind)
			}
		}
	}
	return found
}

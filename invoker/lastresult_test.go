package invoker_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
)

// atTheWrite is the buckets of a process to which something happens just before it writes a key for the first time. Dies says
// that it dies just after that: nothing that it asks for comes to anything any more.
type atTheWrite struct {
	kv.Buckets
	key    string
	before func()
	dies   bool
	dead   bool
}

func (a *atTheWrite) write(key string, write func() (uint64, error)) (uint64, error) {
	if a.dead {
		return 0, nats.ErrConnectionClosed
	}
	if before := a.before; key == a.key && before != nil {
		a.before = nil
		before()
		a.dead = a.dies
	}
	return write()
}

func (a *atTheWrite) Create(ctx context.Context, bucket, key string, data []byte) (uint64, error) {
	return a.write(key, func() (uint64, error) { return a.Buckets.Create(ctx, bucket, key, data) })
}

func (a *atTheWrite) Update(ctx context.Context, bucket, key string, data []byte, revision uint64) (uint64, error) {
	return a.write(key, func() (uint64, error) { return a.Buckets.Update(ctx, bucket, key, data, revision) })
}

func (a *atTheWrite) Delete(ctx context.Context, bucket, key string, revision uint64, note kv.Note) error {
	_, err := a.write(key, func() (uint64, error) { return 0, a.Buckets.Delete(ctx, bucket, key, revision, note) })
	return err
}

func (a *atTheWrite) GetLeader(ctx context.Context, bucket, key string) (kv.Entry, error) {
	if a.dead {
		return kv.Entry{}, nats.ErrConnectionClosed
	}
	return a.Buckets.GetLeader(ctx, bucket, key)
}

// resultWriter is a pool to which something happens before it writes the last result. It dies then, or goes on.
func (s *installation) resultWriter(dies bool, before func()) *invoker.Pool {
	s.t.Helper()
	buckets, err := kv.OpenBuckets(s.t.Context(), s.js, s.names, 1)
	require.NoError(s.t, err)
	on := &atTheWrite{Buckets: buckets, key: kv.Result(s.key).String(), before: before, dies: dies}
	return s.newPool(func(c *invoker.Config) { c.Store = kv.NewStore(on, s.names, 1) })
}

// ended is a run in progress, and the message that it has completed.
func (s *installation) ended(n int, result string) invoker.Message {
	s.t.Helper()
	e := s.handOff("", n)
	s.handle(s.newPool(), invoker.Message{Enqueue: &e})
	message := completionOf(s.take())
	message.Completion.Result = json.RawMessage(result)
	return message
}

func (s *installation) result() (wire.Result, bool) {
	s.t.Helper()
	record, err := kv.OrZero(kv.GetLeader(s.t.Context(), s.store, kv.Result(s.key)))
	require.NoError(s.t, err)
	return record.Value, record.Revision != 0
}

// TestNoResultOfAScheduleThatIsForgotten: a process is about to write the result of a run. The completion comes to another process
// as well, which forgets the schedule meanwhile. The first one dies after its write; its message has been replaced by the other
// one, so that nobody gets it again.
func TestNoResultOfAScheduleThatIsForgotten(t *testing.T) {
	t.Parallel()
	for name, results := range map[string]int{"the first": 0, "a later one": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newInstallation(t)
			for n := range results {
				s.handle(s.newPool(), s.ended(n+1, `"before"`))
			}
			completed := s.ended(9, `"the last"`)
			dies := s.resultWriter(true, func() {
				definition, err := kv.GetLeader(t.Context(), s.store, kv.Definition(s.key))
				require.NoError(t, err)
				s.gone(definition, false)
				s.handle(s.newPool(), completed)
			})
			require.Error(t, dies.Handle(t.Context(), s.key, s.group(false, completed)).Err())
			_, left := s.result()
			require.False(t, left)
		})
	}
}

// TestTheResultOfANewScheduleIsSpared: while a process is about to write a result, the schedule is deleted, and another of the same ID
// created, which has a result of its own by the time. The first process goes on.
func TestTheResultOfANewScheduleIsSpared(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	completed := s.ended(1, `"old"`)
	goesOn := s.resultWriter(false, func() {
		definition, err := kv.GetLeader(t.Context(), s.store, kv.Definition(s.key))
		require.NoError(t, err)
		s.gone(definition, true)
		s.handle(s.newPool(), s.ended(2, `"new"`))
	})
	s.handle(goesOn, completed)
	result, _ := s.result()
	require.Equal(t, "inc-of-another", result.Incarnation)
	require.JSONEq(t, `"new"`, string(result.Success))
}

// TestForgettingSparesTheResultOfANewSchedule: it is written while a process is about to remove that of the one before.
func TestForgettingSparesTheResultOfANewSchedule(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.handle(s.newPool(), s.ended(1, `"old"`))
	definition, err := kv.GetLeader(t.Context(), s.store, kv.Definition(s.key))
	require.NoError(t, err)
	s.gone(definition, false)
	forgets := s.newPool(func(c *invoker.Config) {
		c.Bus = &atThePurge{Bus: s.bus(), before: func() {
			next := definition.Value
			next.Incarnation = "inc-of-another"
			_, err := kv.Put(t.Context(), s.store, kv.Definition(s.key), &next, 0)
			require.NoError(t, err)
			s.handle(s.newPool(), s.ended(2, `"new"`))
		}}
	})
	s.handle(forgets, wakeUp)
	result, there := s.result()
	require.True(t, there)
	require.JSONEq(t, `"new"`, string(result.Success))
}

// TestTheFirstResultAfterAnEarlierSchedule of the same ID, of whose result there is a trace.
func TestTheFirstResultAfterAnEarlierSchedule(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	require.NoError(t, kv.LeaveTrace(t.Context(), s.store, kv.Result(s.key)))
	s.handle(s.newPool(), s.ended(1, `"new"`))
	result, _ := s.result()
	require.JSONEq(t, `"new"`, string(result.Success))
	require.True(t, s.record().HasResult)
}

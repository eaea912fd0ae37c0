package invoker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestAHandOffOfAMomentAgoHasAskedForTheDefinition: the generator has, before it made it. Of an older one, or one that speaks
// of another version, the invoker asks itself: here the schedule has been paused since.
func TestAHandOffOfAMomentAgoHasAskedForTheDefinition(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		age    time.Duration
		older  uint64
		starts bool
	}{
		"a moment ago":                 {starts: true},
		"a while ago":                  {age: 2 * time.Second},
		"by a clock that is far ahead": {age: -2 * time.Second},
		"of an older version":          {older: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newInstallation(t)
			now := time.Now()
			pool := s.newPool(clock(func() time.Time { return now }))
			first, second := s.handOff("", 1), s.handOff("", 2)
			second.Version -= test.older
			s.handle(pool, invoker.Message{Enqueue: &first})
			run := s.take()
			s.finish(run, schedule.StatusCompleted, "")
			s.handle(pool, completionOf(run))
			s.pauseUnnoticed()

			group := s.group(false, invoker.Message{Enqueue: &second})
			group[0].Stored = now.Add(-test.age)
			require.Equal(t, test.starts, pool.Handle(t.Context(), s.key, group).IsHold())
			require.Equal(t, test.starts, s.queued() == 1)
		})
	}
}

// pauseUnnoticed pauses the schedule and wakes nobody.
func (s *installation) pauseUnnoticed() {
	s.t.Helper()
	record, err := kv.GetLeader(s.t.Context(), s.store, kv.Definition(s.key))
	require.NoError(s.t, err)
	record.Value.Version++
	record.Value.Schedule.State.Paused = true
	_, err = kv.Put(s.t.Context(), s.store, kv.Definition(s.key), &record.Value, record.Revision)
	require.NoError(s.t, err)
}

// TestACompletionThatLetsAStartGo asks for the definition, though nothing but a completion has come: the schedule has been paused
// since.
func TestACompletionThatLetsAStartGo(t *testing.T) {
	t.Parallel()
	s := newInstallation(t, policy(schedule.OverlapBufferOne))
	pool := s.newPool()
	first, second := s.handOff("", 1), s.handOff("", 2)
	s.handle(pool, invoker.Message{Enqueue: &first})
	s.handle(pool, invoker.Message{Enqueue: &second})
	require.Equal(t, schedule.PhaseDeferred, s.phase(2))
	s.pauseUnnoticed()
	run := s.take()
	s.finish(run, schedule.StatusCompleted, "")
	s.handle(pool, completionOf(run))
	require.Zero(t, s.queued())
	require.Contains(t, s.events(), schedule.EventDropped)
}

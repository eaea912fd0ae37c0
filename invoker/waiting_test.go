package invoker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// group is one of messages as the loop has it.
func (s *installation) group(held bool, bodies ...invoker.Message) []loop.Message[invoker.Message] {
	var group []loop.Message[invoker.Message]
	for _, body := range bodies {
		group = append(group, loop.Message[invoker.Message]{Task: subjects.Task{Key: s.key}, Body: body, Held: held})
	}
	return group
}

func (s *installation) revision() uint64 {
	s.t.Helper()
	record, err := kv.GetLeader(s.t.Context(), s.store, kv.Invoker(s.key))
	require.NoError(s.t, err)
	return record.Revision
}

// startAndHold hands one start over. The run is in its queue when the pool asks to hold the message, and the record says
// only that it was about to be.
func (s *installation) startAndHold(pool *invoker.Pool) (message invoker.Message, run taken) {
	s.t.Helper()
	e := s.handOff("", 1)
	message = invoker.Message{Enqueue: &e}
	require.True(s.t, pool.Handle(s.t.Context(), s.key, s.group(false, message)).IsHold())
	require.Equal(s.t, schedule.PhaseReady, s.phase(1))
	return message, s.take()
}

func completionOf(run taken) invoker.Message {
	return invoker.Message{Completion: &schedule.Completion{
		RequestID: run.RequestID, Status: schedule.StatusCompleted, CloseTime: time.Now().UTC(),
	}}
}

var whole = []schedule.EventKind{schedule.EventStarted, schedule.EventCompleted}

// TestAStartIsRecordedWithItsCompletion: one write tells of both.
func TestAStartIsRecordedWithItsCompletion(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	pool := s.newPool()
	handOff, run := s.startAndHold(pool)
	before := s.revision()
	group := append(s.group(true, handOff), s.group(false, completionOf(run))...)
	require.Equal(t, loop.Done(), pool.Handle(t.Context(), s.key, group))
	require.Equal(t, schedule.PhaseCompleted, s.phase(1))
	require.Equal(t, whole, s.events())
	require.Equal(t, before+1, s.revision())
	require.EqualValues(t, 1, s.record().Counters.Actions)
	require.False(t, s.record().Ended.Runs()[0].StartTime.IsZero())
}

// TestAStartIsRecordedWithoutItsCompletion when the time to wait for it is over.
func TestAStartIsRecordedWithoutItsCompletion(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	pool := s.newPool()
	handOff, _ := s.startAndHold(pool)
	require.Equal(t, loop.Done(), pool.Handle(t.Context(), s.key, s.group(true, handOff)))
	require.Equal(t, schedule.PhaseStarted, s.phase(1))
	require.Equal(t, whole[:1], s.events())
}

// TestAnotherProcessIsFasterThanTheNews: it finds the run by itself, or hears of its end; what was kept back tells nothing
// new then, and is not told twice.
func TestAnotherProcessIsFasterThanTheNews(t *testing.T) {
	t.Parallel()
	for name, completed := range map[string]bool{"of a start": false, "of a run that is over": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newInstallation(t)
			pool, other := s.newPool(), s.newPool()
			handOff, run := s.startAndHold(pool)
			want, phase := whole[:1], schedule.PhaseStarted
			if completed {
				want, phase = whole, schedule.PhaseCompleted
				s.handle(other, completionOf(run))
			} else {
				s.handle(other, wakeUp)
			}
			require.Equal(t, want, s.events())
			require.Equal(t, loop.Done(), pool.Handle(t.Context(), s.key, s.group(true, handOff)))
			require.Equal(t, phase, s.phase(1))
			require.Equal(t, want, s.events())
			require.EqualValues(t, 1, s.record().Counters.Actions)
		})
	}
}

package live_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/cli/live"
	"github.com/carillon-scheduler/carillon/internal/golden"
	"github.com/carillon-scheduler/carillon/schedule"
)

var started = time.Date(2026, 3, 28, 10, 0, 0, 0, time.UTC)

const ms = time.Millisecond

// script creates events, each with an ID and the time of a moment after the start.
type script struct {
	view *live.View
	out  strings.Builder
	next int
}

func newScript(color bool) *script {
	s := &script{}
	s.view = live.NewView(live.Config{Out: &s.out, Zone: time.UTC, Color: color, Started: started})
	s.view.Header()
	return s
}

func (s *script) event(after time.Duration, e schedule.Event) schedule.Event {
	s.next++
	e.ID, e.Time = fmt.Sprint(s.next), started.Add(after)
	if e.Kind == schedule.EventCompleted {
		e.CloseTime = e.Time
	}
	if e.ScheduleID == "" {
		e.ScheduleID = "tick"
	}
	s.view.Event(e)
	return e
}

// due is an event about an action that is due a moment after the start.
func due(kind schedule.EventKind, after time.Duration) schedule.Event {
	at := started.Add(after)
	return schedule.Event{Kind: kind, RequestID: at.String(), Nominal: at, Actual: at}
}

func completed(after, code time.Duration) schedule.Event {
	e := due(schedule.EventCompleted, after)
	e.Status, e.CodeTime, e.Attempt = schedule.StatusCompleted, started.Add(code), 1
	return e
}

func TestView(t *testing.T) {
	t.Parallel()
	s := newScript(false)
	s.event(100*ms, schedule.Event{Kind: schedule.EventCreated})
	repeat := s.event(2004*ms, due(schedule.EventStarted, 2*time.Second))
	s.view.Event(repeat)
	s.event(2050*ms, completed(2*time.Second, 2005*ms))

	failed := completed(4*time.Second, 4001*ms)
	failed.Status, failed.Attempt, failed.Reason = schedule.StatusTimedOut, 3, "the handler did not answer"
	s.event(9*time.Second, failed)
	never := due(schedule.EventCompleted, 5*time.Second)
	never.Status = schedule.StatusTerminated
	s.event(9*time.Second, never)

	manual := due(schedule.EventStarted, 10*time.Second)
	manual.Manual = true
	s.event(10002*ms, manual)
	skipped := due(schedule.EventSkipped, 12*time.Second)
	skipped.Reason = "overlap policy skip"
	s.event(12*time.Second, skipped)
	s.event(13*time.Second, due(schedule.EventDeferred, 13*time.Second))
	s.event(13*time.Second, due(schedule.EventCancelRequested, 13*time.Second))
	s.event(14*time.Second, schedule.Event{Kind: schedule.EventMissed, Count: 7, Reason: "later than the catch-up window"})
	s.event(15*time.Second, schedule.Event{Kind: schedule.EventPaused, ScheduleID: "a-schedule-with-a-long-name", Reason: "why"})
	s.view.Settle(started.Add(time.Hour))
	golden.Equal(t, "view.txt", s.out.String())
}

func TestCatchUp(t *testing.T) {
	t.Parallel()
	s := newScript(false)
	s.event(10*ms, schedule.Event{Kind: schedule.EventMissed, Count: 12, Reason: "later than the catch-up window"})
	for _, ago := range []time.Duration{-6 * time.Second, -4 * time.Second, -2 * time.Second} {
		s.event(20*ms, due(schedule.EventDeferred, ago))
	}
	s.event(30*ms, due(schedule.EventStarted, -6*time.Second))
	s.event(40*ms, completed(-6*time.Second, 31*ms))
	s.event(45*ms, due(schedule.EventSkipped, -4*time.Second))
	s.view.Settle(started.Add(time.Minute))
	assert.NotContains(t, s.out.String(), "continuing", "one action is still on its way")

	s.event(50*ms, completed(-2*time.Second, 41*ms))
	s.view.Settle(started.Add(60 * ms))
	assert.NotContains(t, s.out.String(), "continuing", "more may come")
	s.view.Settle(started.Add(time.Second))
	s.view.Settle(started.Add(2 * time.Second))

	other := completed(-time.Second, 70*ms)
	other.ScheduleID = "once"
	s.event(80*ms, other)
	s.view.Settle(started.Add(3 * time.Second))
	s.event(4001*ms, due(schedule.EventStarted, 4*time.Second))
	s.event(5*time.Second, schedule.Event{Kind: schedule.EventMissed, Reason: "in the present"})
	s.view.Settle(started.Add(time.Hour))
	golden.Equal(t, "catchup.txt", s.out.String())
}

func TestColours(t *testing.T) {
	t.Parallel()
	plain, coloured := newScript(false), newScript(true)
	for _, s := range []*script{plain, coloured} {
		s.event(2003*ms, due(schedule.EventStarted, 2*time.Second))
		s.event(2050*ms, completed(2*time.Second, 2005*ms))
	}
	assert.NotContains(t, plain.out.String(), "\x1b")
	assert.Contains(t, coloured.out.String(), "\x1b[32mcompleted")
}

// TestRepeatsOfLongAgo makes sure that the number of remembered IDs is bounded, and that they are the newest.
func TestRepeatsOfLongAgo(t *testing.T) {
	t.Parallel()
	s := newScript(false)
	var last schedule.Event
	for range 10_000 {
		last = s.event(0, schedule.Event{Kind: schedule.EventPaused})
	}
	lines := strings.Count(s.out.String(), "\n")
	s.view.Event(last)
	assert.Equal(t, lines, strings.Count(s.out.String(), "\n"))
}

package schedules

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/schedule"
)

func runEvent(kind schedule.EventKind, request string, second int) schedule.Event {
	return schedule.Event{
		ID: string(kind) + request, Kind: kind, ScheduleID: "nightly", RequestID: request, RunID: "r-" + request, WorkflowID: "w",
		Time: noon.Add(time.Duration(second) * time.Second),
	}
}

func ended(request string, second int, status schedule.Status) schedule.Event {
	e := runEvent(schedule.EventCompleted, request, second)
	e.Status, e.Attempt, e.Worker, e.CloseTime = status, 2, "worker-1", e.Time
	e.Outcome = schedule.Outcome{ResultBytes: 5}
	return e
}

// foldAll folds events given in order.
func foldAll(all []schedule.Event) []schedule.Run {
	fold := newRunFold()
	var runs []schedule.Run
	for i := range slices.Backward(all) {
		if run, ok := fold.add(&all[i]); ok {
			runs = append(runs, run)
		}
	}
	return runs
}

func TestRunFold(t *testing.T) {
	t.Parallel()
	runs := foldAll([]schedule.Event{
		runEvent(schedule.EventStarted, "lost", 0),
		ended("older", 1, schedule.StatusCompleted), // its start has expired
		runEvent(schedule.EventDeleted, "", 2),
		runEvent(schedule.EventStarted, "a", 3), runEvent(schedule.EventStarted, "b", 4),
		ended("a", 5, schedule.StatusFailed), runEvent(schedule.EventStarted, "c", 6),
		ended("c", 7, schedule.StatusTerminated), ended("c", 8, schedule.StatusCompleted),
	})
	require.Len(t, runs, 4)
	assert.Equal(t, schedule.Run{
		WorkflowID: "w", RunID: "r-a", RequestID: "a", StartTime: noon.Add(3 * time.Second), CloseTime: noon.Add(5 * time.Second),
		Status: schedule.StatusFailed, Attempt: 2, Worker: "worker-1", ScheduleID: "nightly",
		Outcome: schedule.Outcome{ResultBytes: 5},
	}, runs[2])
	var seen []string
	for _, run := range runs {
		seen = append(seen, run.RequestID+" "+string(run.Status))
	}
	assert.Equal(t, []string{"c completed", "b ", "a failed", "lost "}, seen)
	assert.Nil(t, runs[1].Failure, "in progress")
	require.NotNil(t, runs[3].Failure, "nobody knows")
	assert.Equal(t, "unknown", runs[3].Failure.Type)
}

// TestRunFoldLosesNothing: each start is a run, newest first, with the status of its completion.
func TestRunFoldLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var all []schedule.Event
		var running, started []string
		status := map[string]schedule.Status{}
		for i := range rapid.IntRange(0, 60).Draw(t, "events") {
			if len(running) == 0 || rapid.Bool().Draw(t, "start") {
				id := fmt.Sprint(i)
				running, started = append(running, id), append(started, id)
				all = append(all, runEvent(schedule.EventStarted, id, i))
				continue
			}
			at := rapid.IntRange(0, len(running)-1).Draw(t, "which")
			id := running[at]
			running = slices.Delete(running, at, at+1)
			status[id] = rapid.SampledFrom(schedule.Statuses()).Draw(t, "status")
			all = append(all, ended(id, i, status[id]))
		}
		slices.Reverse(started)
		runs := foldAll(all)
		require.Len(t, runs, len(started))
		for i, run := range runs {
			require.Equal(t, started[i], run.RequestID)
			require.Equal(t, status[run.RequestID], run.Status)
		}
	})
}

func TestRunsOfThePage(t *testing.T) {
	t.Parallel()
	at := func(id string, second int, status schedule.Status) schedule.Run {
		return schedule.Run{RequestID: id, StartTime: noon.Add(time.Duration(second) * time.Second), Status: status}
	}
	told := []schedule.Run{at("d", 9, ""), at("c", 8, ""), at("b", 7, schedule.StatusFailed)}
	own := []schedule.Run{
		at("a", 1, ""), at("b", 7, ""), at("c", 8, schedule.StatusCompleted), at("e", 10, schedule.StatusFailed),
	}
	ids := func(req *schedule.RunsRequest, size int) []string {
		all := []string{}
		for from, pages := (runsPlace{}), 1; ; pages++ {
			require.Less(t, pages, 10)
			req.PageSize = size
			page := newRunsPage(req, from, own)
			for i, run := range told {
				sequence := uint64(100 - i)
				if from.before > 0 && sequence >= from.before {
					continue
				}
				if !page.add(run, &events.Entry{Sequence: sequence}) {
					page.stop(runsPlace{before: sequence, time: run.StartTime})
					break
				}
			}
			list := page.list()
			shown := min(len(list), size)
			for _, run := range list[:shown] {
				all = append(all, run.RequestID)
			}
			token := page.next(list, shown)
			if token == "" {
				return all
			}
			var err error
			from, err = decodeRunsToken(token)
			require.NoError(t, err)
		}
	}
	for _, size := range []int{10, 4, 3, 2, 1} {
		assert.Equal(t, []string{"e", "d", "c", "b", "a"}, ids(&schedule.RunsRequest{}, size), size)
		assert.Equal(t, []string{"d", "a"}, ids(&schedule.RunsRequest{Status: schedule.StatusRunning}, size), "either says it has ended")
		assert.Equal(t, []string{"e", "b"}, ids(&schedule.RunsRequest{Status: schedule.StatusFailed}, size))
		assert.Equal(t, []string{"e", "d", "c"}, ids(&schedule.RunsRequest{From: noon.Add(8 * time.Second)}, size))
	}
}

func TestRunTrail(t *testing.T) {
	t.Parallel()
	history := []schedule.Event{
		runEvent(schedule.EventStarted, "a", 1), ended("a", 2, schedule.StatusFailed), runEvent(schedule.EventDeferred, "b", 3),
		runEvent(schedule.EventDeferred, "c", 4),
		runEvent(schedule.EventStarted, "b", 5), runEvent(schedule.EventSkipped, "c", 6), runEvent(schedule.EventCancelRequested, "b", 7),
		ended("b", 8, schedule.StatusCanceled),
	}
	find := func(name string, own ...schedule.Run) (schedule.Run, []schedule.EventKind, bool) {
		trail := newRunTrail(name, own)
		for i := range slices.Backward(history) {
			if !trail.add(&history[i]) {
				break
			}
		}
		run, ok := trail.run("nightly")
		var kinds []schedule.EventKind
		for _, e := range slices.Backward(trail.events) {
			kinds = append(kinds, e.Kind)
		}
		return run, kinds, ok
	}
	ofB := []schedule.EventKind{
		schedule.EventDeferred, schedule.EventStarted, schedule.EventCancelRequested, schedule.EventCompleted,
	}
	for _, name := range []string{"b", "r-b", "w"} {
		run, kinds, ok := find(name)
		require.True(t, ok, name)
		assert.Equal(t, "b", run.RequestID)
		assert.Equal(t, schedule.StatusCanceled, run.Status)
		assert.Equal(t, ofB, kinds)
	}
	run, kinds, ok := find("r-a")
	require.True(t, ok)
	assert.Equal(t, schedule.StatusFailed, run.Status)
	assert.Equal(t, []schedule.EventKind{schedule.EventStarted, schedule.EventCompleted}, kinds)

	_, _, ok = find("c")
	assert.False(t, ok, "it never ran")
	_, _, ok = find("x")
	assert.False(t, ok)

	// A run whose events are gone, or have not arrived yet.
	run, kinds, ok = find("w", schedule.Run{WorkflowID: "w", RequestID: "d", StartTime: noon.Add(time.Hour)})
	require.True(t, ok)
	assert.Equal(t, "d", run.RequestID)
	assert.Equal(t, "nightly", run.ScheduleID)
	assert.Empty(t, kinds)
}

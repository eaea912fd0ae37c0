package pages

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/diagnosis"
	"github.com/carillon-scheduler/carillon/schedule"
)

var noon = time.Date(2027, 3, 4, 12, 0, 30, 0, time.UTC)

// runAt returns a run that began some time before noon, late by a duration.
func runAt(ago, late time.Duration, status schedule.Status) schedule.Run {
	start := noon.Add(-ago)
	return schedule.Run{ScheduleID: "s", RunID: "r", StartTime: start, DueTime: start.Add(-late), NominalTime: start.Add(-late), Status: status, CloseTime: start}
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	runs := []schedule.Run{
		runAt(0, 0, ""), runAt(10*time.Second, 0, schedule.StatusCompleted), runAt(20*time.Minute, 0, schedule.StatusTimedOut),
		runAt(time.Hour, 0, schedule.StatusCompleted), runAt(2*time.Hour, 0, schedule.StatusFailed),
	}
	times := []due{{"s", noon}, {"s", noon.Add(time.Second)}, {"s", noon.Add(time.Hour)}, {"s", noon.Add(2 * time.Hour)}}
	drawn := timelineOf(runs, times, noon)
	var titles []string
	for _, c := range drawn.Columns {
		titles = append(titles, c.Title)
		height := 0
		for _, b := range c.Bars {
			assert.GreaterOrEqual(t, b.X, 0)
			assert.LessOrEqual(t, b.X+b.Width, drawn.Width)
			assert.GreaterOrEqual(t, b.Y, 0)
			height += b.Height
		}
		assert.LessOrEqual(t, height, drawn.Height)
	}
	assert.Equal(t, []string{"11:00: 1 completed", "11:40: 1 failed", "12:00: 1 completed, 1 running, 1 due", "13:00: 1 due"}, titles)
	assert.Equal(t, 3, drawn.Most)
	require.Len(t, drawn.Rows, 4)
	assert.Equal(t, "2027-03-04 11:40:00", drawn.Rows[1].From.Text)
	assert.Equal(t, 1, drawn.Rows[1].Failed)
	assert.Len(t, drawn.Ticks, 9)
}

// TestTimelineOfManyRuns: a single failure among thousands of runs is seen, and the picture stays small.
func TestTimelineOfManyRuns(t *testing.T) {
	t.Parallel()
	var runs []schedule.Run
	for i := range 7200 {
		runs = append(runs, runAt(time.Duration(i)*time.Second/2, 0, schedule.StatusCompleted))
	}
	runs = append(runs, runAt(time.Minute, 0, schedule.StatusFailed))
	drawn := timelineOf(runs, nil, noon)
	assert.Len(t, drawn.Columns, 61)
	failed := 0
	for _, c := range drawn.Columns {
		for _, b := range c.Bars {
			if b.Kind == "bad" {
				failed++
				assert.Equal(t, leastBar, b.Height)
			}
			assert.GreaterOrEqual(t, b.Y, 0)
		}
	}
	assert.Equal(t, 1, failed)
}

func TestPast(t *testing.T) {
	t.Parallel()
	byHand := runAt(time.Minute, time.Hour, schedule.StatusFailed)
	byHand.Manual = true
	past := pastFacts{runs: []schedule.Run{
		runAt(0, 5*time.Millisecond, schedule.StatusCompleted), byHand, runAt(0, 3*time.Second, ""), runAt(0, 0, schedule.StatusCompleted),
	}}
	past.sumUp()
	view := pastOf(&past, "default", noon)
	assert.Equal(t, [3]int{4, 1, 1}, [3]int{view.Runs, view.Failed, view.Running})
	assert.Equal(t, "5 ms", view.Median)
	assert.Equal(t, "3.0 s", view.Most, "whoever triggers a run does not make it late")
	assert.Len(t, view.Failures, 1)
	assert.Empty(t, view.Since.ISO)
	many := make([]schedule.Run, 500)
	for i := range many {
		many[i] = runAt(time.Duration(i)*time.Second, 0, schedule.StatusFailed)
		many[i].Failure = &schedule.Failure{Message: strings.Repeat("long ", 100)}
	}
	view = pastOf(&pastFacts{runs: many, hasMore: true}, "default", noon)
	require.Len(t, view.Failures, 1, "all failed in the same way")
	assert.Equal(t, 500, view.Failures[0].Count)
	for i := range many {
		many[i].ScheduleID = string(rune('a' + i%20))
	}
	assert.Len(t, pastOf(&pastFacts{runs: many}, "default", noon).Failures, fewRuns)
	assert.Equal(t, 12, pastOf(&pastFacts{runs: many}, "default", noon).MoreFailures)
	assert.Equal(t, "2027-03-04 11:52:11", view.Since.Text, "there may be more")
	assert.Equal(t, "gone", pastOf(&pastFacts{err: schedule.Errorf(schedule.CodeUnavailable, "gone")}, "default", noon).Problem)
}

// TestThePastIsBounded: what is kept of the last hour is bounded in runs and in bytes.
func TestThePastIsBounded(t *testing.T) {
	t.Parallel()
	small, large := make([]schedule.Run, 2*pastRuns), make([]schedule.Run, 2*pastRuns)
	for i := range large {
		large[i] = schedule.Run{Outcome: schedule.Outcome{Failure: &schedule.Failure{Type: strings.Repeat("x", 100<<10)}}}
	}
	var facts pastFacts
	facts.add(small)
	assert.Len(t, facts.runs, pastRuns)
	assert.True(t, facts.hasMore)
	facts = pastFacts{}
	facts.add(large)
	assert.Len(t, facts.runs, 82)
	assert.True(t, facts.hasMore)
	facts = pastFacts{}
	facts.add(small[:10])
	assert.False(t, facts.hasMore)
}

func TestComing(t *testing.T) {
	t.Parallel()
	view := comingOf(&comingFacts{times: []due{{"a", noon.Add(-time.Second)}, {"b", noon.Add(time.Second)}}, others: 3}, "n", noon)
	assert.Equal(t, 1, view.Times, "what is due is no more to come")
	assert.Equal(t, []dueRow{{"b", "/ns/n/schedules/b", momentOf(noon.Add(time.Second), noon, time.UTC)}}, view.Next)
	assert.Equal(t, 3, view.Others)

	skipped := noon.Add(time.Minute)
	d := schedule.Description{ID: "a", Info: schedule.Info{FutureActionTimes: []time.Time{noon.Add(2 * time.Minute), noon.Add(2 * time.Hour)}, Skips: []time.Time{skipped}}}
	end := noon.Add(time.Hour)
	assert.Len(t, timesOf(&d, nil, end), 1, "of its description, what is in the hour")
	assert.Len(t, timesOf(&d, []schedule.DueTime{{NominalTime: skipped, DueTime: skipped}, {NominalTime: noon.Add(2 * time.Minute), DueTime: noon.Add(2 * time.Minute)}}, end), 1)
	d.State.Paused = true
	assert.Empty(t, timesOf(&d, nil, end))
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	facts := &diagnosis.Facts{Queues: []diagnosis.Queue{
		{Namespace: "n", Name: "idle", Worker: true}, {Namespace: "other", Name: "busy", Waiting: 7},
		{Namespace: "n", Name: "busy", Waiting: 3, Held: 1, Oldest: noon.Add(-time.Minute)},
	}}
	rows, waiting := backlogOf(facts, "n", noon)
	assert.Equal(t, 3, waiting)
	assert.Equal(t, []backlogRow{{Name: "busy", Waiting: 3, Held: 1, Oldest: "1m"}}, rows)
}

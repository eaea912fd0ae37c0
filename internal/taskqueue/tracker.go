package taskqueue

import (
	"fmt"
	"strconv"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// leaseTime is how long a worker may be silent about its runs before it has lost them.
const leaseTime = subjects.ActionAckWait

// observation is what a watcher has seen of a queue.
type observation struct {
	Queue
	Status
	// Heard means that a worker has given a sign of life about a run since the previous observation. The watcher listens for it
	// if runs are held and nobody asks for more, because the server alone does not show whether workers are busy or dead.
	Heard bool
	// All counts the runs of the queue, including those that were handed out; First is the oldest of them.
	All   int
	First *WaitingRun
}

// alarm is a queue that no worker has served for too long.
type alarm struct {
	Queue
	// Run is the oldest waiting run; Waiting counts all waiting runs. Since is when a worker was last seen, if that was while the
	// run waited, and otherwise when the run arrived.
	Run     WaitingRun
	Waiting int
	Since   time.Time
}

// tracker decides, by observations over time, which queues nobody serves. It is pure: the only times it knows are those it is
// given.
type tracker struct {
	threshold time.Duration
	queues    map[Queue]*track
}

// track is what is known about a queue.
type track struct {
	last observation
	at   time.Time
	// silent is since when nothing was heard about the held runs; unserved is since when there is no worker. Each is zero if that
	// is not so. told means that there was an alarm since then.
	silent, unserved time.Time
	told             bool
}

func newTracker(threshold time.Duration) *tracker {
	return &tracker{threshold: threshold, queues: map[Queue]*track{}}
}

// observe processes the present state of all queues, and returns the alarms to raise. It returns an alarm each time until told is
// called. A queue that is not in the list has no runs and no workers, and is forgotten.
func (t *tracker) observe(now time.Time, all []observation) []alarm {
	seen := make(map[Queue]struct{}, len(all))
	var alarms []alarm
	for _, o := range all {
		seen[o.Queue] = struct{}{}
		queue := t.queues[o.Queue]
		if queue == nil {
			queue = &track{}
			t.queues[o.Queue] = queue
		}
		queue.update(now, o)
		if a, ok := queue.alarm(now, t.threshold); ok {
			alarms = append(alarms, a)
		}
	}
	for name := range t.queues {
		if _, ok := seen[name]; !ok {
			delete(t.queues, name)
		}
	}
	return alarms
}

// told notes that the alarm about a queue was raised. There is no other until a worker has come and gone.
func (t *tracker) told(q Queue) {
	if queue := t.queues[q]; queue != nil {
		queue.told = true
	}
}

func (t *track) update(now time.Time, o observation) {
	t.last, t.at = o, now
	switch {
	case o.Pulling:
		*t = track{last: o, at: now}
	case o.Heard:
		*t = track{last: o, at: now, silent: now}
	case o.Held > 0 && t.silent.IsZero():
		t.silent = now
	}
	switch {
	case o.Pulling || o.Heard || !t.unserved.IsZero():
	case o.Held == 0 && t.silent.IsZero():
		t.unserved = now
	case o.Held == 0 || now.Sub(t.silent) >= leaseTime:
		t.unserved = t.silent
	}
}

// waiting returns how many runs wait, and the oldest. Runs that were handed to a worker that is gone count as waiting.
func (t *track) waiting() (int, *WaitingRun) {
	if !t.unserved.IsZero() && t.last.Held > 0 {
		return t.last.All, t.last.First
	}
	return t.last.Waiting, t.last.Oldest
}

func (t *track) alarm(now time.Time, threshold time.Duration) (alarm, bool) {
	count, run := t.waiting()
	if t.unserved.IsZero() || t.told || run == nil {
		return alarm{}, false
	}
	since := t.unserved
	if run.Since.After(since) {
		since = run.Since
	}
	if now.Sub(since) < threshold {
		return alarm{}, false
	}
	return alarm{Queue: t.last.Queue, Run: *run, Waiting: count, Since: since}, true
}

// eventOf makes the event of an alarm, for the history of the schedule whose run waits longest. Its ID is the same, whichever
// watcher raises the alarm.
func eventOf(names subjects.Names, a alarm, now time.Time) schedule.Event {
	return schedule.Event{
		ID:   string(schedule.EventNoWorker) + "-" + names.ActionStream() + "-" + strconv.FormatUint(a.Run.Sequence, 10),
		Time: now.UTC(), Namespace: a.Run.Namespace, ScheduleID: a.Run.ID, Kind: schedule.EventNoWorker,
		RequestID: a.Run.RequestID, WorkflowID: a.Run.WorkflowID, RunID: a.Run.RunID,
		Nominal: a.Run.Nominal, Actual: a.Run.Actual,
		TaskQueue: a.Name, Count: a.Waiting,
		Reason: fmt.Sprintf("no worker on task queue %q since %s, the oldest run waits since %s", a.Name,
			a.Since.UTC().Format(time.RFC3339), a.Run.Since.UTC().Format(time.RFC3339)),
	}
}

package execution

import (
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"
)

// TimerDue says that time has passed: everything whose deadline has come happens, in the order of the deadlines. There is no reply, and no
// entry if nothing changes.
type TimerDue struct {
	// Came is when a delayed message has come, by the clock of NATS that says when one comes; zero if the process knows the time by itself.
	Came time.Time
}

func (TimerDue) cause() string { return "timer" }

func (in TimerDue) decide(tx *transition) (proto.Message, error) {
	tx.came = in.Came
	for tx.run.Open() {
		at, happen := tx.run.deadline()
		if at.IsZero() || at.After(tx.now) {
			break
		}
		happen(tx)
	}
	return nil, nil
}

// NextDeadline returns when time changes something next, which is when to decide about [TimerDue]; zero if it never does.
func (s *State) NextDeadline() time.Time {
	if !s.Run.Open() {
		return time.Time{}
	}
	at, _ := s.Run.deadline()
	return at
}

// deadline returns the next deadline of an open run and what happens then; zero if there is none. Of several at the same time, the first
// by the order below counts, and then the one with the smaller event ID: every replay must decide the same.
func (r *Run) deadline() (at time.Time, happen func(*transition)) {
	event := int64(0)
	consider := func(t time.Time, id int64, then func(*transition)) {
		if !t.IsZero() && (at.IsZero() || t.Before(at) || t.Equal(at) && id < event) {
			at, event, happen = t, id, then
		}
	}
	consider(r.expires(), 0, (*transition).timeOutRun)
	consider(r.FirstTask, 0, (*transition).firstTaskDue)
	consider(r.taskDeadline(), 0, (*transition).taskDue)
	for id, timer := range r.Timers {
		consider(timer.Fires, timer.Event, func(tx *transition) { tx.fire(id, timer) })
	}
	for scheduled, activity := range r.Activities {
		if activity.Waiting && !activity.paused() {
			consider(activity.Due, scheduled, func(tx *transition) { tx.activityDue(activity) })
		}
		expires, kind := r.nextTimeout(&activity)
		consider(expires, scheduled, func(tx *transition) { tx.timeOutActivity(activity, kind) })
	}
	return at, happen
}

// firstTaskDue schedules the first workflow task, unless an update was faster.
func (tx *transition) firstTaskDue() {
	tx.setFirstTask(time.Time{})
	tx.certain()
	tx.scheduleTask()
}

// expires is when the run times out; zero if it does not.
func (r *Run) expires() time.Time {
	at := after(r.executionTime(), r.Attributes.GetWorkflowRunTimeout().AsDuration())
	if whole := r.wholeExpires(); !whole.IsZero() && (at.IsZero() || whole.Before(at)) {
		at = whole
	}
	return at
}

// taskDeadline is when the workflow task times out; zero if it does not.
func (r *Run) taskDeadline() time.Time {
	switch task := &r.Task; {
	case task.Started != 0:
		return task.StartedTime.Add(task.Timeout)
	case task.Scheduled != 0 && task.StickyQueue != "":
		return after(task.ScheduledTime, task.StickyTimeout)
	}
	return time.Time{}
}

func (tx *transition) taskDue() {
	if tx.run.Task.Started != 0 {
		tx.timeOutTask(enumspb.TIMEOUT_TYPE_START_TO_CLOSE)
	} else {
		tx.timeOutTask(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START)
	}
	tx.scheduleTask()
}

func (tx *transition) fire(id string, timer Timer) {
	tx.arrive(&historypb.TimerFiredEventAttributes{TimerId: id, StartedEventId: timer.Event}, tx.now)
	tx.scheduleTask()
}

// activityDue makes an attempt of an activity, whose pause is over, wait for a worker.
func (tx *transition) activityDue(activity Activity) {
	record := activity.ActivityRecord
	record.Waiting = false
	tx.setActivity(record)
}

// timeOutRun ends the run. Another one follows by the retry policy or the cron schedule, unless the chain as a whole has timed out.
func (tx *transition) timeOutRun() {
	failure := timeoutFailure("workflow timeout", enumspb.TIMEOUT_TYPE_START_TO_CLOSE)
	var next *successor
	state := enumspb.RETRY_STATE_TIMEOUT
	if whole := tx.run.wholeExpires(); whole.IsZero() || whole.After(tx.now) {
		next, state = tx.successor(nil, failure)
	}
	tx.closeTask()
	tx.write(&historypb.WorkflowExecutionTimedOutEventAttributes{RetryState: state, NewExecutionRunId: tx.newRunID(next)})
	tx.next = next
	tx.followUp()
}

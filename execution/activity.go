package execution

import (
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"
)

// The event with which an activity started is written when the activity ends, right before the event that says how: an attempt that is followed by
// another leaves no event.

// endActivity ends a pending activity with an event, which gets the ID of the event with which the activity started. A workflow task is
// scheduled, so that the workflow sees it.
func (tx *transition) endActivity(activity Activity, result proto.Message) {
	started := int64(0)
	if !activity.Started.IsZero() {
		tx.arrive(&historypb.ActivityTaskStartedEventAttributes{
			ScheduledEventId: activity.Event, Identity: activity.Identity, RequestId: activity.RequestID, Attempt: activity.Attempt,
			LastFailure: activity.lastFailure(),
		}, activity.Started)
		started = tx.run.NextEvent - 1
	}
	if tx.run.Task.Started == 0 {
		tx.certain()
		event := newEvent(result, tx.now)
		setStarted(event, map[int64]int64{activity.Event: started})
		tx.run.effect(event)
		tx.number(event)
		tx.scheduleTask()
		return
	}
	tx.arrive(result, tx.now)
}

// retry decides about the next attempt of an activity after a failure. It returns whether there is one, and else why not.
func (tx *transition) retry(activity Activity, failure *failurepb.Failure) (bool, enumspb.RetryState) {
	if activity.CancelEvent != 0 {
		return false, enumspb.RETRY_STATE_CANCEL_REQUESTED
	}
	switch failure.GetTimeoutFailureInfo().GetTimeoutType() {
	case enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START:
		return false, enumspb.RETRY_STATE_TIMEOUT
	}
	expires, attempt := activity.expires(), activity.Attempt
	if activity.paused() {
		expires = time.Time{}
	}
	if activity.Reset {
		attempt = 1 // as in Temporal, the attempt in progress counts as the first one
	}
	pause, state := nextAttempt(activity.Attributes.GetRetryPolicy(), attempt, failure, tx.now, expires)
	if state != enumspb.RETRY_STATE_IN_PROGRESS {
		return false, state
	}
	encoded, err := proto.Marshal(failure)
	if err != nil {
		return false, enumspb.RETRY_STATE_INTERNAL_SERVER_ERROR
	}
	details := activity.Details
	if beat, ok := tx.run.beatOf(&activity); ok && beat.Details != nil {
		details = beat.Details
	}
	if activity.Forget {
		details = nil
	}
	delete(tx.run.Heartbeats, activity.Event)
	tx.setActivity(ActivityRecord{
		Event: activity.Event, Attempt: attempt + 1, Due: tx.now.Add(pause), Waiting: pause > 0,
		LastFailure: encoded, Details: details, LastIdentity: activity.Identity, LastEnd: tx.now,
		Stamp: activity.nextStamp(), Pause: activity.Pause, Options: activity.Options,
	})
	return true, enumspb.RETRY_STATE_IN_PROGRESS
}

// expires is when the activity as a whole times out; zero if it does not.
func (a *Activity) expires() time.Time {
	return after(a.Scheduled, a.Attributes.GetScheduleToCloseTimeout().AsDuration())
}

// after returns a time with a timeout; zero if the timeout is, which means that there is none.
func after(from time.Time, timeout time.Duration) time.Time {
	if timeout <= 0 {
		return time.Time{}
	}
	return from.Add(timeout)
}

// nextTimeout returns what times out next of an activity, and when; zero if nothing does. Of several at the same time, the first in the order below
// counts, as in Temporal. An activity without a schedule-to-start timeout of its own has to be taken within its schedule-to-close timeout, so both come
// at once, and the former says better what was missing. While an activity is paused, only an attempt that a worker has can time out.
func (r *Run) nextTimeout(a *Activity) (at time.Time, kind enumspb.TimeoutType) {
	consider := func(t time.Time, of enumspb.TimeoutType) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at, kind = t, of
		}
	}
	if a.Started.IsZero() && !a.Waiting && !a.paused() {
		consider(after(a.Due, a.Attributes.GetScheduleToStartTimeout().AsDuration()), enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START)
	}
	if !a.paused() {
		consider(a.expires(), enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE)
	}
	if !a.Started.IsZero() {
		consider(after(a.Started, a.Attributes.GetStartToCloseTimeout().AsDuration()), enumspb.TIMEOUT_TYPE_START_TO_CLOSE)
		consider(r.heartbeatDue(a), enumspb.TIMEOUT_TYPE_HEARTBEAT)
	}
	return at, kind
}

// heartbeatDue is when the attempt in progress times out unless there is a heartbeat before; zero if it needs none.
func (r *Run) heartbeatDue(a *Activity) time.Time {
	last := a.Started
	if beat, ok := r.beatOf(a); ok && beat.Time.After(last) {
		last = beat.Time
	}
	return after(last, a.Attributes.GetHeartbeatTimeout().AsDuration())
}

// notEnoughTime is what a failure says when the schedule-to-close timeout of an activity leaves no time for another attempt, in the words that clients
// know from Temporal.
const notEnoughTime = "Not enough time to schedule next retry before activity ScheduleToClose timeout, giving up retrying"

// timeOutActivity ends an attempt that has timed out. There is another one if the retry policy says so. If only time is missing for it, the activity
// as a whole has timed out, as in Temporal.
func (tx *transition) timeOutActivity(activity Activity, kind enumspb.TimeoutType) {
	failure := timeoutFailure("activity "+kind.String()+" timeout", kind)
	again, state := tx.retry(activity, failure)
	if again {
		return
	}
	if state == enumspb.RETRY_STATE_TIMEOUT && kind != enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START {
		failure = timeoutFailure(notEnoughTime, enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE)
	}
	failure.GetTimeoutFailureInfo().LastHeartbeatDetails = tx.run.details(&activity)
	failure.Cause = activity.lastFailure()
	tx.endActivity(activity, &historypb.ActivityTaskTimedOutEventAttributes{
		ScheduledEventId: activity.Event, Failure: failure, RetryState: state,
	})
}

func timeoutFailure(message string, kind enumspb.TimeoutType) *failurepb.Failure {
	return &failurepb.Failure{
		Message: message, Source: "Server",
		FailureInfo: &failurepb.Failure_TimeoutFailureInfo{TimeoutFailureInfo: &failurepb.TimeoutFailureInfo{TimeoutType: kind}},
	}
}

// beatOf returns the last heartbeat of the attempt in progress, if there was one.
func (r *Run) beatOf(a *Activity) (Heartbeat, bool) {
	beat, ok := r.Heartbeats[a.Event]
	return beat, ok && beat.Attempt == a.Attempt && beat.Stamp == a.Stamp
}

// details are what the last heartbeat of an activity said; nil if there was none.
func (r *Run) details(a *Activity) *commonpb.Payloads {
	encoded := a.Details
	if beat, ok := r.beatOf(a); ok && beat.Details != nil {
		encoded = beat.Details
	}
	if encoded == nil {
		return nil
	}
	var details commonpb.Payloads
	if unmarshal(encoded, &details) != nil {
		return nil
	}
	return &details
}

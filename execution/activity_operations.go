package execution

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	activitypb "go.temporal.io/api/activity/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// People pause pending activities, let them go on, reset them and change their options. None of that writes an event. An attempt that a worker has
// goes on until it ends: the worker is told by the answer to its next heartbeat.

// chosen says which pending activities of a run an operation is about: the one with an ID, those of a type, or all.
type chosen struct {
	runID, id, kind string
	all             bool
}

// choose returns the activities, in the order of their events. There is one at least.
func (tx *transition) choose(which chosen) ([]Activity, error) {
	if err := tx.checkOpen(which.runID); err != nil {
		return nil, err
	}
	var found []Activity
	for _, activity := range ordered(tx.run.Activities) {
		asked := activity.Attributes
		if which.all || which.id != "" && asked.GetActivityId() == which.id || which.kind != "" && asked.GetActivityType().GetName() == which.kind {
			found = append(found, activity)
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case which.all:
		return nil, serviceerror.NewNotFound("the workflow has no pending activity")
	case which.id != "":
		return nil, serviceerror.NewNotFoundf("the workflow has no pending activity with the ID %q", which.id)
	case which.kind != "":
		return nil, serviceerror.NewNotFoundf("the workflow has no pending activity of the type %q", which.kind)
	}
	return nil, serviceerror.NewInvalidArgument("Activity is not set on request: an ID or a type is required.")
}

// goOn lets an activity go on. If attempts is set, its attempts are counted anew, and if heartbeat is set, the next one has no details of heartbeats.
// An activity that waits is due now, or within the jitter, and has another stamp, so that offers from before are void. An attempt in progress goes on,
// and counts as the first one.
func (tx *transition) goOn(record ActivityRecord, attempts, heartbeat bool, jitter time.Duration) {
	if !record.Started.IsZero() {
		record.Reset, record.Forget = record.Reset || attempts, record.Forget || heartbeat
		tx.setActivity(record)
		return
	}
	if attempts {
		record.Attempt = 1
	}
	if heartbeat {
		record.Details = nil
	}
	record.Stamp++
	pause := tx.within(jitter, record.Event)
	record.Due, record.Waiting = tx.now.Add(pause), pause > 0
	tx.setActivity(record)
}

// within spreads the activities of many runs over the time of a jitter. The decision has no randomness, but IDs of runs are random.
func (tx *transition) within(jitter time.Duration, event int64) time.Duration {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", tx.run.ID, event, tx.now.UnixNano()))
	part := float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
	return time.Duration(part * float64(jitter))
}

// checkJitter returns the jitter of a request.
func checkJitter(asked *durationpb.Duration) (time.Duration, error) {
	if jitter := asked.AsDuration(); jitter >= 0 {
		return jitter, nil
	}
	return 0, serviceerror.NewInvalidArgument("Jitter is negative.")
}

// nextStamp is the stamp of the attempt after the one in progress.
func (a *ActivityRecord) nextStamp() int32 {
	if a.Reset {
		return a.Stamp + 1
	}
	return a.Stamp
}

// set replaces the record of an activity. The error says that its options cannot be decoded.
func (a *Activity) set(record ActivityRecord) error {
	if !bytes.Equal(record.Options, a.Options) {
		a.Attributes = a.Original
		if record.Options != nil {
			var options activitypb.ActivityOptions
			if err := unmarshal(record.Options, &options); err != nil {
				return err
			}
			a.Attributes = withOptions(a.Original, &options)
		}
	}
	a.ActivityRecord = record
	return nil
}

// optionsOf are those of a scheduled activity that can be changed.
func optionsOf(a *historypb.ActivityTaskScheduledEventAttributes) *activitypb.ActivityOptions {
	return &activitypb.ActivityOptions{
		TaskQueue:              &taskqueuepb.TaskQueue{Name: a.GetTaskQueue().GetName(), NormalName: a.GetTaskQueue().GetName()},
		ScheduleToCloseTimeout: a.GetScheduleToCloseTimeout(), ScheduleToStartTimeout: a.GetScheduleToStartTimeout(),
		StartToCloseTimeout: a.GetStartToCloseTimeout(), HeartbeatTimeout: a.GetHeartbeatTimeout(),
		RetryPolicy: a.GetRetryPolicy(), Priority: a.GetPriority(),
	}
}

// withOptions returns what a workflow asked for with other options.
func withOptions(
	original *historypb.ActivityTaskScheduledEventAttributes, options *activitypb.ActivityOptions,
) *historypb.ActivityTaskScheduledEventAttributes {
	changed := proto.CloneOf(original)
	changed.TaskQueue.Name = options.GetTaskQueue().GetName()
	changed.ScheduleToCloseTimeout, changed.ScheduleToStartTimeout = options.GetScheduleToCloseTimeout(), options.GetScheduleToStartTimeout()
	changed.StartToCloseTimeout, changed.HeartbeatTimeout = options.GetStartToCloseTimeout(), options.GetHeartbeatTimeout()
	changed.RetryPolicy, changed.Priority = options.GetRetryPolicy(), options.GetPriority()
	return changed
}

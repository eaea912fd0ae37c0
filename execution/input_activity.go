package execution

import (
	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// StartActivity gives an attempt of an activity to a poll. The reply is a *workflowservice.PollActivityTaskQueueResponse. A repeat with the same
// RequestID gets the same reply. The error is NotFound if the attempt is no longer wanted.
type StartActivity struct {
	RunID string
	// Event, Attempt and Stamp are those of the [Offer].
	Event   int64
	Attempt int32
	Stamp   int32
	// RequestID identifies the poll, and Identity its worker.
	RequestID, Identity string
}

func (StartActivity) cause() string { return "start-activity" }

func (in StartActivity) decide(tx *transition) (proto.Message, error) {
	if !tx.run.Open() || tx.run.ID != in.RunID {
		return nil, errActivityNotFound
	}
	activity, ok := tx.run.Activities[in.Event]
	if !ok || activity.Attempt != in.Attempt || activity.Stamp != in.Stamp || activity.Waiting {
		return nil, errActivityNotFound
	}
	if activity.Started.IsZero() {
		if activity.paused() {
			return nil, errActivityNotFound // it is offered again when it goes on
		}
		record := activity.ActivityRecord
		record.Started, record.RequestID, record.Identity = tx.now, in.RequestID, in.Identity
		tx.setActivity(record)
		activity = tx.run.Activities[in.Event]
	} else if activity.RequestID != in.RequestID {
		return nil, errActivityNotFound
	}
	return tx.attempt(&activity), nil
}

// attempt is what a worker gets with an attempt of an activity.
func (tx *transition) attempt(activity *Activity) *workflowservice.PollActivityTaskQueueResponse {
	asked := activity.Attributes
	return &workflowservice.PollActivityTaskQueueResponse{
		TaskToken: Token{
			Namespace: tx.before.Key.Namespace, WorkflowID: tx.before.Key.WorkflowID, RunID: tx.run.ID,
			Scheduled: activity.Event, Attempt: activity.Attempt, Stamp: activity.Stamp, StartedTime: activity.Started,
		}.Marshal(),
		WorkflowNamespace: tx.before.Key.Namespace, WorkflowType: tx.run.Attributes.GetWorkflowType(), WorkflowExecution: tx.execution(),
		ActivityType: asked.GetActivityType(), ActivityId: asked.GetActivityId(), Header: asked.GetHeader(), Input: asked.GetInput(),
		HeartbeatDetails: tx.run.details(activity), ScheduledTime: timestamppb.New(activity.Scheduled),
		CurrentAttemptScheduledTime: timestamppb.New(activity.Due), StartedTime: timestamppb.New(activity.Started), Attempt: activity.Attempt,
		ScheduleToCloseTimeout: asked.GetScheduleToCloseTimeout(), StartToCloseTimeout: asked.GetStartToCloseTimeout(),
		HeartbeatTimeout: asked.GetHeartbeatTimeout(), RetryPolicy: asked.GetRetryPolicy(), Priority: mergedPriority(tx.run.Attributes.GetPriority(), asked.GetPriority()),
	}
}

var errActivityNotFound = serviceerror.NewNotFound("invalid activityID or activity already timed out or invoking workflow is completed")

// activityOf names an activity: by the token of one of its attempts, or by the ID that the workflow gave it.
type activityOf struct {
	token *Token
	runID string
	id    string
}

// find returns the activity. A token must be for the attempt in progress.
func (tx *transition) find(of activityOf) (Activity, error) {
	if of.token != nil {
		of.runID = of.token.RunID
	}
	if err := tx.checkOpen(of.runID); err != nil {
		return Activity{}, err
	}
	if token := of.token; token != nil {
		activity, ok := tx.run.Activities[token.Scheduled]
		if !ok || activity.Attempt != token.Attempt || activity.Stamp != token.Stamp || !activity.Started.Equal(token.StartedTime) {
			return Activity{}, errActivityNotFound
		}
		return activity, nil
	}
	for _, activity := range tx.run.Activities {
		if activity.Attributes.GetActivityId() == of.id {
			return activity, nil
		}
	}
	return Activity{}, errActivityNotFound
}

// CompleteActivity says that an activity is done. The reply is a *workflowservice.RespondActivityTaskCompletedResponse.
type CompleteActivity struct {
	Token   Token
	Request *workflowservice.RespondActivityTaskCompletedRequest
}

func (CompleteActivity) cause() string { return "complete-activity" }

func (in CompleteActivity) decide(tx *transition) (proto.Message, error) {
	return &workflowservice.RespondActivityTaskCompletedResponse{},
		tx.completeActivity(activityOf{token: &in.Token}, in.Request.GetResult(), in.Request.GetIdentity())
}

// CompleteActivityByID is [CompleteActivity] for a caller without a token. The reply is a *workflowservice.RespondActivityTaskCompletedByIdResponse.
type CompleteActivityByID struct {
	Request *workflowservice.RespondActivityTaskCompletedByIdRequest
}

func (CompleteActivityByID) cause() string { return "complete-activity" }

func (in CompleteActivityByID) decide(tx *transition) (proto.Message, error) {
	of := activityOf{runID: in.Request.GetRunId(), id: in.Request.GetActivityId()}
	return &workflowservice.RespondActivityTaskCompletedByIdResponse{}, tx.completeActivity(of, in.Request.GetResult(), in.Request.GetIdentity())
}

func (tx *transition) completeActivity(of activityOf, result *commonpb.Payloads, identity string) error {
	activity, err := tx.find(of)
	if err != nil {
		return err
	}
	tx.endActivity(tx.started(activity, identity), &historypb.ActivityTaskCompletedEventAttributes{
		Result: result, ScheduledEventId: activity.Event, Identity: identity,
	})
	return nil
}

// started returns an activity that ends as one that a worker has had: whoever ends it by its ID may come before the worker.
func (tx *transition) started(activity Activity, identity string) Activity {
	if activity.Started.IsZero() {
		activity.Started, activity.Identity = tx.now, identity
	}
	return activity
}

// FailActivity says that an attempt of an activity failed. The reply is a *workflowservice.RespondActivityTaskFailedResponse.
type FailActivity struct {
	Token   Token
	Request *workflowservice.RespondActivityTaskFailedRequest
}

func (FailActivity) cause() string { return "fail-activity" }

func (in FailActivity) decide(tx *transition) (proto.Message, error) {
	return &workflowservice.RespondActivityTaskFailedResponse{},
		tx.failActivity(activityOf{token: &in.Token}, in.Request.GetFailure(), in.Request.GetLastHeartbeatDetails(), in.Request.GetIdentity())
}

// FailActivityByID is [FailActivity] for a caller without a token. The reply is a *workflowservice.RespondActivityTaskFailedByIdResponse.
type FailActivityByID struct {
	Request *workflowservice.RespondActivityTaskFailedByIdRequest
}

func (FailActivityByID) cause() string { return "fail-activity" }

func (in FailActivityByID) decide(tx *transition) (proto.Message, error) {
	of := activityOf{runID: in.Request.GetRunId(), id: in.Request.GetActivityId()}
	return &workflowservice.RespondActivityTaskFailedByIdResponse{},
		tx.failActivity(of, in.Request.GetFailure(), in.Request.GetLastHeartbeatDetails(), in.Request.GetIdentity())
}

func (tx *transition) failActivity(of activityOf, failure *failurepb.Failure, details *commonpb.Payloads, identity string) error {
	activity, err := tx.find(of)
	if err != nil {
		return err
	}
	if details != nil {
		if activity.Details, err = proto.Marshal(details); err != nil {
			return serviceerror.NewInvalidArgument("LastHeartbeatDetails: " + err.Error())
		}
		delete(tx.run.Heartbeats, activity.Event) // older than what the failure says
	}
	activity = tx.started(activity, identity)
	again, state := tx.retry(activity, failure)
	if again {
		return nil
	}
	tx.endActivity(activity, &historypb.ActivityTaskFailedEventAttributes{
		Failure: failure, ScheduledEventId: activity.Event, Identity: identity, RetryState: state,
	})
	return nil
}

// CancelActivity says that an activity has ended because it was asked to. The reply is a *workflowservice.RespondActivityTaskCanceledResponse.
type CancelActivity struct {
	Token   Token
	Request *workflowservice.RespondActivityTaskCanceledRequest
}

func (CancelActivity) cause() string { return "cancel-activity" }

func (in CancelActivity) decide(tx *transition) (proto.Message, error) {
	return &workflowservice.RespondActivityTaskCanceledResponse{},
		tx.cancelActivity(activityOf{token: &in.Token}, in.Request.GetDetails(), in.Request.GetIdentity())
}

// CancelActivityByID is [CancelActivity] for a caller without a token. The reply is a *workflowservice.RespondActivityTaskCanceledByIdResponse.
type CancelActivityByID struct {
	Request *workflowservice.RespondActivityTaskCanceledByIdRequest
}

func (CancelActivityByID) cause() string { return "cancel-activity" }

func (in CancelActivityByID) decide(tx *transition) (proto.Message, error) {
	of := activityOf{runID: in.Request.GetRunId(), id: in.Request.GetActivityId()}
	return &workflowservice.RespondActivityTaskCanceledByIdResponse{}, tx.cancelActivity(of, in.Request.GetDetails(), in.Request.GetIdentity())
}

func (tx *transition) cancelActivity(of activityOf, details *commonpb.Payloads, identity string) error {
	activity, err := tx.find(of)
	switch {
	case err != nil:
		return err
	case activity.CancelEvent == 0:
		return serviceerror.NewInvalidArgument("unable to mark activity as canceled without activity being request canceled first")
	}
	tx.endActivity(tx.started(activity, identity), &historypb.ActivityTaskCanceledEventAttributes{
		Details: details, LatestCancelRequestedEventId: activity.CancelEvent, ScheduledEventId: activity.Event, Identity: identity,
	})
	return nil
}

// BeatActivity is a heartbeat of an activity. It leads to no entry, but to a [Beat]. The reply is a
// *workflowservice.RecordActivityTaskHeartbeatResponse.
type BeatActivity struct {
	Token   Token
	Request *workflowservice.RecordActivityTaskHeartbeatRequest
}

func (BeatActivity) cause() string { return "heartbeat" }

func (in BeatActivity) decide(tx *transition) (proto.Message, error) {
	activity, err := tx.beatActivity(activityOf{token: &in.Token}, in.Request.GetDetails())
	return &workflowservice.RecordActivityTaskHeartbeatResponse{
		CancelRequested: activity.CancelEvent != 0, ActivityPaused: activity.paused(), ActivityReset: activity.Reset,
	}, err
}

// BeatActivityByID is [BeatActivity] for a caller without a token. The reply is a *workflowservice.RecordActivityTaskHeartbeatByIdResponse.
type BeatActivityByID struct {
	Request *workflowservice.RecordActivityTaskHeartbeatByIdRequest
}

func (BeatActivityByID) cause() string { return "heartbeat" }

func (in BeatActivityByID) decide(tx *transition) (proto.Message, error) {
	activity, err := tx.beatActivity(activityOf{runID: in.Request.GetRunId(), id: in.Request.GetActivityId()}, in.Request.GetDetails())
	return &workflowservice.RecordActivityTaskHeartbeatByIdResponse{
		CancelRequested: activity.CancelEvent != 0, ActivityPaused: activity.paused(), ActivityReset: activity.Reset,
	}, err
}

// beatActivity notes a heartbeat, and returns the activity.
func (tx *transition) beatActivity(of activityOf, details *commonpb.Payloads) (Activity, error) {
	activity, err := tx.find(of)
	switch {
	case err != nil:
		return Activity{}, err
	case activity.Started.IsZero():
		return Activity{}, errActivityNotFound
	}
	beat := Heartbeat{Attempt: activity.Attempt, Stamp: activity.Stamp, Time: tx.now}
	if details != nil {
		if beat.Details, err = proto.Marshal(details); err != nil {
			return Activity{}, serviceerror.NewInvalidArgument("Details: " + err.Error())
		}
	}
	tx.beat = &Beat{activity.Event, beat}
	tx.run.Heartbeats[activity.Event] = beat
	return activity, nil
}

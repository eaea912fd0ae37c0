package execution

import (
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
)

// PauseActivity keeps activities from further attempts. The reply is a *workflowservice.PauseActivityResponse. The error is FailedPrecondition if
// another request has paused the activity with the ID. Those of a type that are paused stay as they are.
type PauseActivity struct {
	Request *workflowservice.PauseActivityRequest
}

func (PauseActivity) cause() string { return "pause-activity" }

func (in PauseActivity) decide(tx *transition) (proto.Message, error) {
	request := in.Request
	found, err := tx.choose(chosen{runID: request.GetExecution().GetRunId(), id: request.GetId(), kind: request.GetType()})
	if err != nil {
		return nil, err
	}
	pause := Pause{Since: tx.now, Identity: request.GetIdentity(), Reason: request.GetReason(), RequestID: request.GetRequestId()}
	for _, activity := range found {
		if !activity.paused() {
			activity.Pause = pause
			tx.setActivity(activity.ActivityRecord)
		} else if request.GetId() != "" && (pause.RequestID == "" || activity.Pause.RequestID != pause.RequestID) {
			return nil, serviceerror.NewFailedPrecondition("activity is already paused")
		}
	}
	return &workflowservice.PauseActivityResponse{}, nil
}

// UnpauseActivity lets paused activities go on; others stay as they are. The reply is a *workflowservice.UnpauseActivityResponse.
type UnpauseActivity struct {
	Request *workflowservice.UnpauseActivityRequest
}

func (UnpauseActivity) cause() string { return "unpause-activity" }

func (in UnpauseActivity) decide(tx *transition) (proto.Message, error) {
	request := in.Request
	found, err := tx.choose(chosen{request.GetExecution().GetRunId(), request.GetId(), request.GetType(), request.GetUnpauseAll()})
	if err != nil {
		return nil, err
	}
	jitter, err := checkJitter(request.GetJitter())
	if err != nil {
		return nil, err
	}
	for _, activity := range found {
		if !activity.paused() {
			continue
		}
		record := activity.ActivityRecord
		record.Pause = Pause{}
		tx.goOn(record, request.GetResetAttempts(), request.GetResetHeartbeat(), jitter)
	}
	return &workflowservice.UnpauseActivityResponse{}, nil
}

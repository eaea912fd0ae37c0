package execution

import (
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
)

// ResetActivity lets activities begin again with attempt 1, at once; one that a worker has counts as attempt 1 from now on. The reply is a
// *workflowservice.ResetActivityResponse.
type ResetActivity struct {
	Request *workflowservice.ResetActivityRequest
}

func (ResetActivity) cause() string { return "reset-activity" }

func (in ResetActivity) decide(tx *transition) (proto.Message, error) {
	request := in.Request
	found, err := tx.choose(chosen{request.GetExecution().GetRunId(), request.GetId(), request.GetType(), request.GetMatchAll()})
	if err != nil {
		return nil, err
	}
	jitter, err := checkJitter(request.GetJitter())
	if err != nil {
		return nil, err
	}
	for _, activity := range found {
		record := activity.ActivityRecord
		if request.GetRestoreOriginalOptions() {
			record.Options = nil
		}
		if !request.GetKeepPaused() {
			record.Pause = Pause{}
		}
		tx.goOn(record, true, request.GetResetHeartbeat(), jitter)
	}
	return &workflowservice.ResetActivityResponse{}, nil
}

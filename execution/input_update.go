package execution

import (
	"errors"

	"go.temporal.io/api/serviceerror"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
)

// UpdateWorkflow asks the code of the run in progress for an update, unless the run knows the update's ID. There is no reply: [Run.FindUpdate]
// says how far the update has come. The error is NotFound if the run has ended and does not know it.
type UpdateWorkflow struct {
	Request *workflowservice.UpdateWorkflowExecutionRequest
}

func (UpdateWorkflow) cause() string { return "update" }

func (in UpdateWorkflow) decide(tx *transition) (proto.Message, error) {
	of, request := in.Request.GetWorkflowExecution(), in.Request.GetRequest()
	if err := checkUpdate(request); err != nil {
		return nil, err
	}
	named := tx.run != nil && (of.GetRunId() == "" || of.GetRunId() == tx.run.ID)
	if named && tx.knowsUpdate(request.GetMeta().GetUpdateId()) {
		return nil, nil
	}
	if err := tx.checkChain(of, in.Request.GetFirstExecutionRunId()); err != nil {
		return nil, err
	}
	return nil, tx.admitUpdate(request)
}

func checkUpdate(request *updatepb.Request) error {
	switch {
	case request.GetMeta().GetUpdateId() == "":
		return serviceerror.NewInvalidArgument("UpdateId is not set on request.")
	case request.GetInput().GetName() == "":
		return serviceerror.NewInvalidArgument("the name of the update is not set on request.")
	case len(request.GetCompletionCallbacks()) > 0:
		return serviceerror.NewUnimplemented("CompletionCallbacks of updates are not implemented")
	}
	return nil
}

// UpdateWithStart starts a run, unless one is in progress and the start allows that, and asks its code for an update. If the newest run knows the
// update's ID, nothing happens. The reply is that of the start. The error is Temporal's MultiOperationExecution, and says which of the
// two failed.
type UpdateWithStart struct {
	Start  Start
	Update UpdateWorkflow
}

func (UpdateWithStart) cause() string { return "update-with-start" }

func (in UpdateWithStart) decide(tx *transition) (proto.Message, error) {
	if tx.knowsUpdate(in.Update.Request.GetRequest().GetMeta().GetUpdateId()) {
		return &workflowservice.StartWorkflowExecutionResponse{
			RunId: tx.run.ID, FirstExecutionRunId: tx.run.Attributes.GetFirstExecutionRunId(), Status: tx.run.Status,
		}, nil
	}
	reply, err := in.Start.decide(tx)
	if err != nil {
		return nil, multiError(err, nil)
	}
	if _, err := in.Update.decide(tx); err != nil {
		return nil, multiError(nil, err)
	}
	return reply, nil
}

// multiError says which of two operations has failed.
func multiError(start, update error) error {
	aborted := serviceerror.NewMultiOperationAborted("Operation was aborted.")
	errs := []error{start, update}
	for i, err := range errs {
		if err == nil {
			errs[i] = aborted
		}
	}
	return serviceerror.NewMultiOperationExecution("Update-with-Start could not be executed: "+errors.Join(start, update).Error(), errs)
}

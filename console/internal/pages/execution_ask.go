package pages

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/query/v1"
	"go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/carillon-scheduler/carillon/console/internal/readable"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// answerWait is how long a page waits for the answer of a workflow: less than executionWait, so that it can still say that none came.
const answerWait = 7 * time.Second

// strangerWait is how long it waits if nobody is known to poll: a worker that has just come may answer all the same.
const strangerWait = 2 * time.Second

// answerShown bounds the answer that a page shows, in bytes.
const answerShown = 100_000

// queryExecution asks a worker about an execution, and shows what it answers.
func queryExecution(ctx context.Context, asks *speaker.Speaker, of *common.WorkflowExecution, form *actForm) (string, error) {
	arguments, ok := form.arguments("input")
	if !ok {
		return "", nil
	}
	asking, cancel := context.WithTimeout(ctx, form.patience())
	defer cancel()
	reply, err := asks.Workflows.QueryWorkflow(asking, &workflowservice.QueryWorkflowRequest{
		Namespace: asks.Namespace(), Execution: of, Query: &query.WorkflowQuery{QueryType: form.value("name"), QueryArgs: arguments},
	})
	switch {
	case isLate(err):
		return "", form.silence()
	case err != nil:
		return "", err
	case reply.GetQueryRejected() != nil:
		return "", schedule.Errorf(schedule.CodeFailedPrecondition, "The query was rejected: the execution is %s.", reply.GetQueryRejected().GetStatus())
	}
	shown := cut(readable.Payloads(reply.GetQueryResult()), answerShown)
	form.Result = &actResult{"Answer", shown}
	return "", nil
}

// silence says that nobody has answered.
func (f *actForm) silence() error {
	if len(f.Notes) > 0 {
		return schedule.Errorf(schedule.CodeUnavailable, "Nobody has answered: only a worker can, and there is none. Start one, and ask again.")
	}
	return schedule.Errorf(schedule.CodeUnavailable, "No worker has answered within %s. It may be busy, or may not know this type of workflow.", answerWait)
}

// patience returns how long to wait for an answer to a form.
func (f *actForm) patience() time.Duration {
	if len(f.Notes) > 0 {
		return strangerWait
	}
	return answerWait
}

// isLate reports whether an error means that no answer came in time.
func isLate(err error) bool {
	return status.Code(err) == codes.DeadlineExceeded || errors.Is(err, context.DeadlineExceeded)
}

// updateExecution sends an update, and shows what the workflow answers.
func updateExecution(ctx context.Context, asks *speaker.Speaker, of *common.WorkflowExecution, form *actForm) (string, error) {
	arguments, ok := form.arguments("input")
	if !ok {
		return "", nil
	}
	wait := form.patience()
	asking, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	reply, err := asks.Workflows.UpdateWorkflowExecution(asking, &workflowservice.UpdateWorkflowExecutionRequest{
		Namespace: asks.Namespace(), WorkflowExecution: of,
		WaitPolicy: &update.WaitPolicy{LifecycleStage: enums.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED},
		Request: &update.Request{
			Meta:  &update.Meta{UpdateId: form.Request, Identity: asks.Identity},
			Input: &update.Input{Name: form.value("name"), Args: arguments},
		},
	})
	if err != nil && !isLate(err) {
		return "", err
	}
	form.IsOver = reply.GetOutcome() != nil
	form.Result = outcomeOfUpdate(reply.GetOutcome(), wait)
	return "", nil
}

// outcomeOfUpdate returns what has come of an update within a time.
func outcomeOfUpdate(outcome *update.Outcome, wait time.Duration) *actResult {
	switch {
	case outcome == nil:
		return &actResult{"No answer yet", "The update has been sent, and has not been completed within " + wait.String() + ". Sending it again asks for its outcome."}
	case outcome.GetFailure() != nil:
		return &actResult{"It failed", cut(readable.Failure(outcome.GetFailure()), answerShown)}
	}
	return &actResult{"Answer", cut(readable.Payloads(outcome.GetSuccess()), answerShown)}
}

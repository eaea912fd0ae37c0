package pages

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
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
func queryExecution(ctx context.Context, speaker *speaker.Speaker, of *common.WorkflowExecution, form *actForm) (string, error) {
	arguments, ok := form.arguments("input")
	if !ok {
		return "", nil
	}
	asking, cancel := context.WithTimeout(ctx, form.patience())
	defer cancel()
	reply, err := speaker.Workflows.QueryWorkflow(asking, &workflowservice.QueryWorkflowRequest{
		Namespace: speaker.Namespace(), Execution: of, Query: &query.WorkflowQuery{QueryType: form.value("name"), QueryArgs: arguments},
	})
	switch {
	case isLate(err):
		return "", form.silence()
	case err != nil:
		return "", err
	case reply.GetQueryRejected() != nil:
		return "", schedule.Errorf(schedule.CodeFailedPrecondition, "The query was rejected: the execution is %s.", reply.GetQueryRejected().GetStatus())
	}
	shown, _ := readable.Cut(readable.Payloads(reply.GetQueryResult()), answerShown)
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
func updateExecution(ctx context.Context, speaker *speaker.Speaker, of *common.WorkflowExecution, form *actForm) (string, error) {
	arguments, ok := form.arguments("input")
	if !ok {
		return "", nil
	}
	wait := form.patience()
	asking, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	reply, err := speaker.Workflows.UpdateWorkflowExecution(asking, &workflowservice.UpdateWorkflowExecutionRequest{
		Namespace: speaker.Namespace(), WorkflowExecution: of,
		WaitPolicy: &update.WaitPolicy{LifecycleStage: enums.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED},
		Request: &update.Request{
			Meta:  &update.Meta{UpdateId: form.Request, Identity: speaker.Identity},
			Input: &update.Input{Name: form.value("name"), Args: arguments},
		},
	})
	if err != nil && !isLate(err) {
		return "", err
	}
	form.Result = outcomeOfUpdate(reply.GetOutcome(), wait)
	return "", nil
}

// outcomeOfUpdate returns what has come of an update within a time.
func outcomeOfUpdate(outcome *update.Outcome, wait time.Duration) *actResult {
	switch {
	case outcome == nil:
		return &actResult{"No answer yet", "The update has been sent, and has not been completed within " + wait.String() + ". Sending it again asks for its outcome."}
	case outcome.GetFailure() != nil:
		shown, _ := readable.Cut(readable.Failure(outcome.GetFailure()), answerShown)
		return &actResult{"It failed", shown}
	}
	shown, _ := readable.Cut(readable.Payloads(outcome.GetSuccess()), answerShown)
	return &actResult{"Answer", shown}
}

// pointsShown is how many workflow tasks a reset offers: the newest ones, and the first one.
const pointsShown = 30

// resetPoints adds to a form the workflow tasks after which a new run can begin.
func resetPoints(ctx context.Context, speaker *speaker.Speaker, of *common.WorkflowExecution, form *actForm) error {
	points, err := newestTasks(ctx, speaker, of)
	if err != nil {
		return err
	}
	field := &form.Fields[slices.IndexFunc(form.Fields, func(f actField) bool { return f.Name == "event" })]
	for _, e := range points {
		text := "event " + whole(e.GetEventId()) + ", " + e.GetEventTime().AsTime().Format("2006-01-02 15:04:05") + " UTC"
		field.Choices = append(field.Choices, actChoice{whole(e.GetEventId()), text})
	}
	if len(field.Choices) == 0 {
		field.Mistake = "cannot be chosen: no workflow task has been completed yet"
		return nil
	}
	field.Choices[0].Label += ": the last one"
	field.Value = cmp.Or(field.Value, field.Choices[0].Value)
	return nil
}

// taskPages bounds how many pages of a history are read for the workflow tasks of a reset.
const taskPages = 5

// newestTasks returns the newest workflow tasks that a worker has completed, the newest one first, and the first one of the run.
func newestTasks(ctx context.Context, speaker *speaker.Speaker, of *common.WorkflowExecution) (tasks []*history.HistoryEvent, err error) {
	for token, n := []byte(nil), 0; n < taskPages && len(tasks) < pointsShown; n++ {
		page, err := speaker.Workflows.GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
			Namespace: speaker.Namespace(), Execution: of, NextPageToken: token,
		})
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, tasksOf(page.GetHistory())...)
		if token = page.GetNextPageToken(); len(token) == 0 {
			return tasks[:min(len(tasks), pointsShown)], nil
		}
	}
	tasks = tasks[:min(len(tasks), pointsShown)]
	page, err := speaker.Workflows.GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: speaker.Namespace(), Execution: of, MaximumPageSize: historyShown,
	})
	if first := tasksOf(page.GetHistory()); len(first) > 0 && !slices.ContainsFunc(tasks, func(e *history.HistoryEvent) bool { return e.GetEventId() == first[0].GetEventId() }) {
		tasks = append(tasks, first[0])
	}
	return tasks, err
}

// tasksOf returns the workflow tasks among events that a reset can go to.
func tasksOf(events *history.History) (tasks []*history.HistoryEvent) {
	for _, e := range events.GetEvents() {
		switch e.GetEventType() {
		case enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, enums.EVENT_TYPE_WORKFLOW_TASK_FAILED, enums.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
			tasks = append(tasks, e)
		}
	}
	return tasks
}

// resetExecution begins a new run, and leads to it.
func resetExecution(ctx context.Context, speaker *speaker.Speaker, of *common.WorkflowExecution, form *actForm) (string, error) {
	event, err := strconv.ParseInt(form.value("event"), 10, 64)
	if err != nil {
		form.mistake("event", "is not chosen")
		return "", nil
	}
	reply, err := speaker.Workflows.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: speaker.Namespace(), WorkflowExecution: of, Reason: form.value("reason"), WorkflowTaskFinishEventId: event, RequestId: form.Request,
		Identity: speaker.Identity,
	})
	return address(speaker.Namespace(), "executions", of.WorkflowId, reply.GetRunId()) + "?said=reset", err
}

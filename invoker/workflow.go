package invoker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// A workflow is not published on a task queue: the pool history starts its execution and reports how that ends. For the schedule, the
// execution is a run like any other. What differs is in this file:
//
//   - A repeat of a start is recognized by its request ID while the execution is the newest of its workflow ID, and by its run ID later. So a
//     start that may have been made before is looked up, and made only if there is no such run.
//   - Nobody can use up a request ID. So a start that is given up leaves a fence behind: a delayed request to terminate its run, which comes
//     when no process can start the run any more.
//   - A run timeout is the execution's own, and history reports it.

// Workflows starts and ends executions of workflows: the pool history. Errors are those of package serviceerror, and workflows.ErrTooLarge.
type Workflows interface {
	Start(
		ctx context.Context, request *workflowservice.StartWorkflowExecutionRequest, runID string, callback *wire.WorkflowCallback,
	) error
	RequestCancel(ctx context.Context, request *workflowservice.RequestCancelWorkflowExecutionRequest) error
	Terminate(ctx context.Context, request *workflowservice.TerminateWorkflowExecutionRequest) error
	Describe(
		ctx context.Context, request *workflowservice.DescribeWorkflowExecutionRequest,
	) (*workflowservice.DescribeWorkflowExecutionResponse, error)
}

const (
	// askWait bounds a request to history. It is short, because other schedules wait for the process meanwhile.
	askWait = 5 * time.Second
	// reportWait is how long the report of an execution that has ended may be on its way.
	reportWait = 10 * time.Minute
	// fenceWait is how long a start may still be made by a process that has read the record before it was given up. Such a process begins
	// no start after half of that time (current), and history does not work on it for much longer.
	fenceWait = subjects.DuplicateWindow
)

// tryWorkflow makes one attempt to start an execution, and reports the result. The last success is optional: it is omitted if the request is
// too large with it.
func (s *session) tryWorkflow(
	ctx context.Context, start *wire.BufferedStart, action *schedule.Action, last wire.Result, since time.Time, report *StartReport,
) error {
	request, problem := workflows.Request(s.key, action, start, last)
	if problem != nil {
		report.Result, report.Reason = Refused, "the action is no workflow: "+problem.Message
		return nil
	}
	if err := s.current(since); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	callback := &wire.WorkflowCallback{
		ScheduleID: s.key.ID, TaskQueue: start.TaskQueue, RequestID: start.RequestID, Trace: start.Trace,
	}
	err := s.workflows.Start(ctx, request, start.RunID, callback)
	if errors.Is(err, workflows.ErrTooLarge) && request.LastCompletionResult != nil {
		request.LastCompletionResult = nil
		err = s.workflows.Start(ctx, request, start.RunID, callback)
	}
	report.Result, report.Reason = judgeWorkflow(start, err)
	return nil
}

// judgeWorkflow turns the answer to a start into a result.
func judgeWorkflow(start *wire.BufferedStart, err error) (Result, string) {
	var other *serviceerror.WorkflowExecutionAlreadyStarted
	switch {
	case err == nil:
		return Accepted, ""
	case errors.Is(err, workflows.ErrTooLarge):
		return Refused, "the request is larger than a NATS message may be"
	case errors.As(err, &other) && (other.StartRequestId == start.RequestID || other.RunId == start.RunID):
		return Accepted, ""
	case errors.As(err, &other):
		return Refused, fmt.Sprintf("workflow ID %s is already running", start.WorkflowID)
	}
	switch serviceerror.ToStatus(err).Code() {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.PermissionDenied, codes.Unimplemented:
		return Refused, err.Error()
	case codes.Unavailable, codes.ResourceExhausted, codes.DeadlineExceeded, codes.Canceled:
		return Unreachable, err.Error()
	}
	return Failed, err.Error()
}

// lookWorkflow searches for the execution of a start, then for the report of its end. An execution that ended long ago, and whose end nobody
// has reported, counts as accepted: the check of consistency then finds it lost.
func (p *Pool) lookWorkflow(
	ctx context.Context, key schedule.Key, start *wire.BufferedStart,
) (result Result, known bool, err error) {
	asking, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	run, err := p.workflows.Describe(asking, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: key.Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: start.WorkflowID, RunId: start.RunID},
	})
	if err != nil && !isNotFound(err) {
		return Failed, false, err
	}
	info := run.GetWorkflowExecutionInfo()
	switch info.GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED: // there is none
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		return Accepted, true, nil
	default:
		goesOn, err := p.goesOn(asking, key, start)
		if err != nil {
			return Failed, false, err
		}
		if goesOn || p.config.Now().Sub(info.GetCloseTime().AsTime()) > reportWait {
			return Accepted, true, nil
		}
		return Over, true, nil
	}
	names, shard := p.config.Names, p.config.Store.ShardOf(key)
	_, err = p.config.Bus.Last(ctx, names.CallbackStream(shard), names.Callback(shard, key, start.TaskQueue, start.RequestID))
	if errors.Is(err, bus.ErrNone) {
		return Failed, false, nil
	}
	return Over, err == nil, err
}

// goesOn reports whether the workflow of a start is in progress, although its first run has ended: a retry policy may let others follow. The end
// is reported after the last one.
func (p *Pool) goesOn(ctx context.Context, key schedule.Key, start *wire.BufferedStart) (bool, error) {
	newest, err := p.workflows.Describe(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: key.Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: start.WorkflowID},
	})
	info := newest.GetWorkflowExecutionInfo()
	return info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING && info.GetFirstRunId() == start.RunID, err
}

func isNotFound(err error) bool {
	return err != nil && serviceerror.ToStatus(err).Code() == codes.NotFound
}

// renounceWorkflow makes sure that an execution that a report gives up does not go on, whoever starts it. If it has begun already, the report
// says so. If nobody can tell, the start is tried again.
func (s *session) renounceWorkflow(ctx context.Context, start *wire.BufferedStart, report *StartReport) {
	result, known, err := s.lookWorkflow(ctx, s.key, start)
	if err == nil && !known {
		err = s.fence(ctx, s.key, controlOf(start, schedule.ControlTerminate))
	}
	switch {
	case err != nil:
		report.Result, report.Reason = Unreachable, err.Error()
	case known:
		report.Result, report.Reason = result, ""
	case report.Result == Failed:
		report.Result, report.Reason = Refused, reasonStartFailed+report.Reason
	}
}

// fence arms a delayed request to terminate a run whose start is given up.
func (p *Pool) fence(ctx context.Context, key schedule.Key, c *wire.PendingControl) error {
	body, err := codec.Marshal(&wire.EndRun{
		Kind: schedule.ControlTerminate, RequestID: c.RequestID, WorkflowID: c.WorkflowID, RunID: c.RunID, TaskQueue: c.TaskQueue,
		ActionKind: c.ActionKind, GivenUp: true, Reason: "its start had been given up",
	})
	if err != nil {
		return err
	}
	names, shard := p.config.Names, p.config.Store.ShardOf(key)
	return task.ArmMessage(ctx, p.config.Bus, names.TimeoutTimer(shard, key, c.RequestID), names.InvokeGivenUp(shard, key, c.RequestID),
		p.config.Now().Add(fenceWait), nil, body)
}

// deliverToWorkflow asks an execution to end. If the execution is over, there is nothing left to ask. One that may still begin is fenced.
func (s *session) deliverToWorkflow(ctx context.Context, c *wire.PendingControl) error {
	err := s.tellWorkflow(ctx, s.key, c)
	if !isNotFound(err) {
		return err
	}
	start := s.record.Value.Start(c.RequestID)
	if c.Kind == schedule.ControlTerminate && (start == nil || !start.Running()) && !s.completed(c.RequestID) {
		return s.fence(ctx, s.key, c)
	}
	return nil
}

// mustWait reports whether a control is for an execution that has not begun, and that is to begin first.
func (s *session) mustWait(c *wire.PendingControl) bool {
	if !c.ActionKind.IsWorkflow() || c.Kind != schedule.ControlCancel {
		return false
	}
	start := s.record.Value.Start(c.RequestID)
	return start != nil && start.Phase == schedule.PhaseReady
}

// tellWorkflow sends a cancel or terminate. It names the first run of the execution, whatever run that has come to.
func (p *Pool) tellWorkflow(ctx context.Context, key schedule.Key, c *wire.PendingControl) error {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	execution := &commonpb.WorkflowExecution{WorkflowId: c.WorkflowID}
	reason := cmp.Or(c.Reason, "to make room for another start of the schedule")
	if c.Kind == schedule.ControlTerminate {
		return p.workflows.Terminate(ctx, &workflowservice.TerminateWorkflowExecutionRequest{
			Namespace: key.Namespace, WorkflowExecution: execution, FirstExecutionRunId: c.RunID, Reason: reason,
			Identity: workflows.Identity(key.ID),
		})
	}
	return p.workflows.RequestCancel(ctx, &workflowservice.RequestCancelWorkflowExecutionRequest{
		Namespace: key.Namespace, WorkflowExecution: execution, FirstExecutionRunId: c.RunID, Reason: reason,
		Identity: workflows.Identity(key.ID), RequestId: string(c.Kind) + "-" + c.RequestID,
	})
}

// endWorkflow ends an execution that no record knows any more, as decided, and reports whether it is over as a result.
func (p *Pool) endWorkflow(ctx context.Context, key schedule.Key, c *wire.PendingControl) (over bool, err error) {
	if c.Kind == "" {
		return false, nil
	}
	err = p.tellWorkflow(ctx, key, c)
	if isNotFound(err) {
		return false, nil
	}
	return err == nil && c.Kind == schedule.ControlTerminate, err
}

// noWorkflows stands for history in a process that is not connected with it.
type noWorkflows struct{}

var errNoWorkflows = serviceerror.NewUnavailable("this process starts no workflows")

func (noWorkflows) Start(context.Context, *workflowservice.StartWorkflowExecutionRequest, string, *wire.WorkflowCallback) error {
	return errNoWorkflows
}

func (noWorkflows) RequestCancel(context.Context, *workflowservice.RequestCancelWorkflowExecutionRequest) error {
	return errNoWorkflows
}

func (noWorkflows) Terminate(context.Context, *workflowservice.TerminateWorkflowExecutionRequest) error {
	return errNoWorkflows
}

func (noWorkflows) Describe(
	context.Context, *workflowservice.DescribeWorkflowExecutionRequest,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, errNoWorkflows
}

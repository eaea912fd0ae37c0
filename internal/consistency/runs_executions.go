package consistency

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/schedule"
)

// reportWait is how long the report of an execution that has ended may be on its way.
const reportWait = 10 * time.Minute

// Executions is whom to ask about executions of workflows: the pool history. A *workflows.Client implements it.
type Executions interface {
	// Describe describes a run. The error is serviceerror.NotFound if there is no such run.
	Describe(
		ctx context.Context, request *workflowservice.DescribeWorkflowExecutionRequest,
	) (*workflowservice.DescribeWorkflowExecutionResponse, error)
}

// split divides starts into runs on workers of Carillon's own protocol and executions of workflows.
func split(starts []*wire.BufferedStart) (runs, executions []*wire.BufferedStart) {
	for _, start := range starts {
		if start.ActionKind.IsWorkflow() {
			executions = append(executions, start)
		} else {
			runs = append(runs, start)
		}
	}
	return runs, executions
}

// missingExecutions returns the executions that are over without a report of that, or that never were, and marks the others as known.
//
// History stores a report after it has stored the end, and the invoker removes the report after it has recorded it. So missingExecutions asks
// history first, then looks for the report; whoever calls it reads the record again.
func (r *reader) missingExecutions(
	ctx context.Context, shard int, s *Snapshot, starts []*wire.BufferedStart,
) (missing []*wire.BufferedStart, err error) {
	known := make([]bool, len(starts))
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(maxQuestions)
	for i, start := range starts {
		group.Go(func() (err error) {
			known[i], err = r.hasExecution(asking, shard, s.Key, start)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, start := range starts {
		run := Run{Known: known[i]}
		if !known[i] {
			missing = append(missing, start)
			if run.Report, err = r.report(ctx, s.Key, start); err != nil {
				return nil, err
			}
		}
		s.Runs[start.RequestID] = run
	}
	return missing, nil
}

// report returns the message that tells a schedule how an execution has ended, if the journal says it; nil otherwise.
func (r *reader) report(ctx context.Context, key schedule.Key, start *wire.BufferedStart) (message *nats.Msg, err error) {
	if r.journals == nil {
		return nil, nil
	}
	of := schedule.Key{Namespace: key.Namespace, ID: start.WorkflowID}
	shard := r.store.ShardOf(of)
	last, err := r.journals.Last(ctx, shard, of)
	if err == nil {
		err = r.journals.Read(ctx, shard, of, 1, last.Sequence, func(e journal.Entry) (bool, error) {
			message = r.reportOf(of, e, start.RequestID)
			return message == nil, nil
		})
	}
	if errors.Is(err, journal.ErrNone) {
		return nil, nil
	}
	return message, err
}

// reportOf returns the report of the end of what a request has started that an entry makes due; nil if it makes none due, or cannot be read.
func (r *reader) reportOf(key schedule.Key, e journal.Entry, requestID string) *nats.Msg {
	entry, err := execution.ParseEntry(e.Data)
	if err != nil {
		return nil
	}
	for _, ending := range execution.Endings(entry) {
		var to wire.WorkflowCallback
		if codec.Unmarshal(ending.Callback, &to) != nil || to.RequestID != requestID {
			continue
		}
		if message, err := workflows.Report(r.names, r.store.Shards(), key.Namespace, ending.Callback, ending.RunID, ending.Event); err == nil {
			return message
		}
	}
	return nil
}

// lastRun describes the last run of the chain that a start began. Once another chain has begun under the workflow ID, that is the first run.
func (r *reader) lastRun(ctx context.Context, key schedule.Key, start *wire.BufferedStart) (*workflowpb.WorkflowExecutionInfo, error) {
	for _, runID := range []string{"", start.RunID} {
		answer, err := r.executions.Describe(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: key.Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: start.WorkflowID, RunId: runID},
		})
		if info := answer.GetWorkflowExecutionInfo(); err != nil || runID != "" || info.GetFirstRunId() == start.RunID {
			return info, err
		}
	}
	return nil, nil
}

// hasExecution reports whether an execution is in progress, or its end is reported or may be about to be. If history does not answer, that
// may be so.
func (r *reader) hasExecution(ctx context.Context, shard int, key schedule.Key, start *wire.BufferedStart) (bool, error) {
	if r.executions == nil {
		return true, nil
	}
	asking, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	info, err := r.lastRun(asking, key, start)
	if err != nil && serviceerror.ToStatus(err).Code() != codes.NotFound {
		return true, ctx.Err()
	}
	switch info.GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED: // there is none
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		return true, nil
	default:
		if r.now().Sub(info.GetCloseTime().AsTime()) < reportWait {
			return true, nil
		}
	}
	_, err = r.bus.Last(ctx, r.names.CallbackStream(shard), r.names.Callback(shard, key, start.TaskQueue, start.RequestID))
	if errors.Is(err, bus.ErrNone) {
		return false, nil
	}
	return err == nil, err
}

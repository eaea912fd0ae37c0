package cli

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/workflows"
)

// workflowReset holds the flags of "carillon workflow reset".
type workflowReset struct {
	binder
	gateway gatewayFlags
	run     runFlag
	event   int
	task    string
	without []enums.ResetReapplyExcludeType
	reason  string
}

// The workflow tasks that --task names.
const (
	firstTask = "first"
	lastTask  = "last"
)

// reapplied are what --reapply-exclude accepts.
var reapplied = map[string]enums.ResetReapplyExcludeType{
	"signal": enums.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL,
	"update": enums.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE,
}

func parseReapplied(text string) (enums.ResetReapplyExcludeType, error) {
	kind, known := reapplied[text]
	if !known {
		return kind, fmt.Errorf("%q is not possible: use signal, update", text)
	}
	return kind, nil
}

func (a *app) workflowResetCommand() *cobra.Command {
	var reset workflowReset
	cmd := &cobra.Command{
		Use:   "reset ID [flags]",
		Short: "Let a workflow go on from an earlier point",
		Long: `Lets a workflow go on from an earlier point of its history, in a new run. Its code
decides anew from there. If the workflow is running, the run in progress is ended.
Signals and updates that came after that point come again.`,
		Example: `  carillon workflow reset order-17 --task last --reason "a bug is mended"
  carillon workflow reset order-17 --event 14 --reapply-exclude signal`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.resetWorkflow(cmd.Context(), &reset, args[0])
		},
	}
	addFlags(cmd, "Reset", func(flags *pflag.FlagSet) {
		reset.flags = flags
		oneOf(&reset.binder, "task", "go back to the `TASK` of the code:", &reset.task, firstTask, lastTask)
		reset.int("event", "go back to the event `N` of the history: one that completed, failed or timed out a workflow task", &reset.event)
		repeated(&reset.binder, "reapply-exclude", "`KIND` of events that do not come again: signal or update; repeatable", &reset.without, parseReapplied)
	})
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		flags.StringVar(&reset.reason, "reason", "", "`TEXT` for the history that says why")
	})
	reset.run.define(cmd)
	reset.gateway.define(cmd)
	return cmd
}

func (a *app) resetWorkflow(ctx context.Context, reset *workflowReset, id string) error {
	request, err := reset.request(a.global.namespace, id, a.identity())
	if err != nil {
		return err
	}
	return a.callGateway(ctx, reset.gateway, func(ctx context.Context, api workflowservice.WorkflowServiceClient) (err error) {
		if reset.task != "" {
			if request.WorkflowTaskFinishEventId, err = reset.point(ctx, api, request); err != nil {
				return err
			}
		}
		response, err := api.ResetWorkflowExecution(ctx, request)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.env.Stdout, "reset %s to event %d, run %s\n", id, request.WorkflowTaskFinishEventId, response.RunId)
		return err
	})
}

// request returns the request that the flags describe; without its event if they name a task.
func (r *workflowReset) request(namespace, id, identity string) (*workflowservice.ResetWorkflowExecutionRequest, error) {
	if err := r.apply(); err != nil {
		return nil, err
	}
	if (r.task == "") == (r.event == 0) {
		return nil, usagef("one of --task and --event is needed")
	}
	return &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: namespace, WorkflowExecution: r.run.of(id), Reason: r.reason, RequestId: uuid.NewString(), Identity: identity,
		WorkflowTaskFinishEventId: int64(r.event), ResetReapplyExcludeTypes: r.without,
	}, nil
}

// point returns the event that stands for the task.
func (r *workflowReset) point(
	ctx context.Context, api workflowservice.WorkflowServiceClient, of *workflowservice.ResetWorkflowExecutionRequest,
) (int64, error) {
	if r.task == firstTask {
		return workflows.FirstTask(ctx, of.Namespace, of.WorkflowExecution, func(
			ctx context.Context, request *workflowservice.GetWorkflowExecutionHistoryRequest,
		) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
			return api.GetWorkflowExecutionHistory(ctx, request)
		})
	}
	return workflows.LastTask(ctx, of.Namespace, of.WorkflowExecution, func(
		ctx context.Context, request *workflowservice.GetWorkflowExecutionHistoryReverseRequest,
	) (*workflowservice.GetWorkflowExecutionHistoryReverseResponse, error) {
		return api.GetWorkflowExecutionHistoryReverse(ctx, request)
	})
}

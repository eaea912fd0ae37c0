package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/schedule"
)

// workflowStart holds the flags of "carillon workflow start".
type workflowStart struct {
	binder
	output  outputFlag
	gateway gatewayFlags

	kind, queue          string
	arguments            json.RawMessage
	memo                 map[string]json.RawMessage
	reuse, conflict      string
	execution, run, late schedule.Duration
	wait                 bool
}

// The policies by the words of their flags.
var (
	reusePolicies = map[string]enums.WorkflowIdReusePolicy{
		"allow-duplicate": enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, "reject-duplicate": enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		"allow-duplicate-failed-only": enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
	}
	conflictPolicies = map[string]enums.WorkflowIdConflictPolicy{
		"fail": enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL, "use-existing": enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		"terminate-existing": enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
	}
)

func (s *workflowStart) define(cmd *cobra.Command, env Env) {
	addFlags(cmd, "Workflow", func(flags *pflag.FlagSet) {
		s.flags = flags
		s.string("type", "`TYPE` of the workflow, as its workers have registered it; required", &s.kind)
		s.string("task-queue", "`QUEUE` where workers wait; \""+defaultTaskQueue+"\" if not given", &s.queue)
		s.binder.input(env, &s.arguments, "list of the arguments")
		pairs(&s.binder, "memo", "`NAME=JSON` to keep with the workflow; repeatable", &s.memo, parseJSON)
		s.duration("execution-timeout", "`TIME` for the workflow with all its runs; no limit if not given", &s.execution)
		s.duration("run-timeout", "`TIME` for one run", &s.run)
		s.duration("start-delay", "`TIME` until its first task", &s.late)
		oneOf(&s.binder, "id-reuse-policy", "when a closed workflow has the ID, `POLICY`", &s.reuse,
			"allow-duplicate", "allow-duplicate-failed-only", "reject-duplicate")
		oneOf(&s.binder, "id-conflict-policy", "when a running workflow has the ID, `POLICY`", &s.conflict,
			"fail", "use-existing", "terminate-existing")
		s.bool("wait", "wait until the workflow has ended, and print its result", &s.wait)
	})
}

// request returns the request that the flags describe.
func (s *workflowStart) request(namespace, id, identity string) (*workflowservice.StartWorkflowExecutionRequest, error) {
	if err := s.apply(); err != nil {
		return nil, err
	}
	if s.kind == "" {
		return nil, usagef("--type is missing")
	}
	input, err := payloadsOf(s.arguments)
	if err != nil {
		return nil, err
	}
	fields, problem := workflows.Fields(s.memo)
	if problem != nil {
		return nil, usagef("--memo: %s %s", problem.Path, problem.Message)
	}
	return &workflowservice.StartWorkflowExecutionRequest{
		Namespace: namespace, WorkflowId: id, RequestId: uuid.NewString(), Identity: identity,
		WorkflowType: &common.WorkflowType{Name: s.kind}, TaskQueue: &taskqueue.TaskQueue{Name: cmp.Or(s.queue, defaultTaskQueue)},
		Input: input, Memo: &common.Memo{Fields: fields},
		WorkflowIdReusePolicy: reusePolicies[s.reuse], WorkflowIdConflictPolicy: conflictPolicies[s.conflict],
		WorkflowExecutionTimeout: workflows.Duration(s.execution), WorkflowRunTimeout: workflows.Duration(s.run), WorkflowStartDelay: workflows.Duration(s.late),
	}, nil
}

func (a *app) workflowStartCommand() *cobra.Command {
	var start workflowStart
	cmd := &cobra.Command{
		Use:   "start [ID] [flags]",
		Short: "Start a workflow",
		Long: `Starts a workflow. Without an ID it gets a random one. A workflow starts even if no
worker is there: its first task waits for one.`,
		Example: `  carillon workflow start order-17 --type Order --task-queue orders --input '[{"item": 3}]'
  carillon workflow start --type Hello --task-queue greetings --input '["world"]' --wait`,
		Args: atMostOne("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runWorkflowStart(cmd.Context(), &start, optional(args))
		},
	}
	start.define(cmd, a.env)
	start.gateway.define(cmd)
	start.output.define(cmd)
	return cmd
}

func (a *app) runWorkflowStart(ctx context.Context, start *workflowStart, id string) error {
	if id == "" {
		id = uuid.NewString()
	}
	request, err := start.request(a.global.namespace, id, a.identity())
	if err != nil {
		return err
	}
	return a.callGateway(ctx, start.gateway, func(ctx context.Context, api workflowservice.WorkflowServiceClient) error {
		return a.startWorkflow(ctx, api, request, start.wait, start.output)
	})
}

func (a *app) startWorkflow(
	ctx context.Context, api workflowservice.WorkflowServiceClient, request *workflowservice.StartWorkflowExecutionRequest,
	wait bool, output outputFlag,
) error {
	reply, err := api.StartWorkflowExecution(ctx, request)
	if err != nil {
		return err
	}
	execution := &common.WorkflowExecution{WorkflowId: request.WorkflowId, RunId: reply.RunId}
	if wait {
		return a.printResult(ctx, api, execution, output)
	}
	return a.print(output, answer[*common.WorkflowExecution]{execution}, func(w io.Writer) error {
		verb := "started"
		if !reply.Started {
			verb = "is running already:"
		}
		_, err := fmt.Fprintf(w, "%s %s, run %s\n", verb, execution.WorkflowId, execution.RunId)
		return err
	})
}

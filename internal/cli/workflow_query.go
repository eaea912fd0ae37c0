package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/api/common/v1"
	querypb "go.temporal.io/api/query/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/schedule"
)

// stackQuery is the query for the stacks of a workflow, which every SDK answers.
const stackQuery = "__stack_trace"

// workflowQuery holds the flags of "carillon workflow query".
type workflowQuery struct {
	binder
	gateway   gatewayFlags
	output    outputFlag
	run       runFlag
	name      string
	arguments json.RawMessage
}

func (a *app) workflowQueryCommand() *cobra.Command {
	var query workflowQuery
	cmd := &cobra.Command{
		Use:   "query ID [flags]",
		Short: "Ask the code of a workflow a question",
		Long: `Asks the code of a workflow a question, and prints the answer. A worker of the
workflow must run, also if the workflow has ended. SDKs answer "__stack_trace"
and "__temporal_workflow_metadata", which names the questions that the code answers.`,
		Example: `  carillon workflow query order-17 --name progress
  carillon workflow query order-17 --name __temporal_workflow_metadata`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.queryWorkflow(cmd.Context(), &query, args[0])
		},
	}
	addFlags(cmd, "Query", func(flags *pflag.FlagSet) {
		query.flags = flags
		query.string("name", "`NAME` of the query; required", &query.name)
		query.input(a.env, &query.arguments, "list of the arguments")
	})
	query.run.define(cmd)
	query.gateway.define(cmd)
	query.output.define(cmd)
	return cmd
}

func (a *app) queryWorkflow(ctx context.Context, query *workflowQuery, id string) error {
	if err := query.apply(); err != nil {
		return err
	}
	if query.name == "" {
		return usagef("--name is missing")
	}
	input, err := payloadsOf(query.arguments)
	if err != nil {
		return err
	}
	return a.callGateway(ctx, query.gateway, func(ctx context.Context, api workflowservice.WorkflowServiceClient) error {
		result, err := a.askWorker(ctx, api, query.run.of(id), &querypb.WorkflowQuery{QueryType: query.name, QueryArgs: input})
		if err != nil {
			return err
		}
		return a.printPayloads(query.output, result)
	})
}

// askWorker asks a worker, and returns its answer.
func (a *app) askWorker(
	ctx context.Context, api workflowservice.WorkflowServiceClient, execution *common.WorkflowExecution, query *querypb.WorkflowQuery,
) (*common.Payloads, error) {
	reply, err := api.QueryWorkflow(ctx, &workflowservice.QueryWorkflowRequest{
		Namespace: a.global.namespace, Execution: execution, Query: query,
	})
	if status.Code(err) == codes.DeadlineExceeded {
		return nil, withHint(schedule.Errorf(schedule.CodeUnavailable, "no worker has answered the query within %v", gatewayPatience),
			"carillon workflow describe %s names the task queue that a worker must serve", execution.WorkflowId)
	}
	return reply.GetQueryResult(), err
}

// printPayloads prints payloads: for people one a line.
func (a *app) printPayloads(output outputFlag, payloads *common.Payloads) error {
	results := answers(payloads.GetPayloads())
	return a.print(output, results, func(w io.Writer) error {
		for _, result := range results {
			text, err := result.MarshalJSON()
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%s\n", render.PrintableJSON(text)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *app) workflowStackCommand() *cobra.Command {
	return a.workflowLookCommand(&cobra.Command{
		Use:   "stack ID [flags]",
		Short: "Show where the code of a workflow waits",
		Long: `Shows the stacks of the coroutines of a workflow: the lines of its code where it
waits. A worker of the workflow must run.`,
		Example: `  carillon workflow stack order-17`,
	}, a.showStack)
}

func (a *app) showStack(
	ctx context.Context, api workflowservice.WorkflowServiceClient, execution *common.WorkflowExecution, output outputFlag,
) error {
	result, err := a.askWorker(ctx, api, execution, &querypb.WorkflowQuery{QueryType: stackQuery})
	if err != nil {
		return err
	}
	return a.print(output, answers(result.GetPayloads()), func(w io.Writer) error {
		for _, payload := range result.GetPayloads() {
			if err := printStack(w, payload); err != nil {
				return err
			}
		}
		return nil
	})
}

// printStack prints the answer of a worker with its lines, of which a hostile one could make anything.
func printStack(w io.Writer, payload *common.Payload) error {
	var text string
	value, err := workflows.Text(payload)
	if err != nil || json.Unmarshal(value, &text) != nil {
		return fmt.Errorf("the answer of the worker is no text: use -o json")
	}
	for line := range strings.Lines(text) {
		if _, err := fmt.Fprintln(w, render.Printable(strings.TrimRight(line, "\n"))); err != nil {
			return err
		}
	}
	return nil
}

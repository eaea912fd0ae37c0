package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/api/workflowservice/v1"
)

// workflowSignal holds the flags of "carillon workflow signal".
type workflowSignal struct {
	binder
	gateway   gatewayFlags
	run       runFlag
	name      string
	arguments json.RawMessage
}

func (a *app) workflowSignalCommand() *cobra.Command {
	var signal workflowSignal
	cmd := &cobra.Command{
		Use:     "signal ID [flags]",
		Short:   "Send a signal to a running workflow",
		Example: `  carillon workflow signal order-17 --name approve --input '[{"by": "ann"}]'`,
		Args:    exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.signalWorkflow(cmd.Context(), &signal, args[0])
		},
	}
	addFlags(cmd, "Signal", func(flags *pflag.FlagSet) {
		signal.flags = flags
		signal.string("name", "`NAME` of the signal; required", &signal.name)
		signal.input(a.env, &signal.arguments, "list of the arguments")
	})
	signal.run.define(cmd)
	signal.gateway.define(cmd)
	return cmd
}

func (a *app) signalWorkflow(ctx context.Context, signal *workflowSignal, id string) error {
	if err := signal.apply(); err != nil {
		return err
	}
	if signal.name == "" {
		return usagef("--name is missing")
	}
	input, err := payloadsOf(signal.arguments)
	if err != nil {
		return err
	}
	request := &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: a.global.namespace, WorkflowExecution: signal.run.of(id), SignalName: signal.name, Input: input,
		Identity: a.identity(), RequestId: uuid.NewString(),
	}
	return a.changeWorkflow(ctx, signal.gateway, "signaled "+id, func(ctx context.Context, api workflowservice.WorkflowServiceClient) error {
		_, err := api.SignalWorkflowExecution(ctx, request)
		return err
	})
}

func (a *app) workflowCancelCommand() *cobra.Command {
	return a.workflowEndCommand("cancel", "Ask a running workflow to stop",
		`Asks the code of a running workflow to stop. The workflow ends when its code does,
with whatever result.`, "asked to cancel",
		func(ctx context.Context, api workflowservice.WorkflowServiceClient, e workflowEnd) error {
			_, err := api.RequestCancelWorkflowExecution(ctx, &workflowservice.RequestCancelWorkflowExecutionRequest{
				Namespace: e.namespace, WorkflowExecution: e.run.of(e.id), Reason: e.reason, Identity: e.identity, RequestId: uuid.NewString(),
			})
			return err
		})
}

func (a *app) workflowTerminateCommand() *cobra.Command {
	return a.workflowEndCommand("terminate", "End a running workflow at once",
		`Ends a running workflow at once. Its code is not asked, and learns of it only when
it next talks to the gateway.`, "terminated",
		func(ctx context.Context, api workflowservice.WorkflowServiceClient, e workflowEnd) error {
			_, err := api.TerminateWorkflowExecution(ctx, &workflowservice.TerminateWorkflowExecutionRequest{
				Namespace: e.namespace, WorkflowExecution: e.run.of(e.id), Reason: e.reason, Identity: e.identity,
			})
			return err
		})
}

// workflowEnd says which workflow is to end, and why.
type workflowEnd struct {
	namespace, id, reason, identity string
	run                             runFlag
}

func (a *app) workflowEndCommand(
	verb, short, long, done string, end func(context.Context, workflowservice.WorkflowServiceClient, workflowEnd) error,
) *cobra.Command {
	var gateway gatewayFlags
	var run runFlag
	var reason string
	cmd := &cobra.Command{
		Use: verb + " ID [flags]", Short: short, Long: long,
		Example: fmt.Sprintf("  carillon workflow %s order-17 --reason \"the customer has changed their mind\"", verb),
		Args:    exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e := workflowEnd{a.global.namespace, args[0], reason, a.identity(), run}
			return a.changeWorkflow(cmd.Context(), gateway, done+" "+args[0], func(ctx context.Context, api workflowservice.WorkflowServiceClient) error {
				return end(ctx, api, e)
			})
		},
	}
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		flags.StringVar(&reason, "reason", "", "`TEXT` for the history that says why")
	})
	run.define(cmd)
	gateway.define(cmd)
	return cmd
}

// changeWorkflow makes a call to the gateway and says that it is done.
func (a *app) changeWorkflow(
	ctx context.Context, gateway gatewayFlags, done string, call func(context.Context, workflowservice.WorkflowServiceClient) error,
) error {
	return a.callGateway(ctx, gateway, func(ctx context.Context, api workflowservice.WorkflowServiceClient) error {
		if err := call(ctx, api); err != nil {
			return err
		}
		_, err := fmt.Fprintln(a.env.Stdout, done)
		return err
	})
}

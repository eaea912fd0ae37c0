package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
)

const (
	// defaultWorkflows is how many workflows a list shows unless --limit says otherwise.
	defaultWorkflows = 20
	maxWorkflows     = 100_000
	// workflowPage is how many of them one request asks for at most.
	workflowPage = 1000
)

func (a *app) workflowListCommand() *cobra.Command {
	var list workflowList
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List workflows, the newest first",
		Example: `  carillon workflow list --query "WorkflowType = 'Order' AND ExecutionStatus = 'Running'"
  carillon workflow list -o json | jq -r '.[].execution.workflowId'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return list.run(cmd.Context(), a) },
	}
	list.define(cmd)
	return cmd
}

// workflowList holds the flags of "carillon workflow list".
type workflowList struct {
	output  outputFlag
	gateway gatewayFlags
	query   string
	limit   int
}

func (l *workflowList) define(cmd *cobra.Command) {
	addFlags(cmd, "Filter", func(flags *pflag.FlagSet) {
		flags.StringVar(&l.query, "query", "", "those that match `QUERY`, in Temporal's language: docs/search.md has it")
		flags.IntVar(&l.limit, "limit", defaultWorkflows, "the newest `N` only")
	})
	l.gateway.define(cmd)
	l.output.defineList(cmd)
}

func (l *workflowList) run(ctx context.Context, a *app) error {
	if l.limit < 1 || l.limit > maxWorkflows {
		return usagef("--limit: %d is out of range: use 1 to %d", l.limit, maxWorkflows)
	}
	return a.callGateway(ctx, l.gateway, func(ctx context.Context, api workflowservice.WorkflowServiceClient) error {
		all, err := a.listWorkflows(ctx, api, l.query, l.limit)
		if err != nil {
			return err
		}
		id := func(one *answer[*workflow.WorkflowExecutionInfo]) string {
			return one.of.GetExecution().GetWorkflowId()
		}
		return printList(a, l.output, answers(all), id, func(w io.Writer) error { return render.Workflows(w, all, a.view()) })
	})
}

// listWorkflows reads pages until it has as many workflows as wanted.
func (a *app) listWorkflows(
	ctx context.Context, api workflowservice.WorkflowServiceClient, query string, limit int,
) (all []*workflow.WorkflowExecutionInfo, err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{Namespace: a.global.namespace, Query: query}
	for len(all) < limit {
		request.PageSize = int32(min(limit-len(all), workflowPage))
		page, err := api.ListWorkflowExecutions(ctx, request)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Executions...)
		if request.NextPageToken = page.NextPageToken; len(request.NextPageToken) == 0 {
			break
		}
	}
	return all, nil
}

// look shows something of one run. It may wait.
type look func(context.Context, workflowservice.WorkflowServiceClient, *common.WorkflowExecution, outputFlag) error

// workflowLookCommand completes a command that shows something of one workflow.
func (a *app) workflowLookCommand(cmd *cobra.Command, look look) *cobra.Command {
	var output outputFlag
	var gateway gatewayFlags
	var run runFlag
	cmd.Args = exactly("ID")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.callGateway(cmd.Context(), gateway, func(ctx context.Context, api workflowservice.WorkflowServiceClient) error {
			return look(ctx, api, run.of(args[0]), output)
		})
	}
	run.define(cmd)
	gateway.define(cmd)
	output.define(cmd)
	return cmd
}

func (a *app) workflowDescribeCommand() *cobra.Command {
	return a.workflowLookCommand(&cobra.Command{
		Use:     "describe ID [flags]",
		Short:   "Show the state of a workflow, and the activities that it waits for",
		Example: `  carillon workflow describe order-17`,
	}, a.describeWorkflow)
}

func (a *app) describeWorkflow(
	ctx context.Context, api workflowservice.WorkflowServiceClient, execution *common.WorkflowExecution, output outputFlag,
) error {
	reply, err := api.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: a.global.namespace, Execution: execution,
	})
	if err != nil {
		return err
	}
	shown := answer[*workflowservice.DescribeWorkflowExecutionResponse]{reply}
	return a.print(output, shown, func(w io.Writer) error { return render.Workflow(w, reply, a.view()) })
}

func (a *app) workflowResultCommand() *cobra.Command {
	return a.workflowLookCommand(&cobra.Command{
		Use:   "result ID [flags]",
		Short: "Wait until a workflow has ended, and print its result",
		Long: `Waits until a workflow has ended, and prints its result. A workflow that ends in another
way than to complete is an error. If it goes on in a new run, the end of that counts.`,
		Example: `  carillon workflow result order-17
  carillon workflow result order-17 -o json | jq '.[0]'`,
	}, a.printResult)
}

func (a *app) workflowShowCommand() *cobra.Command {
	return a.workflowLookCommand(&cobra.Command{
		Use:   "show ID [flags]",
		Short: "Show the history of a workflow",
		Example: `  carillon workflow show order-17
  carillon workflow show order-17 -o jsonl | jq -r .eventType`,
	}, a.showHistory)
}

func (a *app) showHistory(
	ctx context.Context, api workflowservice.WorkflowServiceClient, execution *common.WorkflowExecution, output outputFlag,
) error {
	events, err := readHistory(ctx, api, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: a.global.namespace, Execution: execution,
	})
	if err != nil {
		return err
	}
	return a.print(output, answers(events), func(w io.Writer) error { return render.History(w, eventRows(events), a.view()) })
}

// readHistory reads all pages of a history.
func readHistory(
	ctx context.Context, api workflowservice.WorkflowServiceClient, request *workflowservice.GetWorkflowExecutionHistoryRequest,
) (events []*history.HistoryEvent, err error) {
	for {
		page, err := api.GetWorkflowExecutionHistory(ctx, request)
		if err != nil {
			return nil, err
		}
		events = append(events, page.GetHistory().GetEvents()...)
		if request.NextPageToken = page.NextPageToken; len(request.NextPageToken) == 0 {
			return events, nil
		}
	}
}

// eventRows returns what the table of a history says of each event.
func eventRows(events []*history.HistoryEvent) []render.HistoryRow {
	rows := make([]render.HistoryRow, len(events))
	for i, event := range events {
		rows[i] = render.HistoryRow{ID: event.EventId, Time: event.GetEventTime().AsTime(), Event: eventName(event), Detail: eventDetail(event)}
	}
	return rows
}

func eventName(event *history.HistoryEvent) string { return event.EventType.String() }

// eventDetail is what a person wants to know of an event beside its name.
func eventDetail(event *history.HistoryEvent) string {
	switch attributes := event.Attributes.(type) {
	case *history.HistoryEvent_WorkflowExecutionStartedEventAttributes:
		return attributes.WorkflowExecutionStartedEventAttributes.GetWorkflowType().GetName()
	case *history.HistoryEvent_WorkflowTaskFailedEventAttributes:
		return failureMessages(attributes.WorkflowTaskFailedEventAttributes.Failure)
	case *history.HistoryEvent_ActivityTaskScheduledEventAttributes:
		return attributes.ActivityTaskScheduledEventAttributes.GetActivityType().GetName()
	case *history.HistoryEvent_ActivityTaskFailedEventAttributes:
		return failureMessages(attributes.ActivityTaskFailedEventAttributes.Failure)
	case *history.HistoryEvent_TimerStartedEventAttributes:
		return attributes.TimerStartedEventAttributes.GetStartToFireTimeout().AsDuration().String()
	case *history.HistoryEvent_WorkflowExecutionSignaledEventAttributes:
		return attributes.WorkflowExecutionSignaledEventAttributes.SignalName
	case *history.HistoryEvent_WorkflowExecutionFailedEventAttributes:
		return failureMessages(attributes.WorkflowExecutionFailedEventAttributes.Failure)
	case *history.HistoryEvent_WorkflowExecutionTerminatedEventAttributes:
		return attributes.WorkflowExecutionTerminatedEventAttributes.Reason
	}
	return ""
}

// failureMessages is the chain of the messages of a failure.
func failureMessages(f *failure.Failure) string {
	var all []string
	for ; f != nil; f = f.Cause {
		if f.Message != "" {
			all = append(all, f.Message)
		}
	}
	return strings.Join(all, ": ")
}

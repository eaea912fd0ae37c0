package workflows

import (
	"context"
	"errors"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// ErrTooLarge says that a start does not fit into a message of NATS. Nothing has been sent.
var ErrTooLarge = errors.New("workflows: the start is larger than a NATS message may be")

// overhead is how much larger the entry of a start is, at most, than its request, with the headers of the message.
const overhead = 8 << 10

// Client asks the pool history about executions. Its errors are those of package call, and [ErrTooLarge]. It may be used by any number of
// goroutines.
type Client struct {
	owners owners.Router
	names  subjects.Names
	shards int
}

// NewClient returns a client for an installation. The router says which process of the pool is asked.
func NewClient(router owners.Router, names subjects.Names, shards int) *Client {
	return &Client{owners: router, names: names, shards: shards}
}

// Start starts an execution, unless the workflow ID has a run in progress. A repeat of a start finds the run that it began. runID is the ID
// of the run, and callback says to whom its end is reported.
func (c *Client) Start(
	ctx context.Context, request *workflowservice.StartWorkflowExecutionRequest, runID string, callback *wire.WorkflowCallback,
) error {
	key := schedule.Key{Namespace: request.GetNamespace(), ID: request.GetWorkflowId()}
	body, err := encodeStart(request, runID, callback)
	if err != nil {
		return err
	}
	if int64(len(body)) > c.owners.For(key).MaxPayload()-overhead {
		return ErrTooLarge
	}
	return call.AskBytes(ctx, c.owners.For(key), c.subject(key, subjects.VerbStartScheduled), body, nil)
}

func encodeStart(
	request *workflowservice.StartWorkflowExecutionRequest, runID string, callback *wire.WorkflowCallback,
) ([]byte, error) {
	data, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	to, err := codec.Marshal(callback)
	if err != nil {
		return nil, err
	}
	return codec.Marshal(&wire.StartWorkflow{Request: data, RunID: runID, Callback: to})
}

// RequestCancel asks an execution to end. The error is NotFound if it is not in progress.
func (c *Client) RequestCancel(ctx context.Context, request *workflowservice.RequestCancelWorkflowExecutionRequest) error {
	return c.change(ctx, subjects.VerbRequestCancel, request)
}

// Signal signals an execution. The error is NotFound if it is not in progress.
func (c *Client) Signal(ctx context.Context, request *workflowservice.SignalWorkflowExecutionRequest) error {
	return c.change(ctx, subjects.VerbSignal, request)
}

// Terminate ends an execution. The error is NotFound if it is not in progress.
func (c *Client) Terminate(ctx context.Context, request *workflowservice.TerminateWorkflowExecutionRequest) error {
	return c.change(ctx, subjects.VerbTerminate, request)
}

// Delete removes a run, and ends it first if it is in progress. The error is NotFound if there is no such run.
func (c *Client) Delete(ctx context.Context, request *workflowservice.DeleteWorkflowExecutionRequest) error {
	return c.change(ctx, subjects.VerbDelete, request)
}

// Reset lets an execution go on from an earlier point, in a new run. A repeat of the request finds that run. The error is InvalidArgument if no run
// can go on from the event that the request names.
func (c *Client) Reset(ctx context.Context, request *workflowservice.ResetWorkflowExecutionRequest) error {
	return c.change(ctx, subjects.VerbReset, request)
}

// change sends a request that changes an execution.
func (c *Client) change(ctx context.Context, verb string, request interface {
	proto.Message
	GetNamespace() string
	GetWorkflowExecution() *common.WorkflowExecution
}) error {
	key := schedule.Key{Namespace: request.GetNamespace(), ID: request.GetWorkflowExecution().GetWorkflowId()}
	return call.Ask(ctx, c.owners.For(key), c.subject(key, verb), request, nil)
}

// UnpauseActivity lets paused activities of a run go on. The error is NotFound if the run has ended, or has no such pending activity.
func (c *Client) UnpauseActivity(ctx context.Context, request *workflowservice.UnpauseActivityRequest) error {
	_, err := ask(ctx, c, subjects.VerbUnpauseActivity, request, &workflowservice.UnpauseActivityResponse{})
	return err
}

// ResetActivity lets activities of a run begin again. The error is NotFound if the run has ended, or has no such pending activity.
func (c *Client) ResetActivity(ctx context.Context, request *workflowservice.ResetActivityRequest) error {
	_, err := ask(ctx, c, subjects.VerbResetActivity, request, &workflowservice.ResetActivityResponse{})
	return err
}

// UpdateActivityOptions changes options of activities of a run. The error is NotFound if the run has ended, or has no such pending activity, and
// InvalidArgument if the options are none that an activity can have.
func (c *Client) UpdateActivityOptions(ctx context.Context, request *workflowservice.UpdateActivityOptionsRequest) error {
	_, err := ask(ctx, c, subjects.VerbUpdateActivityOptions, request, &workflowservice.UpdateActivityOptionsResponse{})
	return err
}

// Describe describes a run, in progress or ended. The error is NotFound if there is no such run.
func (c *Client) Describe(
	ctx context.Context, request *workflowservice.DescribeWorkflowExecutionRequest,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return ask(ctx, c, subjects.VerbDescribe, request, &workflowservice.DescribeWorkflowExecutionResponse{})
}

// History returns a page of the events of a run. The error is NotFound if there is no such run.
func (c *Client) History(
	ctx context.Context, request *workflowservice.GetWorkflowExecutionHistoryRequest,
) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	return ask(ctx, c, subjects.VerbHistory, request, &workflowservice.GetWorkflowExecutionHistoryResponse{})
}

// HistoryReverse returns a page of the events of a run, the last one first. The error is NotFound if there is no such run.
func (c *Client) HistoryReverse(
	ctx context.Context, request *workflowservice.GetWorkflowExecutionHistoryReverseRequest,
) (*workflowservice.GetWorkflowExecutionHistoryReverseResponse, error) {
	return ask(ctx, c, subjects.VerbHistoryReverse, request, &workflowservice.GetWorkflowExecutionHistoryReverseResponse{})
}

// ask sends a request about a run, and returns its response; nil with an error.
func ask[Response proto.Message](ctx context.Context, c *Client, verb string, request interface {
	proto.Message
	GetNamespace() string
	GetExecution() *common.WorkflowExecution
}, response Response) (none Response, err error) {
	key := schedule.Key{Namespace: request.GetNamespace(), ID: request.GetExecution().GetWorkflowId()}
	if err := call.Ask(ctx, c.owners.For(key), c.subject(key, verb), request, response); err != nil {
		return none, err
	}
	return response, nil
}

func (c *Client) subject(key schedule.Key, verb string) string {
	return c.names.Execution(subjects.ShardOf(key, c.shards), key.Namespace, verb)
}

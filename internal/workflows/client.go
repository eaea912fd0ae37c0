package workflows

import (
	"context"
	"errors"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/codec"
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
	conn   call.Requester
	names  subjects.Names
	shards int
}

// NewClient returns a client for an installation.
func NewClient(conn call.Requester, names subjects.Names, shards int) *Client {
	return &Client{conn: conn, names: names, shards: shards}
}

// Start starts an execution, unless the workflow ID has a run in progress. A repeat of a start finds the run that it began. runID is the ID
// of the run, and callback says to whom its end is reported.
func (c *Client) Start(
	ctx context.Context, request *workflowservice.StartWorkflowExecutionRequest, runID string, callback *wire.WorkflowCallback,
) error {
	body, err := encodeStart(request, runID, callback)
	if err != nil {
		return err
	}
	if int64(len(body)) > c.conn.MaxPayload()-overhead {
		return ErrTooLarge
	}
	subject := c.subject(request.GetNamespace(), request.GetWorkflowId(), subjects.VerbStartScheduled)
	return call.AskBytes(ctx, c.conn, subject, body, nil)
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
	subject := c.subject(request.GetNamespace(), request.GetWorkflowExecution().GetWorkflowId(), subjects.VerbRequestCancel)
	return call.Ask(ctx, c.conn, subject, request, nil)
}

// Terminate ends an execution. The error is NotFound if it is not in progress.
func (c *Client) Terminate(ctx context.Context, request *workflowservice.TerminateWorkflowExecutionRequest) error {
	subject := c.subject(request.GetNamespace(), request.GetWorkflowExecution().GetWorkflowId(), subjects.VerbTerminate)
	return call.Ask(ctx, c.conn, subject, request, nil)
}

// Describe describes a run, in progress or ended. The error is NotFound if there is no such run.
func (c *Client) Describe(
	ctx context.Context, request *workflowservice.DescribeWorkflowExecutionRequest,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	var response workflowservice.DescribeWorkflowExecutionResponse
	subject := c.subject(request.GetNamespace(), request.GetExecution().GetWorkflowId(), subjects.VerbDescribe)
	if err := call.Ask(ctx, c.conn, subject, request, &response); err != nil {
		return nil, err
	}
	return &response, nil
}

func (c *Client) subject(namespace, workflowID, verb string) string {
	return c.names.Execution(subjects.ShardOf(schedule.Key{Namespace: namespace, ID: workflowID}, c.shards), namespace, verb)
}

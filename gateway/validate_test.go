package gateway_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/gateway"
)

// TestRequestsAreBounded: what is as large as it may be is passed on, and one byte more is refused.
func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.owners(func(request) (proto.Message, error) {
		return &workflowservice.UpdateWorkflowExecutionResponse{Stage: 3}, nil
	})
	text := func(size int) string { return strings.Repeat("x", size) }
	w := &common.WorkflowExecution{WorkflowId: "w"}
	start := func(change func(*workflowservice.StartWorkflowExecutionRequest)) error {
		r := &workflowservice.StartWorkflowExecutionRequest{
			Namespace: "default", WorkflowId: "w", WorkflowType: &common.WorkflowType{Name: "t"}, TaskQueue: &taskqueue.TaskQueue{Name: "q"},
		}
		change(r)
		_, err := in.StartWorkflowExecution(t.Context(), r)
		return err
	}
	signal := func(change func(*workflowservice.SignalWorkflowExecutionRequest)) error {
		r := &workflowservice.SignalWorkflowExecutionRequest{Namespace: "default", WorkflowExecution: w, SignalName: "s"}
		change(r)
		_, err := in.SignalWorkflowExecution(t.Context(), r)
		return err
	}
	for what, test := range map[string]struct {
		most int
		ask  func(size int) error
	}{
		"workflow ID": {gateway.MaxText, func(n int) error {
			return start(func(r *workflowservice.StartWorkflowExecutionRequest) { r.WorkflowId = text(n) })
		}},
		"workflow type": {gateway.MaxText, func(n int) error {
			return start(func(r *workflowservice.StartWorkflowExecutionRequest) { r.WorkflowType.Name = text(n) })
		}},
		"task queue": {gateway.MaxText, func(n int) error {
			return start(func(r *workflowservice.StartWorkflowExecutionRequest) { r.TaskQueue.Name = text(n) })
		}},
		"request ID": {gateway.MaxText, func(n int) error {
			return start(func(r *workflowservice.StartWorkflowExecutionRequest) { r.RequestId = text(n) })
		}},
		"identity": {gateway.MaxText, func(n int) error {
			return start(func(r *workflowservice.StartWorkflowExecutionRequest) { r.Identity = text(n) })
		}},
		"memo": {gateway.MaxMemo, func(n int) error {
			return start(func(r *workflowservice.StartWorkflowExecutionRequest) { r.Memo = sized(t, n, memo) })
		}},
		"input": {gateway.MaxBlob, func(n int) error {
			return start(func(r *workflowservice.StartWorkflowExecutionRequest) { r.Input = sized(t, n, payloads) })
		}},
		"signal name": {gateway.MaxText, func(n int) error {
			return signal(func(r *workflowservice.SignalWorkflowExecutionRequest) { r.SignalName = text(n) })
		}},
		"links": {gateway.MaxLinks, func(n int) error {
			return signal(func(r *workflowservice.SignalWorkflowExecutionRequest) { r.Links = make([]*common.Link, n) })
		}},
		"one link": {gateway.MaxLink, func(n int) error {
			return signal(func(r *workflowservice.SignalWorkflowExecutionRequest) { r.Links = []*common.Link{sized(t, n, link)} })
		}},
		"update ID": {gateway.MaxText, func(n int) error {
			_, err := in.UpdateWorkflowExecution(t.Context(), &workflowservice.UpdateWorkflowExecutionRequest{
				Namespace: "default", WorkflowExecution: w,
				Request: &update.Request{Meta: &update.Meta{UpdateId: text(n)}, Input: &update.Input{Name: "u"}},
			})
			return err
		}},
	} {
		require.NoError(t, test.ask(test.most), what)
		var invalid *serviceerror.InvalidArgument
		require.ErrorAs(t, test.ask(test.most+1), &invalid, what)
	}
}

func memo(bytes int) *common.Memo {
	return &common.Memo{Fields: map[string]*common.Payload{"m": {Data: make([]byte, bytes)}}}
}

func link(bytes int) *common.Link {
	return &common.Link{Variant: &common.Link_WorkflowEvent_{WorkflowEvent: &common.Link_WorkflowEvent{WorkflowId: strings.Repeat("x", bytes)}}}
}

// sized makes a message that takes so many bytes. of makes one with so many bytes of text.
func sized[M proto.Message](t *testing.T, size int, of func(bytes int) M) M {
	t.Helper()
	for bytes := size; bytes > 0; bytes-- {
		if m := of(bytes); proto.Size(m) == size {
			return m
		}
	}
	t.Fatalf("no message takes %d bytes", size)
	panic("unreachable")
}

// TestLimitsOfThePage: the table of docs/temporal.md has the limits of this package.
func TestLimitsOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/temporal.md")
	require.NoError(t, err)
	for what, limit := range map[string]string{
		"ID, name or identity in a request":  fmt.Sprintf("%d,%03d bytes", gateway.MaxText/1000, gateway.MaxText%1000),
		"payloads of one field of a request": fmt.Sprintf("%d MB, or what NATS accepts", gateway.MaxBlob>>20),
		"memo of a start":                    fmt.Sprintf("%d MB, or what NATS accepts", gateway.MaxMemo>>20),
		"links of a request":                 fmt.Sprintf("%d, of %d,%03d bytes each", gateway.MaxLinks, gateway.MaxLink/1000, gateway.MaxLink%1000),
	} {
		require.Contains(t, string(page), fmt.Sprintf("| %s | %s |", what, limit))
	}
}

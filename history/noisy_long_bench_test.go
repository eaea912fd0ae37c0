package history

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	querypb "go.temporal.io/api/query/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/subjects"
)

const long = "long"

// build makes a workflow with a long history: 40,000 events, of which 9,000 are signals, and about 40 MB.
func (n *noisy) build() {
	request := startRequest(long)
	request.TaskQueue.Name = long
	require.NoError(n, n.answer(n.Context(), subjects.VerbStart, long, request))
	n.others(func() { // so that entries of others lie between
		for round := range 300 {
			for i := range 30 {
				require.NoError(n, n.sendSignal(long, round*30+i, 1800))
			}
			var commands []*commandpb.Command
			for range 100 {
				commands = append(commands, bulk(700))
			}
			n.complete(n.pollOn(long), commands...)
		}
	})
	info := n.describe(long, "").WorkflowExecutionInfo
	n.Logf("%d events, %d bytes", info.HistoryLength, info.HistorySizeBytes)
}

func bulk(size int) *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_RECORD_MARKER,
		Attributes: &commandpb.Command_RecordMarkerCommandAttributes{RecordMarkerCommandAttributes: &commandpb.RecordMarkerCommandAttributes{
			MarkerName: "m", Details: map[string]*commonpb.Payloads{"d": {Payloads: []*commonpb.Payload{{Data: make([]byte, size)}}}},
		}},
	}
}

// rebuild: the state of a workflow with a long history is lost and read again, ten times.
func (n *noisy) rebuild() {
	for range 10 {
		_ = n.service.with(n.Context(), n.key(long), func(of *slot) error {
			of.forget()
			return nil
		})
		n.describe(long, "")
	}
}

// reading: four clients read a long history.
func (n *noisy) reading() {
	atOnce(4, func(int) error {
		n.events(long, "", 0)
		return nil
	})
}

// orphan makes a workflow that can be queried and has no worker any more.
func (n *noisy) orphan() {
	request := startRequest(long)
	request.TaskQueue.Name = long
	require.NoError(n, n.answer(n.Context(), subjects.VerbStart, long, request))
	n.complete(n.pollOn(long))
}

// queries: 2,000 clients query a workflow that has no worker, for five seconds.
func (n *noisy) queries() {
	ctx, cancel := context.WithTimeout(n.Context(), 5*time.Second)
	defer cancel()
	atOnce(2000, func(int) error {
		_ = n.answer(ctx, subjects.VerbQuery, long, &workflowservice.QueryWorkflowRequest{
			Namespace: space, Execution: n.execution(long, ""), Query: &querypb.WorkflowQuery{QueryType: "q"},
		})
		return nil
	})
}

package history

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

var nightly = schedule.Key{Namespace: space, ID: "nightly"}

// startScheduled starts an execution as the invoker does.
func (b *bundle) startScheduled(id, runID string) error {
	b.Helper()
	client := workflows.NewClient(owners.Anybody(b.conn), b.names, b.facts.Shards)
	return client.Start(b.Context(), startRequest(id), runID, &wire.WorkflowCallback{
		ScheduleID: nightly.ID, TaskQueue: queue, RequestID: "start-" + id,
	})
}

// told waits until the schedule has been told how an execution ended.
func (b *bundle) told(id string) (c schedule.Completion) {
	b.Helper()
	shard := subjects.ShardOf(nightly, b.facts.Shards)
	stream, err := b.js.Stream(b.Context(), b.names.CallbackStream(shard))
	require.NoError(b, err)
	natstest.Eventually(b, natstest.Patience, "the schedule is told", func() bool {
		msg, err := stream.GetLastMsgForSubject(b.Context(), b.names.Callback(shard, nightly, queue, "start-"+id))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return false
		}
		require.NoError(b, err)
		require.NoError(b, json.Unmarshal(msg.Data, &c))
		return true
	})
	return c
}

// TestScheduledExecution: a schedule starts an execution, once, and is told how it ended.
func TestScheduledExecution(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	require.NoError(t, b.startScheduled("w", "run-1"))
	require.NoError(t, b.startScheduled("w", "run-1"), "a repeat")
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, b.describe("w", "run-1").WorkflowExecutionInfo.Status)
	b.complete(b.pollWorkflow(), end())
	c := b.told("w")
	assert.Equal(t, schedule.StatusCompleted, c.Status)
	assert.Equal(t, "start-w", c.RequestID)
	assert.Equal(t, "run-1", c.RunID)
	b.settled()

	require.NoError(t, b.startScheduled("x", "run-2"))
	client := workflows.NewClient(owners.Anybody(b.conn), b.names, b.facts.Shards)
	require.NoError(t, client.Terminate(t.Context(), &workflowservice.TerminateWorkflowExecutionRequest{
		Namespace: space, WorkflowExecution: b.execution("x", ""), FirstExecutionRunId: "run-2", Reason: "enough",
	}))
	c = b.told("x")
	assert.Equal(t, schedule.StatusTerminated, c.Status)
	assert.Equal(t, "enough", c.Failure.Message)

	b.start("y")
	var taken *serviceerror.WorkflowExecutionAlreadyStarted
	request := startRequest("y")
	request.RequestId = "another"
	err := client.Start(t.Context(), request, "run-3", &wire.WorkflowCallback{ScheduleID: nightly.ID, TaskQueue: queue, RequestID: "another"})
	require.ErrorAs(t, err, &taken)
	assert.Equal(t, "start-y", taken.StartRequestId)
}

// TestScheduleIsToldAfterADeath: the process that ended the execution dies before it can tell the schedule.
func TestScheduleIsToldAfterADeath(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, stop := b.run(func(c *Config) { c.noEffects = true })
	require.NoError(t, b.startScheduled("w", "run-1"))
	client := workflows.NewClient(owners.Anybody(b.conn), b.names, b.facts.Shards)
	require.NoError(t, client.Terminate(t.Context(), &workflowservice.TerminateWorkflowExecutionRequest{
		Namespace: space, WorkflowExecution: b.execution("w", ""), FirstExecutionRunId: "run-1",
	}))
	stop()
	b.run()
	assert.Equal(t, schedule.StatusTerminated, b.told("w").Status)
	b.settled()
}

// TestScheduledStartThatIsGarbage is refused.
func TestScheduledStartThatIsGarbage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	encoded := func(s wire.StartWorkflow) []byte {
		data, err := codec.Marshal(&s)
		require.NoError(t, err)
		return data
	}
	for name, data := range map[string][]byte{
		"garbage": []byte("\xff"), "nothing": nil, "no request": encoded(wire.StartWorkflow{RunID: "r", Callback: []byte("c")}),
		"bad request": encoded(wire.StartWorkflow{Request: []byte("\xff"), RunID: "r", Callback: []byte("c")}),
	} {
		subject := b.names.Execution(0, space, subjects.VerbStartScheduled)
		var invalid *serviceerror.InvalidArgument
		assert.ErrorAs(t, call.AskBytes(t.Context(), b.conn, subject, data, nil), &invalid, name)
	}
}

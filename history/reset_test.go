package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/subjects"
)

// reset resets a run to the end of a workflow task, and returns the new run.
func (b *bundle) reset(id, runID string, to int64) string {
	b.Helper()
	got, err := ask[workflowservice.ResetWorkflowExecutionResponse](b, subjects.VerbReset, id, b.resetRequest(id, runID, to))
	require.NoError(b, err)
	return got.RunId
}

func (b *bundle) resetRequest(id, runID string, to int64) *workflowservice.ResetWorkflowExecutionRequest {
	return &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: space, WorkflowExecution: b.execution(id, runID), Reason: "test", WorkflowTaskFinishEventId: to,
		RequestId: fmt.Sprintf("reset %s to %d", runID, to),
	}
}

// marker is a command that writes an event of some size.
func marker(size int) *commandpb.Command {
	return &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_RECORD_MARKER, Attributes: &commandpb.Command_RecordMarkerCommandAttributes{
		RecordMarkerCommandAttributes: &commandpb.RecordMarkerCommandAttributes{
			MarkerName: "m", Details: map[string]*commonpb.Payloads{"d": {Payloads: []*commonpb.Payload{{Data: bytes.Repeat([]byte("x"), size)}}}},
		},
	}}
}

// requireFork requires a run to begin with the first events of another one, and to go on with the failure of a workflow task.
func (b *bundle) requireFork(id, base, runID string, to int64) []*historypb.HistoryEvent {
	b.Helper()
	before, after := b.events(id, base, 0), b.events(id, runID, 0)
	for i := range to - 1 {
		require.True(b, proto.Equal(before[i], after[i]), "event %d", i+1)
	}
	failed := after[to-1].GetWorkflowTaskFailedEventAttributes()
	require.Equal(b, enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW, failed.GetCause())
	require.Equal(b, []string{base, runID}, []string{failed.GetBaseRunId(), failed.GetNewRunId()})
	for _, size := range []int32{1, 2, 3, 7} {
		paged := b.events(id, runID, size)
		require.Len(b, paged, len(after))
		for i := range after {
			require.True(b, proto.Equal(after[i], paged[i]), "size %d, event %d", size, i+1)
		}
	}
	b.requireSameBack(id, runID, 1, 3, 100)
	return after
}

// TestReset: runs that begin with events of others can be read, described and reset again, by a process that has them in memory, by one that learns of
// the reset from the journal, and by one that knows nothing.
func TestReset(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, stop := b.run()
	base := b.start("w")
	for i := range 3 {
		b.complete(b.pollWorkflow(), marker(10))
		b.signal("w", fmt.Sprint(i))
	}
	before := b.events("w", base, 0)
	_, stopOther := b.run() // some of the requests go to it
	second := b.reset("w", base, 9)
	require.Equal(t, second, b.reset("w", base, 9), "a repeat begins nothing")
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, b.describe("w", base).WorkflowExecutionInfo.Status)
	require.Equal(t, second, b.describe("w", base).WorkflowExtendedInfo.ResetRunId)
	events := b.requireFork("w", base, second, 9)
	signals := 0
	for _, event := range events {
		if event.GetWorkflowExecutionSignaledEventAttributes() != nil {
			signals++
		}
	}
	require.Equal(t, 3, signals)
	task := b.pollWorkflow()
	require.Len(t, task.History.Events, len(events)+1)
	b.complete(task, marker(10))
	stop()
	stopOther()
	b.run()
	b.signal("w", "more")
	task = b.pollWorkflow()
	require.Equal(t, second, task.WorkflowExecution.RunId)
	b.complete(task)
	third := b.reset("w", second, task.StartedEventId+1)
	b.requireFork("w", second, third, task.StartedEventId+1)
	b.requireFork("w", base, second, 9)
	for i, event := range b.events("w", base, 0)[:len(before)] {
		require.True(t, proto.Equal(before[i], event), "the history of the base stays as it was")
	}
	described := b.describe("w", third)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, described.WorkflowExecutionInfo.Status)
	require.Equal(t, base, described.WorkflowExecutionInfo.FirstRunId)
	require.Equal(t, described.WorkflowExecutionInfo.StartTime.AsTime(), described.WorkflowExtendedInfo.LastResetTime.AsTime())
	require.Equal(t, before[0].EventTime.AsTime(), described.WorkflowExtendedInfo.OriginalStartTime.AsTime())
	for _, to := range []int64{1, 999} {
		_, err := ask[workflowservice.ResetWorkflowExecutionResponse](b, subjects.VerbReset, "w", b.resetRequest("w", base, to))
		invalid, is := errors.AsType[*serviceerror.InvalidArgument](err)
		require.True(t, is, "%v", err)
		require.Contains(t, invalid.Error(), "must be > 1 and <=")
	}
}

// TestResetOfALongHistory: a history of 5,000 events that would fill many messages of NATS is reset by one small entry.
func TestResetOfALongHistory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, stop := b.run()
	base := b.start("w")
	const tasks, markers = 50, 100
	for i := range tasks {
		var commands []*commandpb.Command
		for range markers {
			commands = append(commands, marker(1000))
		}
		b.complete(b.pollWorkflow(), commands...)
		b.signal("w", fmt.Sprint(i))
	}
	task := b.pollWorkflow()
	require.Greater(t, task.StartedEventId, int64(5000))
	b.complete(task)
	began := time.Now()
	runID := b.reset("w", base, task.StartedEventId+1)
	t.Logf("reset to event %d of %d bytes: %v", task.StartedEventId+1, b.describe("w", base).WorkflowExecutionInfo.HistorySizeBytes, time.Since(began))
	stream, err := b.js.Stream(t.Context(), b.names.JournalStream(subjects.ShardOf(b.key("w"), b.facts.Shards)))
	require.NoError(t, err)
	entry, err := stream.GetLastMsgForSubject(t.Context(), b.names.Journal(subjects.ShardOf(b.key("w"), b.facts.Shards), b.key("w")))
	require.NoError(t, err)
	require.Less(t, len(entry.Data), 4<<10)
	stop()
	b.run()
	began = time.Now()
	require.Equal(t, runID, b.describe("w", "").WorkflowExecutionInfo.Execution.RunId)
	t.Logf("read anew in %v", time.Since(began))
	before, after := b.events("w", base, 0), b.events("w", runID, 0)
	for i := range task.StartedEventId {
		require.True(t, proto.Equal(before[i], after[i]), "event %d", i+1)
	}
	require.Len(t, after, int(task.StartedEventId)+2)
}

// TestResetOfAFamily: the new run of a parent hears of the children of the run before, also of one that ended while no parent was there. A child that it
// does not know ends with the run before.
func TestResetOfAFamily(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	base := b.start("parent")
	b.complete(b.pollWorkflow(), childOn("early"), childOn("late"))
	early := b.pollOn("early")
	task := b.pollWorkflow()
	for childrenBegun(task) < 2 {
		b.complete(task)
		task = b.pollWorkflow()
	}
	point := task.StartedEventId + 1
	b.complete(task, childOn("unknown"))
	second := b.reset("parent", base, point)
	b.complete(early, end())
	natstest.Eventually(t, natstest.Patience, "the new run hears of the child", func() bool {
		return len(b.describe("parent", second).PendingChildren) == 1
	})
	natstest.Eventually(t, natstest.Patience, "the child that the new run does not know has ended", func() bool {
		return b.describe("unknown", "").WorkflowExecutionInfo.Status == enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
	})
	b.complete(b.pollWorkflow(), end())
	natstest.Eventually(t, natstest.Patience, "the child ends with its parent", func() bool {
		return b.describe("late", "").WorkflowExecutionInfo.Status == enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
	})
	b.settled()
	b.start("early") // another workflow
	request := b.resetRequest("parent", base, point)
	request.RequestId = "another reset"
	again, err := ask[workflowservice.ResetWorkflowExecutionResponse](b, subjects.VerbReset, "parent", request)
	require.NoError(t, err)
	third := again.RunId
	require.NotEqual(t, second, third)
	natstest.Eventually(t, natstest.Patience, "the third run hears of both", func() bool {
		return len(b.describe("parent", third).PendingChildren) == 0
	})
}

// heldBus holds back what is appended to a subject until it is released.
type heldBus struct {
	bus.Streams
	subject  string
	released chan struct{}
}

func (h heldBus) Append(ctx context.Context, msg *nats.Msg) (uint64, error) {
	if msg.Subject == h.subject {
		select {
		case <-h.released:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return h.Streams.Append(ctx, msg)
}

// TestResetHearsOfAChildThatToldAnother: a run is reset whose events know of a child no more than that it was to begin. The child has begun, has
// ended and has told that to another run.
func TestResetHearsOfAChildThatToldAnother(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.key("early")
	held := heldBus{subject: b.names.Journal(subjects.ShardOf(key, b.facts.Shards), key), released: make(chan struct{})}
	b.run(func(c *Config) {
		held.Streams = natstest.Bus(b, c.JS)
		c.Bus = held
	})
	base := b.start("parent")
	task := b.pollWorkflow()
	b.signal("parent", "one")
	b.complete(task, childOn("early"))
	b.signal("parent", "two")
	const point = 8 // the child is initiated, the signal has come, and a task is scheduled for it
	second := b.reset("parent", base, point)
	close(held.released)
	b.complete(b.pollOn("early"), end())
	none := func(run string) func() bool {
		return func() bool { return len(b.describe("parent", run).PendingChildren) == 0 }
	}
	natstest.Eventually(t, natstest.Patience, "the second run hears of the child", none(second))
	b.settled()
	request := b.resetRequest("parent", base, point)
	request.RequestId = "again"
	third, err := ask[workflowservice.ResetWorkflowExecutionResponse](b, subjects.VerbReset, "parent", request)
	require.NoError(t, err)
	require.NotEqual(t, second, third.RunId)
	natstest.Eventually(t, natstest.Patience, "the third run hears of it, too", none(third.RunId))
}

func childrenBegun(task *workflowservice.PollWorkflowTaskQueueResponse) (count int) {
	for _, event := range task.History.Events {
		if event.GetChildWorkflowExecutionStartedEventAttributes() != nil {
			count++
		}
	}
	return count
}

// childOn starts a child with a task queue of its own.
func childOn(id string) *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_StartChildWorkflowExecutionCommandAttributes{
			StartChildWorkflowExecutionCommandAttributes: &commandpb.StartChildWorkflowExecutionCommandAttributes{
				WorkflowId: id, WorkflowType: &commonpb.WorkflowType{Name: "child"}, TaskQueue: &taskqueuepb.TaskQueue{Name: id},
			},
		},
	}
}

func (b *bundle) pollOn(name string) *workflowservice.PollWorkflowTaskQueueResponse {
	b.Helper()
	return poll[workflowservice.PollWorkflowTaskQueueResponse](b, offer.Workflow, name)
}

// TestResetAfterAChildIsGone: a run is reset whose child has ended since, and has been removed. The new run hears how the child ended if the old one has
// heard it. Otherwise nobody knows, and it hears that the child was terminated, rather than wait forever.
func TestResetAfterAChildIsGone(t *testing.T) {
	t.Parallel()
	for name, hears := range map[string]bool{"the old run has heard of the end": true, "nobody has heard of the end": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.run()
			base := b.start("parent")
			command := childOn("child")
			command.GetStartChildWorkflowExecutionCommandAttributes().ParentClosePolicy = enumspb.PARENT_CLOSE_POLICY_ABANDON
			b.complete(b.pollWorkflow(), command)
			task := b.pollWorkflow()
			require.Equal(t, 1, childrenBegun(task))
			point, want := task.StartedEventId+1, enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED
			b.complete(task)
			if hears {
				b.complete(b.pollOn("child"), end())
				task, want = b.pollWorkflow(), enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED
				b.complete(task, end())
			} else {
				b.terminate("parent")
				b.complete(b.pollOn("child"), end())
			}
			b.settled()
			require.NoError(t, b.deleteRun("child", ""))
			b.awaitEntries("child", 1)
			run := b.reset("parent", base, point)
			natstest.Eventually(t, natstest.Patience, "the new run hears of the child", func() bool {
				return len(b.describe("parent", run).PendingChildren) == 0
			})
			var heard []enumspb.EventType
			for _, event := range b.events("parent", run, 0)[point:] {
				if result := event.GetEventType(); result == want || result == enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED {
					heard = append(heard, result)
				}
			}
			require.Equal(t, []enumspb.EventType{want}, heard)
		})
	}
}

func (b *bundle) terminate(id string) {
	b.Helper()
	_, err := ask[workflowservice.TerminateWorkflowExecutionResponse](b, subjects.VerbTerminate, id, &workflowservice.TerminateWorkflowExecutionRequest{
		Namespace: space, WorkflowExecution: b.execution(id, ""),
	})
	require.NoError(b, err)
}

package history

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// deleteRun deletes a run.
func (b *bundle) deleteRun(id, runID string) error {
	b.Helper()
	_, err := ask[workflowservice.DeleteWorkflowExecutionResponse](b, subjects.VerbDelete, id, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: space, WorkflowExecution: b.execution(id, runID),
	})
	return err
}

// requireGone requires that nobody finds a run.
func (b *bundle) requireGone(id, runID string) {
	b.Helper()
	_, err := ask[workflowservice.DescribeWorkflowExecutionResponse](b, subjects.VerbDescribe, id, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: space, Execution: b.execution(id, runID),
	})
	var notFound *serviceerror.NotFound
	require.ErrorAs(b, err, &notFound)
}

// stored returns the messages of the journal of a workflow.
func (b *bundle) stored(id string) []bus.Message {
	b.Helper()
	key := b.key(id)
	shard := subjects.ShardOf(key, b.facts.Shards)
	found, err := natstest.Bus(b, b.js).Subject(b.Context(), b.names.JournalStream(shard), b.names.Journal(shard, key), 1, 1000)
	require.NoError(b, err)
	return found
}

// entries returns the journal of a workflow.
func (b *bundle) entries(id string) (all []*execution.Entry) {
	b.Helper()
	for _, m := range b.stored(id) {
		entry, err := execution.ParseEntry(m.Data)
		require.NoError(b, err)
		all = append(all, entry)
	}
	return all
}

// awaitEntries waits until the journal of a workflow has a number of entries.
func (b *bundle) awaitEntries(id string, n int) {
	b.Helper()
	natstest.Eventually(b, natstest.Patience, "the entries are removed", func() bool { return len(b.stored(id)) == n })
}

// TestDelete: a run that is deleted is gone at once, for a process that knows it and for one that does not, and its entries go. What a schedule or a
// parent waits for is told. The ID can be used again.
func TestDelete(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, stop := b.run()
	run := b.start("w")
	b.complete(b.pollWorkflow(), marker(10))
	require.NoError(t, b.deleteRun("w", ""))
	b.requireGone("w", "")
	b.requireGone("w", run)
	var notFound *serviceerror.NotFound
	require.ErrorAs(t, b.deleteRun("w", run), &notFound)
	b.awaitEntries("w", 1) // it stands for the run, for those who follow the journal
	stop()
	b.run()
	b.requireGone("w", "")
	again := b.start("w")
	require.NotEqual(t, run, again)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, b.describe("w", "").WorkflowExecutionInfo.Status)
	b.requireGone("w", run)
}

// TestDeleteOneOfMany: the runs before and after stay as they are, and so does what a run that a reset has begun has from the deleted one.
func TestDeleteOneOfMany(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, stop := b.run()
	first := b.start("w")
	b.complete(b.pollWorkflow(), marker(10))
	b.signal("w", "s")
	second := b.reset("w", first, 4)
	want := b.events("w", second, 0)
	require.NoError(t, b.deleteRun("w", first))
	b.requireGone("w", first)
	stop()
	b.run()
	b.requireGone("w", first)
	require.Len(t, b.events("w", second, 0), len(want))
	require.NoError(t, b.deleteRun("w", second))
	b.requireGone("w", second)
	b.requireGone("w", "")
}

// clock is a clock that the test moves.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// keeping runs history with a clock, with which it looks for expired runs all the time.
func (b *bundle) keeping(c *clock) (stop func()) {
	b.Helper()
	_, stop = b.run(func(config *Config) { config.Now, config.SweepEvery = c.now, 50*time.Millisecond })
	return stop
}

// continued is a command that continues a workflow as new.
func continued() *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_ContinueAsNewWorkflowExecutionCommandAttributes{
			ContinueAsNewWorkflowExecutionCommandAttributes: &commandpb.ContinueAsNewWorkflowExecutionCommandAttributes{},
		},
	}
}

// TestRetention: a run goes when its namespace has kept it for its retention, with all that is stored of it, and not before. Those that are in progress
// stay, however old they are, and lose the runs before them.
func TestRetention(t *testing.T) {
	t.Parallel()
	b, c := setup(t), &clock{}
	b.keeping(c)
	ended := b.start("ended")
	b.complete(b.pollWorkflow(), end())
	chain := b.start("chain")
	b.complete(b.pollWorkflow(), continued())
	b.settled()
	open := b.start("open")
	c.advance(schedule.DefaultWorkflowRetention - time.Minute)
	b.signal("open", "1")
	later := b.start("later")
	c.advance(2*time.Minute + clockDifference)
	b.awaitEntries("ended", 0)
	b.requireGone("ended", "")
	b.requireGone("ended", ended)
	natstest.Eventually(t, natstest.Patience, "the first run of the chain is removed", func() bool {
		return b.entries("chain")[0].Parts[0].RunID == chain && b.entries("chain")[0].Ends()
	})
	b.requireGone("chain", chain)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, b.describe("chain", "").WorkflowExecutionInfo.Status)
	require.NotEmpty(t, b.events("chain", "", 0))
	require.NotEmpty(t, b.events("open", open, 0))
	require.NotEmpty(t, b.events("later", later, 0))
	require.NotEqual(t, ended, b.start("ended"), "the ID is free")
}

// TestRetentionAfterADelete: what stands for a deleted run goes too.
func TestRetentionAfterADelete(t *testing.T) {
	t.Parallel()
	b, c := setup(t), &clock{}
	b.keeping(c)
	b.start("w")
	require.NoError(t, b.deleteRun("w", ""))
	b.start("w")
	b.complete(b.pollWorkflow(), end())
	require.NoError(t, b.deleteRun("w", ""))
	b.awaitEntries("w", 2)
	c.advance(schedule.DefaultWorkflowRetention + 2*clockDifference)
	b.awaitEntries("w", 0)
	b.requireGone("w", "")
}

// TestRetentionRemovesStrayTimers: a process arms the deadline of an entry beside it. If another process is faster with the entry, the delayed message
// stays, and nothing that is stored says so. It goes with the last run of the workflow ID.
func TestRetentionRemovesStrayTimers(t *testing.T) {
	t.Parallel()
	b, c := setup(t), &clock{}
	b.keeping(c)
	b.start("w")
	b.complete(b.pollWorkflow(), end())
	b.settled()
	key := b.key("w")
	shard := subjects.ShardOf(key, b.facts.Shards)
	at := c.now().Add(10 * schedule.DefaultWorkflowRetention)
	streams := natstest.Bus(t, b.js)
	require.NoError(t, task.ArmMessage(t.Context(), streams, b.names.ExecutionTimer(shard, key, at), b.names.ExecutionDue(shard, key), at, nil, nil))
	c.advance(schedule.DefaultWorkflowRetention + 2*clockDifference)
	natstest.Eventually(t, natstest.Patience, "the run and the stray are removed", func() bool {
		c.advance(strayWait / 2)
		return len(b.stored("w")) == 0
	})
	_, err := streams.Last(t.Context(), b.names.TaskStream(shard), b.names.ExecutionTimer(shard, key, at))
	require.ErrorIs(t, err, bus.ErrNone)
}

// TestRetentionKeepsWhatAResetNeeds: a run that a reset has begun has its first events from a run that has expired.
func TestRetentionKeepsWhatAResetNeeds(t *testing.T) {
	t.Parallel()
	b, c := setup(t), &clock{}
	b.keeping(c)
	before := b.start("w")
	b.complete(b.pollWorkflow(), end())
	request := startRequest("w")
	request.RequestId = "another"
	got, err := ask[workflowservice.StartWorkflowExecutionResponse](b, subjects.VerbStart, "w", request)
	require.NoError(t, err)
	base := got.RunId
	b.complete(b.pollWorkflow(), end())
	c.advance(schedule.DefaultWorkflowRetention - time.Minute)
	run := b.reset("w", base, 4)
	want := b.events("w", run, 0)
	c.advance(2*time.Minute + clockDifference)
	natstest.Eventually(t, natstest.Patience, "the first run is removed", func() bool { return b.entries("w")[0].Parts[0].RunID == base })
	b.requireGone("w", before)
	require.Len(t, b.events("w", run, 0), len(want))
	_, err = ask[workflowservice.ResetWorkflowExecutionResponse](b, subjects.VerbReset, "w", b.resetRequest("w", base, 4))
	require.Error(t, err, "a run that has expired may go at any moment")
	_, err = ask[workflowservice.TerminateWorkflowExecutionResponse](b, subjects.VerbTerminate, "w", &workflowservice.TerminateWorkflowExecutionRequest{
		Namespace: space, WorkflowExecution: b.execution("w", ""),
	})
	require.NoError(t, err)
	c.advance(schedule.DefaultWorkflowRetention + 2*clockDifference)
	b.awaitEntries("w", 0)
}

// removals notes in which order messages of a stream are removed.
type removals struct {
	bus.Streams
	stream string
	mu     sync.Mutex
	all    []uint64
}

func (r *removals) Remove(ctx context.Context, stream string, sequence uint64) error {
	if stream == r.stream {
		r.mu.Lock()
		r.all = append(r.all, sequence)
		r.mu.Unlock()
	}
	return r.Streams.Remove(ctx, stream, sequence)
}

// TestResetsAreRemovedBeforeTheirBases: a run that a reset has begun begins with the events of another run. When both have expired, its own beginning goes
// first, so that nobody takes it for damaged.
func TestResetsAreRemovedBeforeTheirBases(t *testing.T) {
	t.Parallel()
	b, c := setup(t), &clock{}
	noted := &removals{stream: b.names.JournalStream(subjects.ShardOf(b.key("w"), b.facts.Shards))}
	b.run(func(config *Config) {
		noted.Streams = natstest.Bus(b, config.JS)
		config.Bus, config.Now, config.SweepEvery = noted, c.now, 50*time.Millisecond
	})
	base := b.start("w")
	b.complete(b.pollWorkflow(), marker(10))
	second := b.reset("w", base, 4)
	third := b.reset("w", second, 4)
	b.complete(b.pollWorkflow(), end())
	b.settled()
	begins := map[string]uint64{}
	for i, entry := range b.entries("w") {
		if newest := entry.Parts[len(entry.Parts)-1]; newest.First == 0 {
			begins[newest.RunID] = b.stored("w")[i].Sequence
		}
	}
	c.advance(schedule.DefaultWorkflowRetention + 2*clockDifference)
	b.awaitEntries("w", 0)
	require.Equal(t, []uint64{begins[third], begins[second], begins[base]}, noted.all[:3])
}

// TestRemovalIsTriedAgain: an entry that could not be removed is not forgotten when the next run of the workflow ID expires.
func TestRemovalIsTriedAgain(t *testing.T) {
	t.Parallel()
	b, c := setup(t), &clock{}
	streams := &refusing{Streams: natstest.Bus(t, b.js)}
	b.run(func(config *Config) { config.Now, config.SweepEvery, config.Bus = c.now, 50*time.Millisecond, streams })
	b.start("w")
	b.complete(b.pollWorkflow(), end())
	b.settled()
	entries := b.stored("w")
	streams.only.Store(entries[len(entries)-1].Sequence)
	streams.refuses.Store(true)
	c.advance(schedule.DefaultWorkflowRetention / 2)
	b.startAgain("w", "another")
	b.complete(b.pollWorkflow(), end())
	b.settled()
	open := b.startAgain("w", "one more")
	more := func() bool { return streams.asked.Load() > 1 }
	c.advance(schedule.DefaultWorkflowRetention/2 + 2*clockDifference)
	natstest.Eventually(t, natstest.Patience, "the removal fails", more)
	c.advance(schedule.DefaultWorkflowRetention)
	streams.asked.Store(0)
	natstest.Eventually(t, natstest.Patience, "it fails with the next run, too", more)
	streams.refuses.Store(false)
	natstest.Eventually(t, natstest.Patience, "the entry is removed", func() bool { return b.entries("w")[0].Parts[0].RunID == open })
}

// TestRemovalIsInterrupted: a process dies in the midst of a removal. What is left of the run is taken for nothing, and the next process removes it.
func TestRemovalIsInterrupted(t *testing.T) {
	t.Parallel()
	for left := 1; left < 4; left++ {
		b, c := setup(t), &clock{}
		_, stop := b.run(func(config *Config) { config.Now, config.SweepEvery = c.now, time.Hour })
		run := b.start("w")
		b.complete(b.pollWorkflow(), end())
		b.settled()
		stop()
		streams, shard := natstest.Bus(b, b.js), subjects.ShardOf(b.key("w"), b.facts.Shards)
		found := b.stored("w")
		for _, m := range found[:min(left, len(found)-1)] {
			require.NoError(t, streams.Remove(t.Context(), b.names.JournalStream(shard), m.Sequence))
		}
		c.advance(schedule.DefaultWorkflowRetention + 2*clockDifference)
		_, stop = b.run(func(config *Config) { config.Now, config.SweepEvery = c.now, time.Hour })
		b.requireGone("w", "")
		b.requireGone("w", run)
		again := b.start("w")
		require.NotEqual(t, run, again)
		stop()
		b.keeping(c)
		natstest.Eventually(t, natstest.Patience, "the rest is removed", func() bool { return b.entries("w")[0].Parts[0].RunID == again })
	}
}

// TestReadWhileItIsRemoved: a client that reads a run whose entries are being removed is told that there is no such run, and gets no history with a gap.
// A run that lacks other entries is damaged.
func TestReadWhileItIsRemoved(t *testing.T) {
	t.Parallel()
	var notFound *serviceerror.NotFound
	var damaged *serviceerror.DataLoss
	for _, c := range []struct {
		name string
		gone []int // entries
		want any
	}{
		{"removed", []int{0, 2}, &notFound}, // the beginning goes first
		{"damaged", []int{2}, &damaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.run()
			b.start("w")
			for i := range 4 { // too much for the memory of the process
				_, err := ask[workflowservice.SignalWorkflowExecutionResponse](b, subjects.VerbSignal, "w", &workflowservice.SignalWorkflowExecutionRequest{
					Namespace: space, WorkflowExecution: b.execution("w", ""), SignalName: "s", RequestId: strconv.Itoa(i),
					Input: &commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: make([]byte, maxRecent/3)}}},
				})
				require.NoError(t, err)
			}
			b.complete(b.pollWorkflow(), end())
			b.settled()
			streams, shard, found := natstest.Bus(b, b.js), subjects.ShardOf(b.key("w"), b.facts.Shards), b.stored("w")
			for _, i := range c.gone {
				require.NoError(t, streams.Remove(t.Context(), b.names.JournalStream(shard), found[i].Sequence))
			}
			_, err := ask[workflowservice.GetWorkflowExecutionHistoryResponse](b, subjects.VerbHistory, "w",
				&workflowservice.GetWorkflowExecutionHistoryRequest{Namespace: space, Execution: b.execution("w", "")})
			require.ErrorAs(t, err, c.want)
		})
	}
}

// refusing is NATS, and refuses removals while it is told to: of one message, or of all.
type refusing struct {
	bus.Streams
	refuses atomic.Bool
	only    atomic.Uint64 // the sequence of the message; 0 for all
	asked   atomic.Int64
}

func (r *refusing) Remove(ctx context.Context, stream string, sequence uint64) error {
	if only := r.only.Load(); r.refuses.Load() && (only == 0 || only == sequence) {
		r.asked.Add(1)
		return errors.New("no room on the disk")
	}
	return r.Streams.Remove(ctx, stream, sequence)
}

// TestRemovalIsRefused: a removal that does not work is tried again, meanwhile the lag grows, and in the end nothing is left.
func TestRemovalIsRefused(t *testing.T) {
	t.Parallel()
	b, c := setup(t), &clock{}
	streams := &refusing{Streams: natstest.Bus(t, b.js)}
	streams.refuses.Store(true)
	s, _ := b.run(func(config *Config) { config.Now, config.SweepEvery, config.Bus = c.now, 50*time.Millisecond, streams })
	b.start("w")
	b.complete(b.pollWorkflow(), end())
	b.settled()
	c.advance(schedule.DefaultWorkflowRetention + 2*clockDifference)
	natstest.Eventually(t, natstest.Patience, "the removal is tried again", func() bool { return streams.asked.Load() > 2 })
	c.advance(time.Hour)
	natstest.Eventually(t, natstest.Patience, "the lag grows", func() bool {
		lag, any := s.expiries.lag(c.now())
		return any && lag > time.Hour && lag < 2*time.Hour
	})
	require.NotEmpty(t, b.stored("w"))
	streams.refuses.Store(false)
	b.awaitEntries("w", 0)
	natstest.Eventually(t, natstest.Patience, "nothing is late", func() bool {
		lag, any := s.expiries.lag(c.now())
		return any && lag == 0
	})
}

// TestLaterRemovalAfterOneThatFailed: when a later run of a workflow ID expires before the removal of an earlier one has been tried again, both go.
func TestLaterRemovalAfterOneThatFailed(t *testing.T) {
	t.Parallel()
	b, c := setup(t), &clock{}
	streams := &refusing{Streams: natstest.Bus(t, b.js)}
	streams.refuses.Store(true)
	s, _ := b.run(func(config *Config) { config.Now, config.SweepEvery, config.Bus = c.now, time.Hour, streams })
	b.start("w")
	b.complete(b.pollWorkflow(), end())
	c.advance(time.Hour)
	b.startAgain("w", "second")
	b.complete(b.pollWorkflow(), end())
	newest := b.startAgain("w", "third")
	b.settled()

	const keep = schedule.DefaultWorkflowRetention
	w := &sweeper{Service: s, shard: s.shardOf(b.key("w"))}
	w.reset()
	of := group{keep: keep}
	w.next[of], w.seen[of] = 1, &seen{}
	c.advance(keep - time.Hour/2)
	_, err := w.read(t.Context(), of)
	require.NoError(t, err)
	require.Len(t, w.left, 1)
	streams.refuses.Store(false)
	c.advance(time.Hour)
	_, err = w.read(t.Context(), of)
	require.NoError(t, err)
	require.Empty(t, w.left)
	for _, entry := range b.entries("w") {
		require.Equal(t, newest, entry.Parts[0].RunID)
	}
}

// startAgain starts a further run with a workflow ID, and returns its run ID.
func (b *bundle) startAgain(id, requestID string) string {
	b.Helper()
	request := startRequest(id)
	request.RequestId = requestID
	got, err := ask[workflowservice.StartWorkflowExecutionResponse](b, subjects.VerbStart, id, request)
	require.NoError(b, err)
	return got.RunId
}

// TestDeleteBothRunsOfAnEntry: the entry with which one run ends and the next one begins goes with the second of them that is deleted, whatever run
// is the newest one then.
func TestDeleteBothRunsOfAnEntry(t *testing.T) {
	t.Parallel()
	b, c := setup(t), &clock{}
	b.keeping(c)
	first := b.start("w")
	c.advance(2 * time.Second)
	instead := startRequest("w")
	instead.RequestId, instead.WorkflowIdConflictPolicy = "instead", enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING
	second, err := ask[workflowservice.StartWorkflowExecutionResponse](b, subjects.VerbStart, "w", instead)
	require.NoError(t, err)
	require.NoError(t, b.deleteRun("w", second.RunId))
	b.requireGone("w", second.RunId)
	third := b.startAgain("w", "third")
	require.NoError(t, b.deleteRun("w", first))
	b.requireGone("w", first)
	natstest.Eventually(t, natstest.Patience, "nothing is left of both", func() bool {
		for _, entry := range b.entries("w") {
			if !entry.Gone() && entry.Parts[len(entry.Parts)-1].RunID != third {
				return false
			}
		}
		return true
	})
	require.NotEmpty(t, b.events("w", third, 0))
}

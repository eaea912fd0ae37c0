package archival

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// history reads the history of a run from the archive, in pages.
func (b *bundle) history(id, runID string, page int32) (all []*historypb.HistoryEvent) {
	b.Helper()
	request := &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: space, Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: runID}, MaximumPageSize: page,
	}
	for {
		response := &workflowservice.GetWorkflowExecutionHistoryResponse{}
		require.NoError(b, b.askArchive(subjects.VerbArchivedHistory, request, response))
		require.True(b, response.Archived)
		all = append(all, response.GetHistory().GetEvents()...)
		if request.NextPageToken = response.NextPageToken; len(response.NextPageToken) == 0 {
			return all
		}
	}
}

// list lists the archive, in pages.
func (b *bundle) list(query string, page int32) (ids []string) {
	b.Helper()
	request := &workflowservice.ListArchivedWorkflowExecutionsRequest{Namespace: space, Query: query, PageSize: page}
	for {
		response := &workflowservice.ListArchivedWorkflowExecutionsResponse{}
		require.NoError(b, b.askArchive(subjects.VerbListArchived, request, response))
		for _, e := range response.Executions {
			ids = append(ids, e.GetExecution().GetWorkflowId())
		}
		if request.NextPageToken = response.NextPageToken; len(response.NextPageToken) == 0 {
			return ids
		}
	}
}

// TestArchive: a run that has ended is found in the archive as it was, by its IDs, its type and its day; one in progress is not.
func TestArchive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, other := b.end("w/1 ä", "Order"), b.end("x", "Report")
	b.start("open", "Order")
	want, err := b.client.History(t.Context(), &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: space, Execution: &commonpb.WorkflowExecution{WorkflowId: "w/1 ä", RunId: first},
	})
	require.NoError(t, err)
	b.run()
	b.awaitArchived("w/1 ä", "x")
	second := b.end("w/1 ä", "Order")
	b.awaitArchived("w/1 ä")
	for _, size := range []int32{0, 1} {
		got := b.history("w/1 ä", first, size)
		require.True(t, proto.Equal(want.History, &historypb.History{Events: got}), "%v", got)
	}
	require.True(t, proto.Equal(&historypb.History{Events: b.history("w/1 ä", "", 0)}, &historypb.History{Events: b.history("w/1 ä", second, 0)}))
	require.ElementsMatch(t, []string{"w/1 ä", "w/1 ä", "x"}, b.list("", 0))
	require.ElementsMatch(t, []string{"w/1 ä", "w/1 ä", "x"}, b.list("", 1))
	require.Equal(t, []string{"x"}, b.list("WorkflowType = 'Report' AND ExecutionStatus = 'Terminated'", 0))
	require.Equal(t, []string{"x"}, b.list("RunId = '"+other+"'", 0))
	require.Len(t, b.list("WorkflowId = 'w/1 ä' AND CloseTime > '2020-01-01T00:00:00Z'", 1), 2)
	require.Empty(t, b.list("CloseTime < '2020-01-01T00:00:00Z'", 0))
	require.Empty(t, b.list("ExecutionStatus = 'Completed'", 0))
	for name := range b.objects() {
		require.True(t, strings.HasPrefix(name, space+"/"), name)
	}
}

// TestArchivedHistoryBackwards: the pages of a history in reverse are the same events, and the last event alone can be asked for.
func TestArchivedHistoryBackwards(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.end("w", "Order")
	b.run()
	b.awaitArchived("w")
	events := b.history("w", runID, 0)
	require.NotEmpty(t, events)
	run := &commonpb.WorkflowExecution{WorkflowId: "w", RunId: runID}
	request := &workflowservice.GetWorkflowExecutionHistoryReverseRequest{Namespace: space, Execution: run, MaximumPageSize: 1}
	for i := len(events) - 1; i >= 0; i-- {
		response := &workflowservice.GetWorkflowExecutionHistoryReverseResponse{}
		require.NoError(t, b.askArchive(subjects.VerbArchivedHistoryReverse, request, response))
		require.Len(t, response.History.Events, 1)
		require.True(t, proto.Equal(events[i], response.History.Events[0]))
		request.NextPageToken = response.NextPageToken
	}
	require.Empty(t, request.NextPageToken)
	last := &workflowservice.GetWorkflowExecutionHistoryResponse{}
	require.NoError(t, b.askArchive(subjects.VerbArchivedHistory, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: space, Execution: run, HistoryEventFilterType: enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT,
	}, last))
	require.Len(t, last.History.Events, 1)
	require.Equal(t, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, last.History.Events[0].GetEventType())
}

// TestNotArchived: the archive says what it does not have.
func TestNotArchived(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	var missing *serviceerror.NotFound
	for _, runID := range []string{"", "00000000-0000-4000-8000-000000000000"} {
		err := b.askArchive(subjects.VerbArchivedHistory, &workflowservice.GetWorkflowExecutionHistoryRequest{
			Namespace: space, Execution: &commonpb.WorkflowExecution{WorkflowId: "w", RunId: runID},
		}, &workflowservice.GetWorkflowExecutionHistoryResponse{})
		require.ErrorAs(t, err, &missing)
	}
	var invalid *serviceerror.InvalidArgument
	err := b.askArchive(subjects.VerbListArchived, &workflowservice.ListArchivedWorkflowExecutionsRequest{Namespace: space, Query: "WorkflowId ="}, nil)
	require.ErrorAs(t, err, &invalid)
}

// TestCrashAtEachStep: a process that dies after any write, and another one that goes on, leave the same archive as one that does all.
func TestCrashAtEachStep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := []string{"a", "b", "c"}
	for _, id := range ids {
		b.end(id, "Order")
	}
	stop := b.run()
	b.awaitArchived(ids...)
	stop()
	want := b.objects()
	require.GreaterOrEqual(t, len(want), 2*len(ids)+3, "one day, one type and one hour are named, or a few")
	for step := 1; step <= len(want); step++ {
		b.forget()
		b.runUntil(step)
		require.Less(t, len(b.objects()), len(want)+1)
		stop := b.run()
		b.awaitArchived(ids...)
		stop()
		require.Equal(t, want, b.objects(), "after a crash at write %d", step)
	}
}

// forget empties the archive, and removes what is known about it.
func (b *bundle) forget() {
	b.Helper()
	in := b.bucket()
	for name := range b.objects() {
		require.NoError(b, in.Delete(b.Context(), name))
	}
	cluster, err := b.js.KeyValue(b.Context(), b.names.ClusterBucket())
	require.NoError(b, err)
	for shard := range b.shards {
		require.NoError(b, cluster.Purge(b.Context(), subjects.ArchivedKey(space, shard)))
	}
	require.NoError(b, cluster.Purge(b.Context(), subjects.KeyArchiver))
}

// runUntil runs a service that dies right after a number of writes.
func (b *bundle) runUntil(writes int) {
	b.Helper()
	ctx, die := context.WithCancel(b.Context())
	defer die()
	config := b.config()
	var left atomic.Int64
	left.Store(int64(writes))
	config.open = func(ctx context.Context, address string) (*archive.Bucket, error) {
		opened, err := b.store.Open(ctx, address)
		return archive.New(opened.Bucket, func(string) error {
			if left.Add(-1) <= 0 {
				die()
				return errors.New("dead")
			}
			return nil
		}), err
	}
	s, err := New(config)
	require.NoError(b, err)
	require.NoError(b, s.Run(ctx))
}

// TestRefusingBucket: while a bucket takes nothing, or loses what it takes, nothing counts as archived. Then all is.
func TestRefusingBucket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.end("a", "Order")
	b.end("b", "Order")
	var trouble atomic.Int64
	var tries atomic.Int64
	trouble.Store(1)
	b.run(func(config *Config) {
		config.open = func(ctx context.Context, address string) (*archive.Bucket, error) {
			opened, err := b.store.Open(ctx, address)
			return archive.New(opened.Bucket, func(name string) error {
				tries.Add(1)
				switch trouble.Load() {
				case 1:
					return errors.New("the disk is full")
				case 2:
					return opened.WriteAll(ctx, name, []byte("garbage"), nil)
				}
				return nil
			}), err
		}
	})
	for _, kind := range []int64{1, 2} {
		trouble.Store(kind)
		tries.Store(0)
		b.await("it is tried", func() bool { return tries.Load() > 3 })
		for _, p := range b.progress() {
			require.Zero(t, p)
		}
	}
	b.await("it is told", func() bool {
		status := b.status()
		return len(status.Waiting) == 1 && status.Waiting[0].Namespace == space && status.Waiting[0].Reason != ""
	})
	trouble.Store(0)
	b.awaitArchived("a", "b")
	require.Len(t, b.list("", 0), 2)
	b.await("it is told", func() bool { return len(b.status().Waiting) == 0 })
}

// TestDeletedRunsNeedNoArchive: a run that a client has deleted is not archived, and keeps nothing from being so.
func TestDeletedRunsNeedNoArchive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runID := b.end("gone", "Order")
	require.NoError(t, b.client.Delete(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: space, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "gone", RunId: runID},
	}))
	b.end("w", "Order")
	b.run()
	b.awaitArchived("gone", "w")
	require.Equal(t, []string{"w"}, b.list("", 0))
}

// unreadable is history for which one workflow ID cannot be read, because its journal is damaged or for another reason.
type unreadable struct {
	Source
	id      string
	reason  error
	repairs atomic.Bool
}

func (u *unreadable) Describe(
	ctx context.Context, r *workflowservice.DescribeWorkflowExecutionRequest,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if r.GetExecution().GetWorkflowId() == u.id && !u.repairs.Load() {
		return nil, cmp.Or(u.reason, error(serviceerror.NewInternal("its journal is damaged")))
	}
	return u.Source.Describe(ctx, r)
}

// TestARunThatCannotBeRead: it is left behind, which is known, and others are archived. When it can be read, it is archived.
func TestARunThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.end("bad", "Order")
	b.end("good", "Order")
	of := &unreadable{Source: b.client, id: "bad"}
	b.run(func(config *Config) { config.Source = of })
	b.awaitArchived("good")
	b.await("the run is left behind", func() bool { return b.status().Left == 1 })
	require.Equal(t, []string{"good"}, b.list("", 0))
	b.end("later", "Order")
	b.awaitArchived("later")
	of.repairs.Store(true)
	b.awaitArchived("bad")
	require.ElementsMatch(t, []string{"bad", "good", "later"}, b.list("", 0))
	b.await("none is left behind", func() bool { return b.status().Left == 0 })
}

// idsOf returns workflow IDs whose journals are in one shard.
func (b *bundle) idsOf(shard, n int) (ids []string) {
	for i := 0; len(ids) < n; i++ {
		if id := fmt.Sprint("w", i); subjects.ShardOf(schedule.Key{Namespace: space, ID: id}, b.shards) == shard {
			ids = append(ids, id)
		}
	}
	return ids
}

// TestAPageIsArchivedInPart: while the bucket does not take one run, those that ended before it count as safe, and those that ended later do not. One
// whose workflow ID is busy is left behind alone.
func TestAPageIsArchivedInPart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.idsOf(0, 30)
	busy, refused := ids[3], ids[20]
	for _, id := range ids {
		b.end(id, "Order")
	}
	of := &unreadable{Source: b.client, id: busy, reason: serviceerror.NewResourceExhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW, "the workflow is busy")}
	var takes atomic.Bool
	b.run(func(config *Config) {
		config.Source = of
		config.open = func(ctx context.Context, address string) (*archive.Bucket, error) {
			opened, err := b.store.Open(ctx, address)
			return archive.New(opened.Bucket, func(name string) error {
				if strings.Contains(name, "/histories/"+refused+"/") && !takes.Load() {
					return errors.New("not this one")
				}
				return nil
			}), err
		}
	})
	_, _, end := b.journal(refused)
	safe := func(id string) bool {
		_, _, ends := b.journal(id)
		p := b.progress()[0]
		return ends[len(ends)-1] <= p.Through && !p.Waits(id, ends[len(ends)-1])
	}
	b.await("those before it are safe", func() bool { return safe(ids[19]) })
	for i, id := range ids {
		require.Equal(t, i < 20 && id != busy, safe(id), "%d: %s", i, id)
	}
	require.Less(t, b.progress()[0].Through, end[len(end)-1])
	b.await("it is told", func() bool { return len(b.status().Waiting) == 1 && b.status().Left == 1 })
	takes.Store(true)
	b.await("all others are safe", func() bool { return safe(ids[29]) })
	of.repairs.Store(true)
	b.awaitArchived(ids...)
	require.ElementsMatch(t, ids, b.list("", 0))
}

// TestTwoProcesses: two processes archive what one does. When the first one stops, the second one goes on at once.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := b.run()
	b.run()
	b.end("a", "Order")
	b.awaitArchived("a")
	stop()
	b.end("b", "Order")
	b.awaitArchived("b")
	require.ElementsMatch(t, []string{"a", "b"}, b.list("", 0))
}

// TestVerify: a history that is damaged, one that is missing and an entry that is damaged are found.
func TestVerify(t *testing.T) {
	t.Parallel()
	b := setup(t)
	runs := map[string]string{}
	for i := range 5 {
		id := fmt.Sprint("w", i)
		runs[id] = b.end(id, "Order")
	}
	b.run()
	b.awaitArchived("w0", "w1", "w2", "w3", "w4")
	require.Empty(t, b.verify("").Damaged)
	in := b.bucket()
	require.NoError(t, in.WriteAll(t.Context(), b.historyOf(in, "w1", runs["w1"]), []byte(`{"events":[]}`), nil))
	require.NoError(t, in.Delete(t.Context(), b.historyOf(in, "w3", runs["w3"])))
	for name := range b.objects() {
		if n, ok := archive.ParseEntryName(name); ok && n.WorkflowID == "w4" {
			require.NoError(t, in.WriteAll(t.Context(), name, []byte("garbage"), nil))
		}
	}
	var damaged []string
	found := b.verify("")
	for _, d := range found.Damaged {
		damaged = append(damaged, d.WorkflowID)
		assert.Equal(t, runs[d.WorkflowID], d.RunID)
	}
	require.ElementsMatch(t, []string{"w1", "w3", "w4"}, damaged)
	require.Equal(t, 5, found.Executions)
	require.Len(t, b.list("", 2), 5)
}

// historyOf returns the name of a history.
func (b *bundle) historyOf(in *archive.Bucket, id, runID string) string {
	b.Helper()
	name, _, err := in.FindHistory(b.Context(), space, id, runID)
	require.NoError(b, err)
	return name
}

// verify verifies what a query wants of the archive.
func (b *bundle) verify(query string) (found archive.Verified) {
	b.Helper()
	var data wrapperspb.BytesValue
	request := &workflowservice.ListArchivedWorkflowExecutionsRequest{Namespace: space, Query: query}
	require.NoError(b, b.askArchive(subjects.VerbVerifyArchived, request, &data))
	require.NoError(b, json.Unmarshal(data.Value, &found))
	return found
}

// TestAnotherBucket: when a namespace names another bucket, the runs that are still there are archived in that one, too.
func TestAnotherBucket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.end("w", "Order")
	stop := b.run()
	b.awaitArchived("w")
	stop()
	limits := b.spaces[space].Limits
	limits.Archive = "jetstream://" + b.names.ArchiveBucket() + "-2"
	b.run(func(config *Config) { config.Namespaces = namespaces.Fixed{space: {Name: space, Limits: limits}} })
	b.await("it is in the other bucket", func() bool { return len(b.list("", 0)) == 1 })
}

// TestTypesThatBeginAlike: every entry of a folder is listed once, whatever the types and the size of the page.
func TestTypesThatBeginAlike(t *testing.T) {
	t.Parallel()
	b := setup(t)
	limits := b.spaces[space].Limits
	limits.Archive = "file://" + filepath.ToSlash(t.TempDir())
	b.spaces[space] = schedule.Namespace{Name: space, Limits: limits}
	var ids []string
	for i, of := range []string{"Order", "Order-2", "Order", "Order=", "Order-2", "Orders", "A"} {
		ids = append(ids, fmt.Sprint("w", i))
		b.end(ids[i], of)
	}
	b.run()
	b.awaitArchived(ids...)
	for _, size := range []int32{0, 1, 2, 3} {
		require.ElementsMatch(t, ids, b.list("", size), "pages of %d", size)
	}
	require.ElementsMatch(t, []string{"w1", "w4"}, b.list("WorkflowType = 'Order-2'", 1))
}

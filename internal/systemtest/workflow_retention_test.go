package systemtest

import (
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchpb "go.temporal.io/api/batch/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	sdkclient "go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// kept is an installation with a search index whose clock can be set ahead. Its namespace keeps runs for the shortest time.
type kept struct {
	*service
	ahead atomic.Int64
	js    jetstream.JetStream
}

// retention is the shortest that there is.
const retention = time.Hour

func newKept(t *testing.T) *kept {
	t.Helper()
	k := &kept{service: &service{t: t, names: natstest.Names(t), urls: natstest.Shared(t).ClientURL(), searches: true}}
	k.options.SweepEvery, k.options.ArchiveEvery = 50*time.Millisecond, 50*time.Millisecond
	k.options.Now = func() time.Time { return time.Now().Add(time.Duration(k.ahead.Load())) }
	k.address = k.run(1)
	k.Client = k.dial()
	_, k.js = natstest.Connect(t, k.urls)
	_, err := k.WorkflowService().UpdateNamespace(t.Context(), &workflowservice.UpdateNamespaceRequest{
		Namespace: "default", Config: &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(retention)},
	})
	require.NoError(t, err)
	natstest.Eventually(t, natstest.Patience, "the index is built", func() bool {
		_, err := k.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{})
		return err == nil
	})
	return k
}

// pass lets time pass.
func (k *kept) pass(d time.Duration) { k.ahead.Add(int64(d)) }

// listed returns the workflow IDs and the number of the runs that a list finds, which is what a count finds.
func (k *kept) listed(query string) (ids []string, runs int) {
	k.t.Helper()
	list, err := k.ListWorkflow(k.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
	require.NoError(k.t, err)
	for _, e := range list.Executions {
		ids = append(ids, e.GetExecution().GetWorkflowId())
	}
	require.Equal(k.t, k.counted(query), len(ids), "no run comes or goes meanwhile")
	slices.Sort(ids)
	return slices.Compact(ids), len(list.Executions)
}

// counted returns how many runs a count finds.
func (k *kept) counted(query string) int {
	k.t.Helper()
	count, err := k.CountWorkflow(k.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: query})
	require.NoError(k.t, err)
	return int(count.GetCount())
}

// requireGone checks that no question about a run finds it.
func (k *kept) requireGone(id, runID string) {
	k.t.Helper()
	run := &commonpb.WorkflowExecution{WorkflowId: id, RunId: runID}
	_, described := k.WorkflowService().DescribeWorkflowExecution(k.t.Context(), &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: "default", Execution: run,
	})
	_, history := k.WorkflowService().GetWorkflowExecutionHistory(k.t.Context(), &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: "default", Execution: run,
	})
	_, back := k.WorkflowService().GetWorkflowExecutionHistoryReverse(k.t.Context(), &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: "default", Execution: run,
	})
	_, queried := k.QueryWorkflow(k.t.Context(), id, runID, "state")
	for what, err := range map[string]error{
		"describe": described, "history": history, "history in reverse": back, "query": queried, "signal": k.SignalWorkflow(k.t.Context(), id, runID, "s", nil),
		"cancel": k.CancelWorkflow(k.t.Context(), id, runID), "terminate": k.TerminateWorkflow(k.t.Context(), id, runID, ""), "delete": k.delete(id, runID),
		"result": k.GetWorkflow(k.t.Context(), id, runID).Get(k.t.Context(), nil),
	} {
		var gone *serviceerror.NotFound
		require.ErrorAs(k.t, err, &gone, "%s of %s %s", what, id, runID)
	}
}

func (k *kept) delete(id, runID string) error {
	_, err := k.WorkflowService().DeleteWorkflowExecution(k.t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: runID},
	})
	return err
}

// stored returns the workflow IDs of which a journal or a delayed message is stored, and how many tasks the backlog has.
func (k *kept) stored() (ids []string, tasks int) {
	k.t.Helper()
	found := map[string]bool{}
	for shard := range 2 {
		for subject := range k.subjects(k.names.JournalStream(shard), k.names.Journals(shard, "*")) {
			_, key, err := k.names.ParseJournal(subject)
			require.NoError(k.t, err)
			found[key.ID] = true
		}
		for subject := range k.subjects(k.names.TaskStream(shard), k.names.ExecutionTimersOf(shard, "*")) {
			timer, err := k.names.ParseTimer(subject)
			require.NoError(k.t, err)
			found[timer.Key.ID] = true
		}
	}
	for _, n := range k.subjects(k.names.BacklogStream(), k.names.Backlogs()) {
		tasks += int(n)
	}
	return slices.Sorted(maps.Keys(found)), tasks
}

// subjects returns how many messages of a stream each subject has.
func (k *kept) subjects(name, filter string) map[string]uint64 {
	k.t.Helper()
	stream, err := k.js.Stream(k.t.Context(), name)
	require.NoError(k.t, err)
	info, err := stream.Info(k.t.Context(), jetstream.WithSubjectFilter(filter))
	require.NoError(k.t, err)
	return info.State.Subjects
}

// requireSound checks that what is stored fits together, and says how many workflow IDs there are.
func (k *kept) requireSound(workflows int) {
	k.t.Helper()
	checker, err := consistency.New(k.t.Context(), consistency.Config{JS: k.js, Names: k.names, Shards: 2, Pause: time.Second, Now: k.options.Now})
	require.NoError(k.t, err)
	defer checker.Close()
	report, err := checker.Check(k.t.Context(), "", false)
	require.NoError(k.t, err)
	assert.Empty(k.t, report.Findings)
	assert.Equal(k.t, workflows, report.Workflows)
}

// startAnew starts a workflow whose ID must never have been used.
func (k *kept) startAnew(id string, of any, args ...any) (sdkclient.WorkflowRun, error) {
	return k.ExecuteWorkflow(k.t.Context(), sdkclient.StartWorkflowOptions{
		ID: id, TaskQueue: workflowQueue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}, of, args...)
}

// TestRetentionOfWorkflows: runs that have ended in every way are there until the retention of their namespace is over. Then nothing of them is left,
// and their IDs can be used as if for the first time. Those in progress stay.
func TestRetentionOfWorkflows(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	k.work(sdkworker.Options{})
	ended := []sdkclient.WorkflowRun{
		k.start("completed", hello, "ann"), k.start("continued", countdown, 2), k.start("failed", flaky, int32(2)), k.start("family", family),
		k.start("terminated", sleeper, time.Hour),
	}
	open := k.start("open", sleeper, 100*time.Hour)
	for _, id := range []string{"family/ended", "terminated"} {
		natstest.Eventually(t, natstest.Patience, "it runs", func() bool { return k.TerminateWorkflow(t.Context(), id, "", "enough") == nil })
	}
	for _, run := range ended {
		_ = run.Get(t.Context(), nil)
	}
	ids, runs := k.listed("ExecutionStatus != 'Running'")
	all, _ := k.stored()
	require.Equal(t, []string{
		"completed", "continued", "failed", "family", "family/canceled", "family/count", "family/ended", "family/fails", "family/greeting", "terminated",
	}, ids)
	require.Greater(t, runs, len(ids), "some consist of several runs")
	require.ElementsMatch(t, append(ids, "open"), all)

	k.pass(retention - time.Minute)
	_, err := k.startAnew("completed", hello, "ben")
	var there *serviceerror.WorkflowExecutionAlreadyStarted
	require.ErrorAs(t, err, &there)
	still, _ := k.listed("ExecutionStatus != 'Running'")
	require.Equal(t, ids, still)

	k.pass(3 * time.Minute)
	natstest.Eventually(t, natstest.Patience, "what has ended is gone", func() bool {
		all, _ := k.stored()
		return slices.Equal(all, []string{"open"})
	})
	natstest.Eventually(t, natstest.Patience, "the index forgets it", func() bool { return k.counted("") == 1 })
	listed, _ := k.listed("")
	require.Equal(t, []string{"open"}, listed)
	for _, run := range ended {
		k.requireGone(run.GetID(), run.GetRunID())
	}
	for _, id := range ids {
		k.requireGone(id, "")
	}
	k.requireSound(1)

	again, err := k.startAnew("completed", hello, "ben")
	require.NoError(t, err)
	require.NoError(t, again.Get(t.Context(), nil))
	k.replay(again)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, k.describe(open).GetWorkflowExecutionInfo().GetStatus())
	listed, _ = k.listed("")
	require.Equal(t, []string{"completed", "open"}, listed)
}

// TestDeletedWorkflows: a run is gone for everybody as soon as its deletion is acknowledged, whether it has ended or not, also for a client that waits for
// its end. A parent hears that its child was terminated. The ID can be used as if for the first time. A batch job does the same. In the end nothing is left.
func TestDeletedWorkflows(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	k.work(sdkworker.Options{})
	completed, open := k.start("completed", hello, "ann"), k.start("open", sleeper, time.Hour)
	unserved, err := k.ExecuteWorkflow(t.Context(), sdkclient.StartWorkflowOptions{ID: "unserved", TaskQueue: "nobody"}, hello, "ann")
	require.NoError(t, err)
	for _, id := range []string{"batch-1", "batch-2"} {
		k.start(id, sleeper, time.Hour)
	}
	parent := k.start("family", family)
	require.NoError(t, completed.Get(t.Context(), nil))
	natstest.Eventually(t, natstest.Patience, "the child runs", func() bool { return k.delete("family/ended", "") == nil })
	var heard outcomes
	require.NoError(t, parent.Get(t.Context(), &heard))
	require.True(t, heard.Terminated, "a child that is deleted is terminated first")

	waiting := make(chan error, 1)
	go func() { waiting <- open.Get(t.Context(), nil) }()
	for _, run := range []sdkclient.WorkflowRun{completed, open, unserved} {
		require.NoError(t, k.delete(run.GetID(), run.GetRunID()))
		k.requireGone(run.GetID(), run.GetRunID())
		k.requireGone(run.GetID(), "")
		ids, _ := k.listed("WorkflowId = '" + run.GetID() + "'")
		require.Empty(t, ids)
	}
	var gone *serviceerror.NotFound
	require.ErrorAs(t, <-waiting, &gone)

	_, err = k.WorkflowService().StartBatchOperation(t.Context(), &workflowservice.StartBatchOperationRequest{
		Namespace: "default", JobId: "delete", Reason: "no use", VisibilityQuery: "WorkflowId STARTS_WITH 'batch' OR WorkflowId STARTS_WITH 'family'",
		Operation: &workflowservice.StartBatchOperationRequest_DeletionOperation{DeletionOperation: &batchpb.BatchOperationDeletion{}},
	})
	require.NoError(t, err)
	natstest.Eventually(t, natstest.Patience, "all are deleted", func() bool { return k.counted("") == 0 })
	for _, id := range []string{"batch-1", "batch-2", "family", "family/count", "family/canceled"} {
		k.requireGone(id, "")
	}

	again, err := k.startAnew("open", hello, "ben")
	require.NoError(t, err)
	require.NoError(t, again.Get(t.Context(), nil))
	k.replay(again)
	k.requireGone("open", open.GetRunID())
	k.pass(retention + 2*time.Minute)
	natstest.Eventually(t, natstest.Patience, "no journal and no delayed message is left", func() bool {
		ids, _ := k.stored()
		return len(ids) == 0
	})
	// The task of the workflow that no worker served is left, until somebody polls its queue.
	late := sdkworker.New(k.Client, "nobody", sdkworker.Options{})
	late.RegisterWorkflow(hello)
	require.NoError(t, late.Start())
	t.Cleanup(late.Stop)
	natstest.Eventually(t, natstest.Patience, "no task is left", func() bool {
		_, tasks := k.stored()
		return tasks == 0
	})
	k.requireSound(0)
}

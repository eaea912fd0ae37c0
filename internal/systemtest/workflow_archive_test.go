package systemtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	sdkclient "go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/archive/progress"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// archiveTo lets the namespace archive to a bucket, and keep runs for the shortest time.
func (k *kept) archiveTo(url string) {
	k.t.Helper()
	conn, _ := natstest.Connect(k.t, k.urls)
	api, err := client.New(conn, client.Config{Prefix: k.names.Prefix()})
	require.NoError(k.t, err)
	now, err := api.DescribeNamespace(k.t.Context(), "default")
	require.NoError(k.t, err)
	now.Limits.Archive = url
	_, err = api.UpdateNamespace(k.t.Context(), "default", schedule.UpdateNamespaceRequest{Limits: now.Limits, ConflictToken: now.ConflictToken})
	require.NoError(k.t, err)
}

// askArchive asks the role archival.
func (k *kept) askArchive(verb string, request, response proto.Message) error {
	return call.Ask(k.t.Context(), k.js.Conn(), k.names.Archive("default", verb), request, response)
}

// events reads a history by the API.
func (k *kept) events(run sdkclient.WorkflowRun) (all []*historypb.HistoryEvent) {
	k.t.Helper()
	each := k.GetWorkflowHistory(k.t.Context(), run.GetID(), run.GetRunID(), false, 0)
	for each.HasNext() {
		event, err := each.Next()
		require.NoError(k.t, err)
		all = append(all, event)
	}
	return all
}

// TestRetentionWaitsForTheArchive: while the bucket of a namespace cannot be used, its runs stay, long after their retention. When it can, they are
// archived, and then they go. The archive has the histories as they were, and nothing that is in progress.
func TestRetentionWaitsForTheArchive(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	k.work(sdkworker.Options{})
	dir := filepath.Join(t.TempDir(), "archive")
	k.archiveTo("file://" + filepath.ToSlash(dir))
	runs := []sdkclient.WorkflowRun{k.start("completed", hello, "ann"), k.start("failed", flaky, int32(2)), k.start("continued", countdown, 2)}
	k.start("open", sleeper, 100*time.Hour)
	histories := map[string][]*historypb.HistoryEvent{}
	for _, run := range runs {
		_ = run.Get(t.Context(), nil)
		histories[run.GetID()] = k.events(run)
	}
	before, _ := k.stored()
	k.pass(1000 * retention)
	natstest.Eventually(t, natstest.Patience, "it is known that the bucket cannot be used", func() bool {
		record, err := kv.GetJSON[progress.Status](t.Context(), kv.NewCluster(k.js, k.names), subjects.KeyArchiver)
		return err == nil && len(record.Value.Waiting) == 1
	})
	kept, _ := k.stored()
	require.Equal(t, before, kept)

	require.NoFileExists(t, dir)
	require.NoError(t, os.Mkdir(dir, 0o750))
	k.pass(time.Hour) // the pause of the namespace is over
	natstest.Eventually(t, natstest.Patience, "what has ended is gone", func() bool {
		all, _ := k.stored()
		return slices.Equal(all, []string{"open"})
	})
	for _, run := range runs {
		response := &workflowservice.GetWorkflowExecutionHistoryResponse{}
		require.NoError(t, k.askArchive(subjects.VerbArchivedHistory, &workflowservice.GetWorkflowExecutionHistoryRequest{
			Namespace: "default", Execution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
		}, response))
		require.True(t, proto.Equal(&historypb.History{Events: histories[run.GetID()]}, response.History), run.GetID())
		require.True(t, proto.Equal(response.History, &historypb.History{Events: k.events(run)}), "clients find it, too")
	}
	require.NoError(t, runs[0].Get(t.Context(), nil), "a client that asks for the result gets it")
	back, err := k.WorkflowService().GetWorkflowExecutionHistoryReverse(t.Context(), &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: "default", Execution: &commonpb.WorkflowExecution{WorkflowId: "completed", RunId: runs[0].GetRunID()}, MaximumPageSize: 1,
	})
	require.NoError(t, err)
	require.EqualValues(t, len(histories["completed"]), back.History.Events[0].EventId)
	listed, err := k.WorkflowService().ListArchivedWorkflowExecutions(t.Context(), &workflowservice.ListArchivedWorkflowExecutionsRequest{
		Namespace: "default", Query: "WorkflowId = 'completed'",
	})
	require.NoError(t, err)
	require.Len(t, listed.Executions, 1)
	_, err = k.WorkflowService().GetWorkflowExecutionHistory(t.Context(), &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: "default", Execution: &commonpb.WorkflowExecution{WorkflowId: "never"},
	})
	var gone *serviceerror.NotFound
	require.ErrorAs(t, err, &gone)
	var data wrapperspb.BytesValue
	var found archive.Verified
	require.NoError(t, k.askArchive(subjects.VerbVerifyArchived, &workflowservice.ListArchivedWorkflowExecutionsRequest{Namespace: "default"}, &data))
	require.NoError(t, json.Unmarshal(data.Value, &found))
	require.Empty(t, found.Damaged)
	require.Equal(t, 6, found.Executions, "two runs of the one that was retried, and three of the one that continued as new")
	k.requireSound(1)
}

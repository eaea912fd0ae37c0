package gateway_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
)

// another is another gateway of an installation.
func (in *installation) another() workflowservice.WorkflowServiceClient {
	_, js := natstest.Connect(in.t, in.server)
	facts, err := topology.Ensure(in.t.Context(), js, in.names, topology.Settings{Shards: shards})
	require.NoError(in.t, err)
	other := *in
	other.runGateway(js, facts)
	return workflowservice.NewWorkflowServiceClient(other.dial(insecure.NewCredentials()))
}

// beats are the heartbeats of three workers.
func beats() []*worker.WorkerHeartbeat {
	return []*worker.WorkerHeartbeat{
		{
			WorkerInstanceKey: "w1", WorkerIdentity: "ann", TaskQueue: "billing", Status: enums.WORKER_STATUS_RUNNING, SdkName: "temporal-go", SdkVersion: "1.51.0",
			HostInfo:  &worker.WorkerHostInfo{HostName: "h1", ProcessId: "7", WorkerGroupingKey: "g"},
			StartTime: timestamppb.New(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), HeartbeatTime: timestamppb.New(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)),
		},
		{
			WorkerInstanceKey: "w2", WorkerIdentity: "bob", TaskQueue: "billing", Status: enums.WORKER_STATUS_SHUTTING_DOWN, SdkName: "temporal-typescript",
			DeploymentVersion: &deployment.WorkerDeploymentVersion{DeploymentName: "d", BuildId: "b"},
		},
		{WorkerInstanceKey: "w3", TaskQueue: "it's"},
	}
}

func (in *installation) heartbeat() {
	in.t.Helper()
	_, err := in.RecordWorkerHeartbeat(in.t.Context(), &workflowservice.RecordWorkerHeartbeatRequest{Namespace: "default", WorkerHeartbeat: beats()})
	require.NoError(in.t, err)
}

// keysOf are the instance keys in a list.
func keysOf(list *workflowservice.ListWorkersResponse) string {
	var keys []string
	for _, w := range list.GetWorkers() {
		keys = append(keys, w.WorkerInstanceKey)
	}
	return strings.Join(keys, " ")
}

// TestAnyGatewayListsTheWorkersOfAll tells one gateway of workers, and asks another one.
func TestAnyGatewayListsTheWorkersOfAll(t *testing.T) {
	t.Parallel()
	in := install(t)
	other := in.another()
	var list *workflowservice.ListWorkersResponse
	natstest.Eventually(t, patience, "the other gateway hears of the workers", func() (all bool) {
		in.heartbeat()
		var err error
		list, err = other.ListWorkers(t.Context(), &workflowservice.ListWorkersRequest{Namespace: "default"})
		require.NoError(t, err)
		return len(list.Workers) == 3
	})
	want := beats()[0]
	assert.True(t, proto.Equal(&worker.WorkerListInfo{
		WorkerInstanceKey: "w1", WorkerIdentity: "ann", TaskQueue: "billing", Status: enums.WORKER_STATUS_RUNNING, SdkName: "temporal-go", SdkVersion: "1.51.0",
		StartTime: want.StartTime, HostName: "h1", WorkerGroupingKey: "g", ProcessId: "7",
	}, list.Workers[0]))
	described, err := other.DescribeWorker(t.Context(), &workflowservice.DescribeWorkerRequest{Namespace: "default", WorkerInstanceKey: "w1"})
	require.NoError(t, err)
	assert.True(t, proto.Equal(want, described.WorkerInfo.WorkerHeartbeat))
	info, err := other.DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "default"})
	require.NoError(t, err)
	assert.True(t, info.NamespaceInfo.Capabilities.WorkerHeartbeats)

	last := want
	last.Status, last.HeartbeatTime = enums.WORKER_STATUS_SHUTDOWN, timestamppb.New(want.HeartbeatTime.AsTime().Add(time.Second))
	_, err = other.ShutdownWorker(t.Context(), &workflowservice.ShutdownWorkerRequest{Namespace: "default", WorkerHeartbeat: last})
	require.NoError(t, err)
	natstest.Eventually(t, patience, "the worker is gone", func() bool {
		_, err = in.DescribeWorker(t.Context(), &workflowservice.DescribeWorkerRequest{Namespace: "default", WorkerInstanceKey: "w1"})
		return errors.As(err, new(*serviceerror.NotFound))
	})
}

func TestQueriesAboutWorkers(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.heartbeat()
	for query, want := range map[string]string{
		"":                      "w1 w2 w3",
		`TaskQueue = "billing"`: "w1 w2",
		`TaskQueue = 'it\'s'`:   "w3",
		"WorkerStatus = 'Running' or Status = 'ShuttingDown'": "w1 w2",
		"WorkerIdentity != 'ann'":                             "w2",
		"WorkerIdentity is null":                              "w3",
		"HostName starts_with 'h' and SdkVersion = '1.51.0'":  "w1",
		"DeploymentName = 'd' and BuildId = 'b' and SdkName in ('temporal-typescript', 'temporal-go')": "w2",
		"StartTime < '2026-01-01T00:00:01Z' and HeartbeatTime >= '2026-01-02'":                         "w1",
		"not (WorkerInstanceKey = 'w2' or HeartbeatTime is not null)":                                  "w3",
	} {
		list, err := in.ListWorkers(t.Context(), &workflowservice.ListWorkersRequest{Namespace: "default", Query: query})
		require.NoError(t, err, query)
		assert.Equal(t, want, keysOf(list), query)
		count, err := in.CountWorkers(t.Context(), &workflowservice.CountWorkersRequest{Namespace: "default", Query: query})
		require.NoError(t, err, query)
		assert.EqualValues(t, len(list.Workers), count.Count, query)
	}
	var invalid *serviceerror.InvalidArgument
	_, err := in.ListWorkers(t.Context(), &workflowservice.ListWorkersRequest{Namespace: "default", Query: "Host = 'h1'"})
	require.ErrorAs(t, err, &invalid)
	assert.Contains(t, invalid.Message, "at character 1: no worker has Host")
	_, err = in.CountWorkers(t.Context(), &workflowservice.CountWorkersRequest{Namespace: "default", Query: "TaskQueue = "})
	require.ErrorAs(t, err, &invalid)
}

// TestPagesOfWorkers: each worker is on one page.
func TestPagesOfWorkers(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.heartbeat()
	request := &workflowservice.ListWorkersRequest{Namespace: "default", PageSize: 2}
	var pages []string
	for {
		page, err := in.ListWorkers(t.Context(), request)
		require.NoError(t, err)
		pages = append(pages, keysOf(page))
		if request.NextPageToken = page.NextPageToken; page.NextPageToken == nil {
			break
		}
	}
	assert.Equal(t, []string{"w1 w2", "w3"}, pages)
	request.PageSize = -1
	_, err := in.ListWorkers(t.Context(), request)
	var invalid *serviceerror.InvalidArgument
	require.ErrorAs(t, err, &invalid)

	many := &workflowservice.RecordWorkerHeartbeatRequest{Namespace: "default"}
	for i := range 1000 {
		many.WorkerHeartbeat = append(many.WorkerHeartbeat, &worker.WorkerHeartbeat{WorkerInstanceKey: fmt.Sprint("x", i)})
	}
	_, err = in.RecordWorkerHeartbeat(t.Context(), many)
	require.NoError(t, err)
	page, err := in.ListWorkers(t.Context(), &workflowservice.ListWorkersRequest{Namespace: "default"})
	require.NoError(t, err)
	assert.Len(t, page.Workers, 1000)
	assert.NotEmpty(t, page.NextPageToken)
}

// TestHeartbeatsThatAreRefused: none of a request is noted.
func TestHeartbeatsThatAreRefused(t *testing.T) {
	t.Parallel()
	in := install(t)
	for _, bad := range []*worker.WorkerHeartbeat{{TaskQueue: "q"}, {WorkerInstanceKey: "w", TaskQueue: strings.Repeat("x", 64<<10)}} {
		_, err := in.RecordWorkerHeartbeat(t.Context(), &workflowservice.RecordWorkerHeartbeatRequest{
			Namespace: "default", WorkerHeartbeat: slices.Concat(beats(), []*worker.WorkerHeartbeat{bad}),
		})
		var invalid *serviceerror.InvalidArgument
		require.ErrorAs(t, err, &invalid)
	}
	count, err := in.CountWorkers(t.Context(), &workflowservice.CountWorkersRequest{Namespace: "default"})
	require.NoError(t, err)
	assert.Zero(t, count.Count)
	_, err = in.DescribeWorker(t.Context(), &workflowservice.DescribeWorkerRequest{Namespace: "default"})
	var invalid *serviceerror.InvalidArgument
	require.ErrorAs(t, err, &invalid)
}

package gateway_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/carillon-scheduler/carillon/gateway"
)

func TestSystemInfo(t *testing.T) {
	t.Parallel()
	in := install(t)
	info, err := in.GetSystemInfo(t.Context(), &workflowservice.GetSystemInfoRequest{})
	require.NoError(t, err)
	assert.NotEmpty(t, info.ServerVersion)
	assert.True(t, info.Capabilities.SdkMetadata)
	assert.True(t, info.Capabilities.SupportsSchedules)
	assert.True(t, info.Capabilities.EagerWorkflowStart)
	assert.True(t, info.Capabilities.BuildIdBasedVersioning)
	cluster, err := in.GetClusterInfo(t.Context(), &workflowservice.GetClusterInfoRequest{})
	require.NoError(t, err)
	assert.Equal(t, in.names.Prefix(), cluster.ClusterName)
	assert.EqualValues(t, shards, cluster.HistoryShardCount)
	assert.NotEmpty(t, cluster.ClusterId)
	assert.Equal(t, "1.2.3", cluster.VersionInfo.Current.Version)
	list, err := in.operators.ListClusters(t.Context(), &operatorservice.ListClustersRequest{})
	require.NoError(t, err)
	require.Len(t, list.Clusters, 1, "an installation is a cluster without others")
	assert.Equal(t, cluster.ClusterName, list.Clusters[0].ClusterName)
	assert.Equal(t, cluster.ClusterId, list.Clusters[0].ClusterId)
	assert.Equal(t, cluster.HistoryShardCount, list.Clusters[0].HistoryShardCount)
	assert.True(t, list.Clusters[0].IsConnectionEnabled)
	assert.Empty(t, list.NextPageToken)
}

// TestUnknownMethod: what Temporal's definitions do not have yet is unknown. SDKs look for these words.
func TestUnknownMethod(t *testing.T) {
	t.Parallel()
	in := install(t)
	var unimplemented *serviceerror.Unimplemented
	err := in.grpc.Invoke(t.Context(), "/temporal.api.workflowservice.v1.WorkflowService/NoSuchThing",
		&workflowservice.GetSystemInfoRequest{}, &workflowservice.GetSystemInfoResponse{})
	require.ErrorAs(t, err, &unimplemented)
	assert.Contains(t, err.Error(), "unknown method")
}

func TestHealthAndReflection(t *testing.T) {
	t.Parallel()
	in := install(t)
	health := grpc_health_v1.NewHealthClient(in.grpc)
	watch, err := health.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "temporal.api.workflowservice.v1.WorkflowService"})
	require.NoError(t, err)
	state, err := watch.Recv()
	for err == nil && state.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		state, err = watch.Recv()
	}
	require.NoError(t, err)
	stream, err := grpc_reflection_v1.NewServerReflectionClient(in.grpc).ServerReflectionInfo(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{},
	}))
	answer, err := stream.Recv()
	require.NoError(t, err)
	var services []string
	for _, service := range answer.GetListServicesResponse().GetService() {
		services = append(services, service.GetName())
	}
	assert.Contains(t, services, "temporal.api.workflowservice.v1.WorkflowService")
	assert.Contains(t, services, "temporal.api.operatorservice.v1.OperatorService")
	require.NoError(t, stream.CloseSend())
	go in.stop()
	state, err = watch.Recv()
	require.NoError(t, err)
	assert.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, state.Status)
}

func TestIncompleteConfig(t *testing.T) {
	t.Parallel()
	in := install(t)
	listener := in.listen()
	_, err := gateway.New(gateway.Config{GRPC: listener, HTTP: in.listen()})
	require.Error(t, err)
	_, err = listener.Accept()
	assert.Error(t, err, "it has been closed")
}

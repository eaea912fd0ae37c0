package gateway_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/replication/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (in *installation) describe(name string) *workflowservice.DescribeNamespaceResponse {
	in.t.Helper()
	d, err := in.DescribeNamespace(in.t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: name})
	require.NoError(in.t, err)
	return d
}

func TestDefaultNamespace(t *testing.T) {
	t.Parallel()
	in := install(t)
	d := in.describe("default")
	assert.Equal(t, "default", d.NamespaceInfo.Name)
	assert.Equal(t, enums.NAMESPACE_STATE_REGISTERED, d.NamespaceInfo.State)
	assert.EqualValues(t, 2<<20, d.NamespaceInfo.Limits.BlobSizeLimitError)
	byID, err := in.DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Id: d.NamespaceInfo.Id})
	require.NoError(t, err)
	assert.Equal(t, "default", byID.NamespaceInfo.Name)
}

// TestLifeOfANamespace creates a namespace, changes it, uses it at once, and deletes it.
func TestLifeOfANamespace(t *testing.T) {
	t.Parallel()
	in := install(t)
	register := &workflowservice.RegisterNamespaceRequest{
		Namespace: "shop", Description: "first", WorkflowExecutionRetentionPeriod: durationpb.New(48 * time.Hour),
	}
	_, err := in.RegisterNamespace(t.Context(), register)
	require.NoError(t, err)
	_, err = in.operators.ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{Namespace: "shop"})
	require.NoError(t, err, "it can be used at once")
	_, err = in.RegisterNamespace(t.Context(), register)
	var exists *serviceerror.NamespaceAlreadyExists
	require.ErrorAs(t, err, &exists)
	updated, err := in.UpdateNamespace(t.Context(), &workflowservice.UpdateNamespaceRequest{
		Namespace: "shop", UpdateInfo: &namespace.UpdateNamespaceInfo{Description: "second"},
		Config: &namespace.NamespaceConfig{HistoryArchivalState: enums.ARCHIVAL_STATE_DISABLED},
	})
	require.NoError(t, err)
	assert.Equal(t, "second", updated.NamespaceInfo.Description)
	assert.Equal(t, "second", in.describe("shop").NamespaceInfo.Description)
	assert.Equal(t, 48*time.Hour, in.describe("shop").Config.WorkflowExecutionRetentionTtl.AsDuration())
	updated, err = in.UpdateNamespace(t.Context(), &workflowservice.UpdateNamespaceRequest{
		Namespace: "shop", Config: &namespace.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(90 * time.Minute)},
	})
	require.NoError(t, err)
	assert.Equal(t, 90*time.Minute, updated.Config.WorkflowExecutionRetentionTtl.AsDuration())
	assert.Equal(t, 90*time.Minute, in.describe("shop").Config.WorkflowExecutionRetentionTtl.AsDuration())
	assert.Equal(t, "second", in.describe("shop").NamespaceInfo.Description)
	assert.Equal(t, 72*time.Hour, in.describe("default").Config.WorkflowExecutionRetentionTtl.AsDuration(), "if nothing is set")

	var names []string
	request := &workflowservice.ListNamespacesRequest{PageSize: 1}
	for {
		page, err := in.ListNamespaces(t.Context(), request)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Namespaces), 1)
		for _, one := range page.Namespaces {
			names = append(names, one.NamespaceInfo.Name)
		}
		if request.NextPageToken = page.NextPageToken; len(request.NextPageToken) == 0 {
			break
		}
	}
	assert.Equal(t, []string{"default", "shop"}, names)

	deleted, err := in.operators.DeleteNamespace(t.Context(), &operatorservice.DeleteNamespaceRequest{Namespace: "shop"})
	require.NoError(t, err)
	assert.Equal(t, "shop", deleted.DeletedNamespace)
	natstest.Eventually(t, patience, "starts are refused", func() bool {
		_, err := in.StartWorkflowExecution(t.Context(), &workflowservice.StartWorkflowExecutionRequest{Namespace: "shop"})
		var marked *serviceerror.NamespaceInvalidState
		var gone *serviceerror.NamespaceNotFound
		return errors.As(err, &marked) || errors.As(err, &gone)
	})
}

// TestNamespacesRefuse what Carillon does not keep.
func TestNamespacesRefuse(t *testing.T) {
	t.Parallel()
	in := install(t)
	var unimplemented *serviceerror.Unimplemented
	var invalid *serviceerror.InvalidArgument
	var notFound *serviceerror.NamespaceNotFound
	for name, r := range map[string]*workflowservice.RegisterNamespaceRequest{
		"global":    {Namespace: "n", IsGlobalNamespace: true},
		"owned":     {Namespace: "n", OwnerEmail: "a@b"},
		"with data": {Namespace: "n", Data: map[string]string{"a": "b"}},
	} {
		_, err := in.RegisterNamespace(t.Context(), r)
		assert.ErrorAs(t, err, &unimplemented, name)
	}
	for _, name := range []string{"", "UPPER", "a b", "a.b", "*"} {
		_, err := in.RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{Namespace: name})
		assert.ErrorAs(t, err, &invalid, name)
	}
	for _, name := range []string{"missing", "UPPER", "a.b", "*", ">"} {
		_, err := in.DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: name})
		assert.ErrorAs(t, err, &notFound, name)
		_, err = in.UpdateNamespace(t.Context(), &workflowservice.UpdateNamespaceRequest{Namespace: name})
		assert.ErrorAs(t, err, &notFound, name)
		_, err = in.operators.DeleteNamespace(t.Context(), &operatorservice.DeleteNamespaceRequest{Namespace: name})
		assert.ErrorAs(t, err, &notFound, name)
	}
	_, err := in.DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{})
	require.ErrorAs(t, err, &invalid)
	_, err = in.DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Id: "x"})
	require.ErrorAs(t, err, &notFound)
	for says, r := range map[string]*workflowservice.UpdateNamespaceRequest{
		"owner and data":                  {UpdateInfo: &namespace.UpdateNamespaceInfo{OwnerEmail: "a@b"}},
		"replication between clusters":    {ReplicationConfig: &replication.NamespaceReplicationConfig{ActiveClusterName: "other"}},
		"replication between clusters is": {PromoteNamespace: true},
		"only the retention":              {DeleteBadBinary: "x"},
	} {
		r.Namespace = "default"
		_, err = in.UpdateNamespace(t.Context(), r)
		require.ErrorAs(t, err, &unimplemented)
		assert.ErrorContains(t, err, says)
	}
	for _, keep := range []time.Duration{-time.Hour, time.Hour - 1, schedule.MaxWorkflowRetention + 1} {
		_, err = in.UpdateNamespace(t.Context(), &workflowservice.UpdateNamespaceRequest{
			Namespace: "default", Config: &namespace.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(keep)},
		})
		require.ErrorAs(t, err, &invalid)
		_, err = in.RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
			Namespace: "n", WorkflowExecutionRetentionPeriod: durationpb.New(keep),
		})
		require.ErrorAs(t, err, &invalid)
	}
	page, err := in.ListNamespaces(t.Context(), &workflowservice.ListNamespacesRequest{NextPageToken: []byte("zzz"), PageSize: -1})
	require.NoError(t, err)
	assert.Empty(t, page.Namespaces)
	var precondition *serviceerror.FailedPrecondition
	_, err = in.operators.DeleteNamespace(t.Context(), &operatorservice.DeleteNamespaceRequest{Namespace: "default"})
	require.ErrorAs(t, err, &precondition, "every installation has it")
}

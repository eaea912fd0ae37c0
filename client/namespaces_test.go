package client_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestNamespaces(t *testing.T) {
	t.Parallel()
	c := serve(t)
	ctx := t.Context()
	created, err := c.CreateNamespace(ctx, "billing", schedule.CreateNamespaceRequest{Description: "invoices"})
	require.NoError(t, err)
	assert.Equal(t, "invoices", created.Description)
	_, err = c.CreateNamespace(ctx, "billing", schedule.CreateNamespaceRequest{})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeAlreadyExists})

	updated, err := c.UpdateNamespace(ctx, "billing", schedule.UpdateNamespaceRequest{
		Limits: schedule.NamespaceLimits{MaxSchedules: 5}, ConflictToken: created.ConflictToken,
	})
	require.NoError(t, err)
	frozen, err := c.FreezeNamespace(ctx, "billing", schedule.FreezeNamespaceRequest{Reason: "stocktaking"})
	require.NoError(t, err)
	assert.Equal(t, "stocktaking", frozen.Freeze.Reason)
	described, err := c.DescribeNamespace(ctx, "billing")
	require.NoError(t, err)
	assert.Equal(t, updated.Limits, described.Limits)
	assert.Zero(t, described.Info.Usage.Schedules)
	unfrozen, err := c.UnfreezeNamespace(ctx, "billing")
	require.NoError(t, err)
	assert.Nil(t, unfrozen.Freeze)

	var names []string
	for namespace, err := range c.Namespaces(ctx) {
		require.NoError(t, err)
		names = append(names, namespace.Name)
	}
	assert.Equal(t, []string{"billing", client.DefaultNamespace}, names)
	deleted, err := c.DeleteNamespace(ctx, "billing", schedule.DeleteNamespaceRequest{})
	require.NoError(t, err)
	assert.True(t, deleted.Deleting)

	_, err = c.DescribeNamespace(ctx, "no.such")
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeInvalidArgument}, "it would be another subject")
	_, err = c.DescribeNamespace(ctx, "none")
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeNotFound})
}

package gateway_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
)

// archiveOf returns the archive of a namespace as clients see it.
func (in *installation) archiveOf(name string) (enums.ArchivalState, string) {
	config := in.describe(name).Config
	assert.Equal(in.t, config.HistoryArchivalState, config.VisibilityArchivalState)
	assert.Equal(in.t, config.HistoryArchivalUri, config.VisibilityArchivalUri)
	return config.HistoryArchivalState, config.HistoryArchivalUri
}

// TestArchiveOfANamespace: Temporal's settings of archival are those of the archive, for histories and lists together.
func TestArchiveOfANamespace(t *testing.T) {
	t.Parallel()
	in := install(t)
	const on, off = enums.ARCHIVAL_STATE_ENABLED, enums.ARCHIVAL_STATE_DISABLED
	_, err := in.RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: "shop", HistoryArchivalState: on, HistoryArchivalUri: "file:///tmp/archive", VisibilityArchivalState: off,
	})
	require.NoError(t, err)
	state, uri := in.archiveOf("shop")
	assert.Equal(t, on, state)
	assert.Equal(t, "file:///tmp/archive", uri)
	for _, step := range []struct {
		config *namespace.NamespaceConfig
		state  enums.ArchivalState
		uri    string
	}{
		{&namespace.NamespaceConfig{}, on, "file:///tmp/archive"},
		{&namespace.NamespaceConfig{HistoryArchivalState: off}, off, ""},
		{&namespace.NamespaceConfig{VisibilityArchivalState: on}, on, "jetstream://"},
		{&namespace.NamespaceConfig{HistoryArchivalUri: "jetstream://other"}, on, "jetstream://other"},
	} {
		_, err := in.UpdateNamespace(t.Context(), &workflowservice.UpdateNamespaceRequest{Namespace: "shop", Config: step.config})
		require.NoError(t, err)
		state, uri := in.archiveOf("shop")
		assert.Equal(t, step.state, state)
		assert.Equal(t, step.uri, uri)
	}
	state, uri = in.archiveOf("default")
	assert.Equal(t, off, state)
	assert.Empty(t, uri)
}

// TestArchiveRefused: what cannot be an archive is refused.
func TestArchiveRefused(t *testing.T) {
	t.Parallel()
	in := install(t)
	const on = enums.ARCHIVAL_STATE_ENABLED
	var invalid *serviceerror.InvalidArgument
	for _, config := range []*namespace.NamespaceConfig{
		{HistoryArchivalUri: "file:///tmp/archive"}, {HistoryArchivalState: on, HistoryArchivalUri: "ftp://host"},
		{HistoryArchivalState: on, HistoryArchivalUri: "file:///a", VisibilityArchivalUri: "file:///b"},
	} {
		_, err := in.UpdateNamespace(t.Context(), &workflowservice.UpdateNamespaceRequest{Namespace: "default", Config: config})
		assert.ErrorAs(t, err, &invalid, "%v", config)
	}
}

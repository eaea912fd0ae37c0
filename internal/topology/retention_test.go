package topology_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/topology"
)

// TestEventsMayExpireInAnInstallationThatIsThere: its event stream was made when no event could expire.
func TestEventsMayExpireInAnInstallationThatIsThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, config := range b.names.StreamConfigs(1, 1) {
		if config.Name == b.names.EventStream() {
			config.AllowMsgTTL = false
			_, err := b.js.CreateStream(t.Context(), config)
			require.NoError(t, err)
		}
	}
	_, err := b.js.Publish(t.Context(), b.names.Prefix()+".event.default.a.started", []byte("{}"))
	require.NoError(t, err)
	for range 2 {
		b.ensure(t, topology.Settings{Shards: 1})
	}
	stream, err := b.js.Stream(t.Context(), b.names.EventStream())
	require.NoError(t, err)
	require.True(t, stream.CachedInfo().Config.AllowMsgTTL)
	require.EqualValues(t, 1, stream.CachedInfo().State.Msgs)
}

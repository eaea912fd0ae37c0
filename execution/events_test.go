package execution

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKindsOfEvents: each message with attributes of an event belongs to a type of events.
func TestKindsOfEvents(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, kind := range kinds {
		require.NotZero(t, kind.of, name)
		require.Empty(t, seen[kind.of.String()], name)
		seen[kind.of.String()] = string(name)
	}
	require.Equal(t, "temporal.api.history.v1.WorkflowExecutionStartedEventAttributes", seen["WorkflowExecutionStarted"])
}

package invoker

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

// TestEveryOverlapPolicyHasItsPlace: without a row in the table, a policy would skip whatever it has no room for.
func TestEveryOverlapPolicyHasItsPlace(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/semantics.md")
	require.NoError(t, err)
	for _, policy := range schedule.OverlapPolicies() {
		_, decided := collisions[policy]
		assert.True(t, decided || policy == schedule.OverlapAllowAll, "%s: say in collisions what it does", policy)
		assert.Contains(t, string(page), "\n| `"+string(policy)+"`", "docs/semantics.md needs a row")
	}
	assert.Len(t, collisions, len(schedule.OverlapPolicies())-1)
}

package gateway

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestStoppedWorkersAreForgotten: what has stopped is remembered for a short time, and what is remembered is bounded.
func TestStoppedWorkersAreForgotten(t *testing.T) {
	t.Parallel()
	var s stoppedWorkers
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	one := workerKey{"default", "one"}
	assert.False(t, s.has(one, now))
	s.add(one, now)
	s.add(workerKey{"default", ""}, now)
	assert.True(t, s.has(one, now.Add(keepStopped-1)))
	assert.False(t, s.has(one, now.Add(keepStopped)))
	assert.False(t, s.has(workerKey{"other", "one"}, now))
	assert.False(t, s.has(workerKey{"default", ""}, now), "a worker without a key is nobody")
	for i := range maxStopped {
		s.add(workerKey{"default", fmt.Sprint(i)}, now)
	}
	assert.Len(t, s, maxStopped)
	s.add(one, now.Add(keepStopped))
	assert.Len(t, s, 1)
}

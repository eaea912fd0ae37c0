package frontend

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestGateHasRoom(t *testing.T) {
	t.Parallel()
	g := newGate(2)
	require.Nil(t, g.enter())
	require.Nil(t, g.enter())
	assert.Equal(t, schedule.CodeResourceExhausted, g.enter().Code)
	g.leave()
	require.Nil(t, g.enter())
}

func TestGateCloses(t *testing.T) {
	t.Parallel()
	g := newGate(2)
	require.Nil(t, g.enter())
	empty := g.close()
	assert.Equal(t, schedule.CodeUnavailable, g.enter().Code)
	assert.False(t, isClosed(empty))
	g.leave()
	assert.True(t, isClosed(empty))
}

func TestGateClosesEmpty(t *testing.T) {
	t.Parallel()
	assert.True(t, isClosed(newGate(1).close()))
}

func TestGateCountsConcurrentRequests(t *testing.T) {
	t.Parallel()
	g := newGate(100)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			assert.Nil(t, g.enter())
			g.leave()
		})
	}
	all.Wait()
	assert.True(t, isClosed(g.close()))
}

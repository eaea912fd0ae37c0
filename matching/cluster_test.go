package matching_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestACluster: tasks are stored and taken while the nodes of a cluster are killed, one after the other. Each is started once.
func TestACluster(t *testing.T) {
	t.Parallel()
	const tasks = 300
	cluster := natstest.Cluster(t, 3)
	b := newBench(t, cluster.URLs(), 3)
	b.match(t)
	b.match(t)
	first, _ := b.poll(t, b.polls, workflows)
	second, _ := b.poll(t, b.gateway(t), workflows)
	b.store(t, workflows, 0, tasks/3)
	for i := range 2 {
		cluster.Kill(i)
		b.store(t, workflows, (i+1)*tasks/3, (i+2)*tasks/3)
		cluster.Restart(i)
		cluster.AwaitCurrent(t.Context(), b.js)
	}
	natstest.Eventually(t, natstest.Patience, "history has started all tasks", func() bool {
		b.history.mu.Lock()
		defer b.history.mu.Unlock()
		return len(b.history.started) == tasks
	})
	b.requireDrained(t, workflows)
	// A task whose hand-over the death of a node has cut off is brought back by its timeout, which this history does not have.
	assert.Greater(t, first.len()+second.len(), tasks*8/10)
}

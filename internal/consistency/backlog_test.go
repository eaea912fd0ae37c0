package consistency

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
)

// TestABacklogThatGrowsIsReadToAnEnd: for each task that is read another one comes.
func TestABacklogThatGrowsIsReadToAnEnd(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	names := natstest.Names(t)
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: names.BacklogStream(), Subjects: []string{names.Backlogs()}, AllowDirect: true, Storage: jetstream.MemoryStorage,
	})
	require.NoError(t, err)
	queue := offer.Queue{Namespace: "n", Kind: offer.Activity, Name: "q"}
	data, err := offer.Task{Namespace: "n", WorkflowID: "w", RunID: "r"}.Marshal()
	require.NoError(t, err)
	add := func() {
		_, err := js.Publish(t.Context(), names.Backlog(queue), data)
		require.NoError(t, err)
	}
	line := lineOf(queue, &offer.Task{})
	r := &reader{executing: natstest.Bus(t, js), names: names}
	deadline := time.Now().Add(natstest.Patience)
	read := 0
	again := func(uint64, *offer.Task) bool {
		add()
		read++
		return time.Now().Before(deadline)
	}
	add()
	next, err := r.backlog(t.Context(), line, again)
	require.NoError(t, err)
	require.Equal(t, 1, read)
	require.NoError(t, r.newest(t.Context(), line, next, again))
	require.Equal(t, 2, read, "only what the replicas did not have")
	require.NoError(t, r.newest(t.Context(), line, 1, again))
	require.Equal(t, 5, read)
	require.True(t, time.Now().Before(deadline), "it has no end")
}

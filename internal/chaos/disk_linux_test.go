package chaos

import (
	"context"
	"os"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// TestFullDisks: a cluster whose disks are all full stores nothing. When there is room again it continues, with everything that
// was acknowledged. Nobody restarts a process.
func TestFullDisks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may mount the small disks of the nodes")
	}
	t.Parallel()
	in, js := cluster(t, true)
	stored := uint64(0)
	store := func(ctx context.Context) error {
		ack, err := js.Publish(ctx, "s", make([]byte, 4096), jetstream.WithRetryAttempts(0))
		if err == nil {
			stored = ack.Sequence
		}
		return err
	}
	until(t, store)
	for _, node := range nodeNames() {
		require.NoError(t, in.begin(&fault{Kind: FillDisk, Victims: []string{node}}))
	}
	until(t, func(ctx context.Context) error {
		if store(ctx) == nil {
			return context.DeadlineExceeded // there was some room left
		}
		return nil
	})
	for _, node := range nodeNames() {
		require.NoError(t, in.end(&fault{Kind: FillDisk, Victims: []string{node}}))
	}
	acknowledged := stored
	until(t, store)
	stream, err := js.Stream(t.Context(), "S")
	require.NoError(t, err)
	require.GreaterOrEqual(t, stream.CachedInfo().State.Msgs, acknowledged+1)
	require.Empty(t, in.exits(), "a node has ended")
}

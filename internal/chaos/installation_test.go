package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/sleep"
)

// patience bounds each wait of the tests on a busy machine.
const patience = natstest.Patience

// cluster starts the nodes of an installation, and a stream on them. The connection is to a node other than the first, which
// the tests cut off.
func cluster(t *testing.T, ownDisks bool) (*installation, jetstream.JetStream) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	binary, err := carillon()
	require.NoError(t, err)
	in, err := newInstallation(t.Context(), t.TempDir(), binary, ownDisks)
	require.NoError(t, err)
	t.Cleanup(in.close)
	require.NoError(t, in.start(nodeNames()...))
	_, others, _ := strings.Cut(in.urls, ",")
	o, err := observe(others)
	require.NoError(t, err)
	t.Cleanup(o.close)
	js, err := jetstream.New(o.conn)
	require.NoError(t, err)
	until(t, func(ctx context.Context) error {
		_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Replicas: nodeCount})
		return err
	})
	return in, js
}

// until repeats a call until it succeeds.
func until(t *testing.T, call func(context.Context) error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if err = within(t.Context(), call); err == nil {
			return
		}
		_ = sleep.For(t.Context(), 50*time.Millisecond)
	}
	require.NoError(t, err)
}

func within(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return call(ctx)
}

// TestFullNodesRefuseToStore: full nodes refuse to store until they have room again.
func TestFullNodesRefuseToStore(t *testing.T) {
	t.Parallel()
	in, js := cluster(t, false)
	store := func(ctx context.Context) error {
		_, err := js.Publish(ctx, "s", []byte("text"), jetstream.WithRetryAttempts(0))
		return err
	}
	until(t, store)
	for _, node := range nodeNames() { // one of them leads the stream
		require.NoError(t, in.begin(&fault{Kind: FillQuota, Victims: []string{node}}))
	}
	until(t, func(ctx context.Context) error {
		var refused *jetstream.APIError
		err := store(ctx)
		if err == nil {
			return nats.ErrTimeout // the signal is still on its way
		}
		require.ErrorAs(t, err, &refused)
		return nil
	})
	for _, node := range nodeNames() {
		require.NoError(t, in.end(&fault{Kind: FillQuota, Victims: []string{node}}))
	}
	until(t, store)
	require.Empty(t, in.exits(), "a signal has ended a node")
}

// TestNodeThatIsCutOff: a node that is cut off loses touch with the others until it is back. It cannot bypass the links.
func TestNodeThatIsCutOff(t *testing.T) {
	t.Parallel()
	in, js := cluster(t, false)
	fault := &fault{Kind: CutNode, Victims: nodeNames()[:1]}
	inTouch := func(ctx context.Context) (bool, error) {
		stream, err := js.Stream(ctx, "S")
		if err != nil {
			return false, err
		}
		group := stream.CachedInfo().Cluster
		if group.Leader == "" {
			return false, errors.New("there is no leader")
		}
		for _, replica := range group.Replicas {
			// This is the node itself, or every other one if the node leads, or does not know better yet.
			if group.Leader == fault.Victims[0] || replica.Name == fault.Victims[0] {
				if !replica.Current || replica.Active > 2*time.Second {
					return false, nil
				}
			}
		}
		return true, nil
	}
	await := func(want bool) {
		until(t, func(ctx context.Context) error {
			if touch, err := inTouch(ctx); err != nil || touch != want {
				return errors.Join(err, fmt.Errorf("in touch: %t", touch))
			}
			return nil
		})
	}
	require.NoError(t, in.begin(fault))
	await(false)
	require.NoError(t, in.end(fault))
	await(true)
}

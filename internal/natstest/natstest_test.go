package natstest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestMain(m *testing.M) { natstest.Main(m) }

func TestNamesAreUniqueAndValid(t *testing.T) {
	t.Parallel()
	t.Run("a name with Spaces, Ünïcode/and slashes that is far too long", func(t *testing.T) {
		t.Parallel()
		first, second := natstest.Names(t), natstest.Names(t)
		require.NotEqual(t, first.Prefix(), second.Prefix())
		_, err := subjects.New(first.Prefix())
		require.NoError(t, err)
	})
}

func TestSharedServerIsOne(t *testing.T) {
	t.Parallel()
	require.Same(t, natstest.Shared(t), natstest.Shared(t))
	_, js := natstest.Connect(t, natstest.Shared(t).ClientURL())
	_, err := js.AccountInfo(t.Context())
	require.NoError(t, err)
}

// TestLoggerAfterTheEnd would panic if a late line reached its test.
func TestLoggerAfterTheEnd(t *testing.T) {
	t.Parallel()
	var late func()
	t.Run("logs", func(t *testing.T) {
		log := natstest.Logger(t)
		log.Info("in time")
		late = func() { log.Info("too late") }
	})
	late()
}

func TestEventuallySaysWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	calls := 0
	natstest.Eventually(t, natstest.Patience, "the third call", func() bool { calls++; return calls == 3 })
	require.Equal(t, 3, calls)

	failure := &recorder{TB: t}
	func() {
		defer func() { _ = recover() }()
		natstest.Eventually(failure, time.Millisecond, "pigs fly", func() bool { return false })
	}()
	require.Equal(t, "after 1ms, still waiting until pigs fly", failure.message)
}

// TestNodeKeepsItsDataWhenKilled stores a message on a node of its own and kills it.
func TestNodeKeepsItsDataWhenKilled(t *testing.T) {
	t.Parallel()
	for _, sync := range []natsserver.SyncMode{natsserver.SyncAlways, natsserver.SyncInterval} {
		t.Run(string(sync), func(t *testing.T) {
			t.Parallel()
			c := natstest.Cluster(t, 1, natstest.Sync(sync))
			_, js := natstest.Connect(t, c.URLs())
			_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "KEEP", Subjects: []string{"keep"}})
			require.NoError(t, err)
			_, err = js.Publish(t.Context(), "keep", []byte("me"))
			require.NoError(t, err)
			c.Kill(0)
			c.Restart(0)
			require.EqualValues(t, 1, messages(t, js, "KEEP"))
		})
	}
}

// TestClusterSurvivesTheDeathOfALeader kills the node that leads a stream, and waits for another to lead.
func TestClusterSurvivesTheDeathOfALeader(t *testing.T) {
	t.Parallel()
	c := natstest.Cluster(t, 3)
	_, js := natstest.Connect(t, c.URLs())
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Replicas: 3})
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), "s", nil)
	require.NoError(t, err)

	first := c.Leader(t.Context(), js, "S")
	c.Kill(first)
	second := c.Leader(t.Context(), js, "S")
	require.NotEqual(t, first, second)
	require.EqualValues(t, 1, messages(t, js, "S"))

	c.Restart(first)
	c.Leader(t.Context(), js, "S")
	// On a connection of its own: a connection to a suspended node does not notice for minutes.
	_, other := natstest.Connect(t, c.Node(3-first-second).URL())
	c.Node(second).Suspend()
	natstest.Eventually(t, natstest.Patience, "the other two have elected a leader", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := other.Publish(ctx, "s", nil)
		return err == nil
	})
	c.Node(second).Resume()
	c.Leader(t.Context(), js, "S")
	require.Equal(t, 3, strings.Count(c.URLs(), "nats://"))
}

func messages(t *testing.T, js jetstream.JetStream, stream string) (n uint64) {
	t.Helper()
	natstest.Eventually(t, natstest.Patience, "stream "+stream+" answers", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s, err := js.Stream(ctx, stream)
		if err != nil {
			return false
		}
		n = s.CachedInfo().State.Msgs
		return true
	})
	return n
}

// recorder keeps the message a test would fail with.
type recorder struct {
	testing.TB
	message string
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.message = fmt.Sprintf(format, args...)
	panic(r.message)
}

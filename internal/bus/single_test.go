package bus_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestAStreamThatGetsReplicas is known to have them before they answer reads: what NATS has said of it counts for a while only.
func TestAStreamThatGetsReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		replicas, asked := 1, 0
		ask := func(context.Context) (int, error) {
			asked++
			return replicas, nil
		}
		var s bus.Single
		require.True(t, s.Is(t.Context(), ask))
		replicas = 3
		require.True(t, s.Is(t.Context(), ask), "it is not asked each time")
		time.Sleep(bus.SingleAge)
		require.False(t, s.Is(t.Context(), ask))
		require.Equal(t, 2, asked)
		time.Sleep(bus.SingleAge)
		unknown := func(context.Context) (int, error) { return 0, errors.New("no answer") }
		require.False(t, s.Is(t.Context(), unknown), "what is not known is not relied on")
	})
}

// TestLatest: the last message of a subject is the same, whether the leader is asked or the only replica is read directly.
func TestLatest(t *testing.T) {
	t.Parallel()
	b := setupReader(t)
	streams := bus.New(b.js)
	defer streams.Close()
	api, err := b.js.Conn().SubscribeSync("$JS.API.STREAM.MSG.GET." + b.stream)
	require.NoError(t, err)
	b.publish("a", map[string][]string{"Who": {"first"}}, "1")
	want := b.publish("a", map[string][]string{"Who": {"second"}, jetstream.SequenceHeader: {"7"}}, "2")
	b.publish("c", nil, "3")
	found, err := streams.Latest(t.Context(), b.stream, want.Subject)
	require.NoError(t, err)
	none, err := streams.Latest(t.Context(), b.stream, b.stream+".b")
	require.ErrorIs(t, err, bus.ErrNone, "%v", none)
	require.NoError(t, b.js.Conn().Flush())
	pending, _, err := api.Pending()
	require.NoError(t, err)
	require.Zero(t, pending, "the API of JetStream is not asked")
	leader, err := streams.Last(t.Context(), b.stream, want.Subject)
	require.NoError(t, err)
	for _, m := range []bus.Message{found, leader} {
		require.Equal(t, want.Subject, m.Subject)
		require.Equal(t, want.Sequence, m.Sequence)
		require.Equal(t, want.Data, m.Data)
		require.Equal(t, "second", m.Header.Get("Who"))
	}
}

// BenchmarkLatest asks for the last message of a subject from the leader, and directly, from several goroutines at once. The server is in the same
// process.
func BenchmarkLatest(b *testing.B) {
	_, js := natstest.Connect(b, natstest.Server(b))
	_, err := js.CreateStream(b.Context(), jetstream.StreamConfig{Name: "ONE", Subjects: []string{"one.>"}, AllowDirect: true})
	require.NoError(b, err)
	_, err = js.Publish(b.Context(), "one.a", make([]byte, 430))
	require.NoError(b, err)
	streams := bus.New(js)
	defer streams.Close()
	for name, read := range map[string]func(context.Context, string, string) (bus.Message, error){
		"leader": streams.Last, "direct": streams.Latest,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetParallelism(8)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := read(b.Context(), "ONE", "one.a"); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

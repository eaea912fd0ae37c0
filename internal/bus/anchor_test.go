package bus_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestAnchor: a work queue that is empty again and again keeps one message, and NATS one file with it, whatever the queue. Without
// it there would be a file for each of the messages.
func TestAnchor(t *testing.T) {
	t.Parallel()
	dir, js := queues(t)
	b, names, key := natstest.Bus(t, js), subjects.Default(), schedule.Key{Namespace: "default", ID: "a"}
	bySubject := map[string]struct {
		stream, anchor string
		consumer       jetstream.ConsumerConfig
	}{
		names.Action("default", "q", "w"): {names.ActionStream(), names.ActionAnchor(), names.WorkerConsumer("default", "q")},
		names.InvokeWake(0, key):          {names.TaskStream(0), names.TaskAnchor(0), names.PoolConsumers(0)[1].Config},
	}
	for subject, q := range bySubject {
		consumer, err := js.CreateConsumer(t.Context(), q.stream, q.consumer)
		require.NoError(t, err)
		for i := range 1000 { // past some anchors
			require.NoError(t, b.Publish(t.Context(), &nats.Msg{Subject: subject, Data: []byte(strconv.Itoa(i))}))
			require.Equal(t, strconv.Itoa(i), string(take(t, consumer)))
		}
		require.NoError(t, js.Conn().Flush())
		left := requireOnly(t, js, q.stream, q.anchor)
		require.Greater(t, left, uint64(512), "it has been replaced")
		require.LessOrEqual(t, newestFile(t, dir, q.stream), 3, q.stream)
	}
}

// TestAnchorOfCompletions: what a callback stream stores are the reports of workers, who set no anchors. Whoever takes them does.
func TestAnchorOfCompletions(t *testing.T) {
	t.Parallel()
	dir, js := queues(t)
	b, names, key := natstest.Bus(t, js), subjects.Default(), schedule.Key{Namespace: "default", ID: "a"}
	of := names.ConsumersOfPool(0, subjects.PoolInvoker)[1]
	messages, err := b.Pull(t.Context(), of.Stream, of.Config)
	require.NoError(t, err)
	defer messages.Stop()
	const turns = 2000
	data := make([]byte, 8<<10) // 16 MB in all, which are four files
	for range turns {
		_, err := js.Publish(t.Context(), names.Callback(0, key, "q", "r"), data)
		require.NoError(t, err)
		msg, err := messages.Next(t.Context())
		require.NoError(t, err)
		require.NoError(t, msg.DoubleAck(t.Context()))
	}
	require.NoError(t, js.Conn().Flush())
	requireOnly(t, js, of.Stream, names.CallbackAnchor(0))
	require.Less(t, newestFile(t, dir, of.Stream), turns/2)
}

// TestNoAnchor: it is set for what the pools have to do and for runs, never for anything else.
func TestNoAnchor(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	b, names := natstest.Bus(t, js), natstest.Names(t)
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: names.EventStream(), Subjects: []string{names.Events(schedule.Key{}), names.Anchors()},
	})
	require.NoError(t, err)
	event := names.Event(schedule.Key{Namespace: "default", ID: "a"}, schedule.EventStarted)
	require.NoError(t, b.Publish(t.Context(), &nats.Msg{Subject: event}))
	requireOnly(t, js, names.EventStream(), event)
}

// queues returns a server with the streams of an installation of one shard, and the folder of its files.
func queues(t *testing.T) (dir string, js jetstream.JetStream) {
	t.Helper()
	dir = t.TempDir()
	_, js = natstest.Connect(t, natstest.Server(t, func(o *natsserver.Options) { o.Dir = dir }))
	for _, config := range subjects.Default().StreamConfigs(1, 1) {
		_, err := js.CreateStream(t.Context(), config)
		require.NoError(t, err)
	}
	return dir, js
}

// take returns what the next message of a queue holds, and removes it.
func take(t *testing.T, consumer jetstream.Consumer) []byte {
	t.Helper()
	msg, err := consumer.Next()
	require.NoError(t, err)
	require.NoError(t, msg.DoubleAck(t.Context()))
	return msg.Data()
}

// requireOnly checks that a stream has one message, which is on a subject, and returns its sequence.
func requireOnly(t *testing.T, js jetstream.JetStream, stream, subject string) (sequence uint64) {
	t.Helper()
	s, err := js.Stream(t.Context(), stream)
	require.NoError(t, err)
	info, err := s.Info(t.Context(), jetstream.WithSubjectFilter(">"))
	require.NoError(t, err)
	require.Equal(t, map[string]uint64{subject: 1}, info.State.Subjects)
	return info.State.FirstSeq
}

// newestFile returns the number of the newest file of a stream: NATS counts them.
func newestFile(t *testing.T, dir, stream string) (newest int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", stream, "msgs", "*.blk"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(file), ".blk"))
		require.NoError(t, err)
		newest = max(newest, n)
	}
	return newest
}

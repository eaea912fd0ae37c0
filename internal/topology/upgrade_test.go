package topology_test

import (
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
)

// makeEarlier makes the streams of an earlier release, each with the subjects that several streams have today.
func (b bundle) makeEarlier(t *testing.T, replicas int, earlier map[string][]string) {
	t.Helper()
	for _, config := range b.names.StreamConfigs(1, replicas) {
		if subjects, ok := earlier[config.Name]; ok {
			config.Subjects = subjects
			_, err := b.js.CreateStream(t.Context(), config)
			require.NoError(t, err)
		}
	}
}

func (b bundle) store(t *testing.T, subject, body string) *jetstream.PubAck {
	t.Helper()
	ack, err := b.js.Publish(t.Context(), subject, []byte(body))
	require.NoError(t, err)
	return ack
}

// requireUpgrade makes an installation of an earlier layout, with messages in it, and upgrades it to today's layout.
func (b bundle) requireUpgrade(t *testing.T, replicas int) {
	t.Helper()
	prefix, control := b.names.Prefix(), b.names.ControlStream()
	b.makeEarlier(t, replicas, map[string][]string{
		control:                    {prefix + ".control.>", prefix + ".progress.>"},
		b.names.DeadLetterStream(): {prefix + ".dlq.>"},
	})
	cancel := b.names.Control("default", "q", "w")
	progress := b.names.Progress("default", "q", "w")
	b.store(t, cancel, "cancel")
	require.Equal(t, control, b.store(t, progress, "old").Stream)
	letters := []string{b.names.DeadLetter("invoker"), b.names.SharedWorkerDeadLetter()}
	for _, subject := range letters {
		require.Equal(t, b.names.DeadLetterStream(), b.store(t, subject, "letter").Stream)
	}

	facts := b.ensureAtOnce(t, slices.Repeat([]topology.Settings{{Shards: 1, Replicas: replicas}}, 3))[0]
	b.requireComplete(t, facts)
	stream, err := b.js.Stream(t.Context(), control)
	require.NoError(t, err)
	msg, err := stream.GetLastMsgForSubject(t.Context(), cancel)
	require.NoError(t, err)
	require.Equal(t, "cancel", string(msg.Data))
	require.Equal(t, b.names.ProgressStream(), b.store(t, progress, "new").Stream)
	have, err := deadletter.NewReader(b.js, b.names).List(t.Context(), deadletter.Filter{})
	require.NoError(t, err)
	require.Len(t, have, len(letters))
	require.Equal(t, "1", have[0].Number.String(), "numbers stay valid")
	require.Equal(t, "2", have[1].Number.String())
	require.True(t, have[1].Unproven)
	for subject, stream := range map[string]string{
		letters[0]: b.names.DeadLetterStream(), letters[1]: b.names.WorkerDeadLetterStream(),
		b.names.WorkerDeadLetter("default", "q"): b.names.WorkerDeadLetterStream(),
	} {
		require.Equal(t, stream, b.store(t, subject, "new").Stream)
	}
}

func TestUpgradesTheLayoutOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	setup(t).requireUpgrade(t, 1)
}

// requireBounded checks that the streams that workers write into are bounded on a server that cannot reserve as much as they
// want, and that they then stay as they are. It returns how many bytes are reserved, and how many streams are bounded by the
// number of messages.
func (b bundle) requireBounded(t *testing.T, s topology.Settings) (bytes int64, byNumber int) {
	t.Helper()
	facts := b.ensure(t, s)
	b.requireComplete(t, facts)
	for _, want := range b.names.StreamConfigs(facts.Shards, 1) {
		if want.MaxBytes <= 0 {
			continue
		}
		have := b.config(t, want.Name)
		require.True(t, have.MaxBytes > 0 || have.MaxMsgs > 0, want.Name)
		if have.MaxMsgs > 0 {
			byNumber++
		} else {
			bytes += have.MaxBytes
		}
	}
	writes := b.recordWrites(t)
	b.ensure(t, topology.Settings{})
	require.Empty(t, writes())
	return bytes, byNumber
}

// TestSmallServer has no room for what a large server would reserve. Nothing is left when others have taken it all.
func TestSmallServer(t *testing.T) {
	t.Parallel()
	const room = 40 << 20
	for taken, want := range map[int64]int{0: 0, room - 1<<19: 4 + 2} {
		_, js := natstest.Connect(t, natstest.Server(t, natstest.MaxStore(room)))
		if taken > 0 {
			_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHERS", MaxBytes: taken})
			require.NoError(t, err)
		}
		b := bundle{js: js, names: natstest.Names(t)}
		bytes, byNumber := b.requireBounded(t, topology.Settings{Shards: 2})
		require.LessOrEqual(t, bytes, room-taken)
		require.Equal(t, want, byNumber)
	}
}

// TestSmallCluster: a server learns only after a while how much the others have reserved.
func TestSmallCluster(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Cluster(t, 3, natstest.MaxStore(20<<20)).URLs())
	b := bundle{js: js, names: natstest.Names(t)}
	bytes, _ := b.requireBounded(t, topology.Settings{Shards: 2, Replicas: 3})
	require.Less(t, bytes, int64(100<<20))
}

// TestWorkersWritePlainMessages: their headers must have no effect except to be stored.
func TestWorkersWritePlainMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ensure(t, topology.Settings{Shards: 1})
	for _, name := range []string{b.names.ProgressStream(), b.names.WorkerDeadLetterStream(), b.names.CallbackStream(0)} {
		config := b.config(t, name)
		require.False(t, config.AllowRollup || config.AllowMsgTTL || config.AllowMsgSchedules || config.AllowMsgCounter ||
			config.AllowAtomicPublish, name)
		require.True(t, config.MaxBytes > 0 || config.MaxMsgs > 0, name)
		require.Positive(t, config.MaxMsgSize, name)
	}
}

// TestServerThatHasSetTooMuchApart: a server whose disk has become small goes on, but makes and changes no stream.
func TestServerThatHasSetTooMuchApart(t *testing.T) {
	t.Parallel()
	at := func(dir string) natstest.Option { return func(o *natsserver.Options) { o.Dir = dir } }(t.TempDir())
	restart := func(b *bundle, room int64) *natsserver.Server {
		server := natstest.Server(t, natstest.MaxStore(room), at)
		_, b.js = natstest.Connect(t, server)
		return server
	}
	b := bundle{names: natstest.Names(t)}
	server := restart(&b, 4<<30)
	facts := b.ensure(t, topology.Settings{Shards: 2})
	server.Shutdown()

	server = restart(&b, 20<<20)
	b.ensure(t, topology.Settings{})
	b.store(t, b.names.Progress("default", "q", "w"), "goes on")
	require.NoError(t, b.js.DeleteStream(t.Context(), b.names.ControlStream()))
	err := b.fail(t, topology.Settings{})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition})
	require.ErrorContains(t, err, b.names.ControlStream()+" cannot be made or changed: its streams have set more bytes apart")
	server.Shutdown()

	restart(&b, 4<<30)
	b.ensure(t, topology.Settings{})
	b.requireComplete(t, facts)
}

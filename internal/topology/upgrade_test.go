package topology_test

import (
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
)

// makeEarlier makes the streams that an earlier release had in place of several of today, with the subjects it gave them.
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

// requireUpgrade makes an installation of an earlier layout, with messages in it, and brings it to that of today.
func (b bundle) requireUpgrade(t *testing.T, replicas int) {
	t.Helper()
	prefix, control := b.names.Prefix(), b.names.ControlStream()
	b.makeEarlier(t, replicas, map[string][]string{control: {prefix + ".control.>", prefix + ".progress.>"}})
	cancel := b.names.Control("default", "q", "w")
	progress := b.names.Progress("default", "q", "w")
	b.store(t, cancel, "cancel")
	require.Equal(t, control, b.store(t, progress, "old").Stream)

	facts := b.ensureAtOnce(t, slices.Repeat([]topology.Settings{{Shards: 1, Replicas: replicas}}, 3))[0]
	b.requireComplete(t, facts)
	stream, err := b.js.Stream(t.Context(), control)
	require.NoError(t, err)
	msg, err := stream.GetLastMsgForSubject(t.Context(), cancel)
	require.NoError(t, err)
	require.Equal(t, "cancel", string(msg.Data))
	require.Equal(t, b.names.ProgressStream(), b.store(t, progress, "new").Stream)
}

func TestUpgradesTheLayoutOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	setup(t).requireUpgrade(t, 1)
}

// requireBounded makes sure that streams which workers write into have what bound the server has room for, and are kept at it.
func (b bundle) requireBounded(t *testing.T, s topology.Settings, atMost int64) {
	t.Helper()
	b.requireComplete(t, b.ensure(t, s))
	have := b.config(t, b.names.ProgressStream())
	require.Positive(t, have.MaxBytes)
	require.LessOrEqual(t, have.MaxBytes, atMost)
	writes := b.recordWrites(t)
	b.ensure(t, topology.Settings{})
	require.Empty(t, writes())
}

// TestSmallServer has no room for what is set apart where there is plenty.
func TestSmallServer(t *testing.T) {
	t.Parallel()
	const room = 20 << 20
	_, js := natstest.Connect(t, natstest.Server(t, natstest.MaxStore(room)))
	b := bundle{js: js, names: natstest.Names(t)}
	b.requireBounded(t, topology.Settings{Shards: 2}, room)
}

func TestSmallCluster(t *testing.T) {
	t.Parallel()
	const room = 20 << 20
	_, js := natstest.Connect(t, natstest.Cluster(t, 3, natstest.MaxStore(room)).URLs())
	b := bundle{js: js, names: natstest.Names(t)}
	b.requireBounded(t, topology.Settings{Shards: 2, Replicas: 3}, room)
}

// TestWorkersWritePlainMessages: no header of theirs may do anything but be stored.
func TestWorkersWritePlainMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ensure(t, topology.Settings{Shards: 1})
	for _, name := range []string{b.names.ProgressStream(), b.names.CallbackStream(0)} {
		config := b.config(t, name)
		require.False(t, config.AllowRollup || config.AllowMsgTTL || config.AllowMsgSchedules || config.AllowMsgCounter ||
			config.AllowAtomicPublish, name)
		require.Positive(t, config.MaxBytes, name)
		require.Positive(t, config.MaxMsgSize, name)
	}
}

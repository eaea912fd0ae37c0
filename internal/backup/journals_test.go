package backup_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/backup"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestJournalsAreRestored: every entry is where it was, also those that came during the backup. A new consumer gets all of them.
func TestJournalsAreRestored(t *testing.T) {
	t.Parallel()
	s := connectInstallation(t, natstest.Server(t), natstest.Names(t))
	s.open(topology.Settings{Shards: 1})
	last := map[string]uint64{}
	add := func(id string) {
		subject := s.names.Journal(0, schedule.Key{Namespace: "default", ID: id})
		ack, err := s.js.PublishMsg(t.Context(), &nats.Msg{
			Subject: subject, Data: []byte(strconv.Itoa(len(last))), Header: nats.Header{
				nats.ExpectedLastSubjSeqHdr: {strconv.FormatUint(last[id], 10)}, "Carillon-Entry": {"p-" + id},
			},
		})
		require.NoError(t, err)
		last[id] = ack.Sequence
	}
	for range 5 {
		add("a")
		add("b")
	}
	dir := t.TempDir() + "/copy"
	late := 0
	_, err := backup.Create(t.Context(), backup.CreateConfig{
		JS: s.js, Names: s.names, Facts: s.facts, Version: "test", Progress: func(step string, _, _ int) {
			if strings.HasPrefix(step, "complete") && late < 3 {
				late++
				add("a")
				add("c")
			}
		},
	}, dir)
	require.NoError(t, err)
	require.Equal(t, 3, late)
	want := s.entries()
	s.stop()

	restored := connectInstallation(t, natstest.Server(t), s.names)
	restored.restore(dir, backup.RestoreConfig{})
	require.Equal(t, want, restored.entries())
	consumer, err := restored.js.Consumer(t.Context(), s.names.JournalStream(0), s.names.Transfer(0).Config.Durable)
	require.NoError(t, err)
	require.EqualValues(t, len(want), consumer.CachedInfo().NumPending)
}

// TestWhatIsArchivedIsWrittenAgain: a backup has no archive, so nothing counts as archived after a restore.
func TestWhatIsArchivedIsWrittenAgain(t *testing.T) {
	t.Parallel()
	s := connectInstallation(t, natstest.Server(t), natstest.Names(t))
	s.open(topology.Settings{Shards: 1})
	bucket, err := s.js.KeyValue(t.Context(), s.names.ClusterBucket())
	require.NoError(t, err)
	for _, key := range []string{subjects.ArchivedKey("default", 0), subjects.ArchivedKey("billing", 0), subjects.SearchAttributesKey("billing")} {
		_, err := bucket.PutString(t.Context(), key, "{}")
		require.NoError(t, err)
	}
	dir := t.TempDir() + "/copy"
	_, err = backup.Create(t.Context(), backup.CreateConfig{JS: s.js, Names: s.names, Facts: s.facts, Version: "test"}, dir)
	require.NoError(t, err)
	s.stop()

	restored := connectInstallation(t, natstest.Server(t), s.names)
	restored.restore(dir, backup.RestoreConfig{})
	bucket, err = restored.js.KeyValue(t.Context(), s.names.ClusterBucket())
	require.NoError(t, err)
	for _, namespace := range []string{"default", "billing"} {
		_, err = bucket.Get(t.Context(), subjects.ArchivedKey(namespace, 0))
		require.ErrorIs(t, err, jetstream.ErrKeyNotFound)
	}
	_, err = bucket.Get(t.Context(), subjects.SearchAttributesKey("billing"))
	require.NoError(t, err)
}

// entries returns the subject of each entry in the journals of the first shard, by its sequence.
func (s *installation) entries() map[uint64]string {
	s.Helper()
	all := map[uint64]string{}
	consumer, err := s.js.OrderedConsumer(s.Context(), s.names.JournalStream(0), jetstream.OrderedConsumerConfig{})
	require.NoError(s, err)
	info, err := consumer.Info(s.Context())
	require.NoError(s, err)
	messages, err := consumer.Messages()
	require.NoError(s, err)
	defer messages.Stop()
	for range info.NumPending {
		msg, err := messages.Next(jetstream.NextContext(context.WithoutCancel(s.Context())))
		require.NoError(s, err)
		meta, err := msg.Metadata()
		require.NoError(s, err)
		all[meta.Sequence.Stream] = msg.Subject() + " " + string(msg.Data())
	}
	return all
}

package systemtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// A record that stays unreadable turns the messages for it into dead letters. Another schedule of the same shard is on time all
// along. Once the record is repaired and the letters are sent again, the poisoned schedule continues.
func TestReplayAfterARecordWasRepaired(t *testing.T) {
	if testing.Short() {
		t.Skip("a message is given up after 43 s")
	}
	t.Parallel()
	s := single(t)
	runs := s.work(s.conn, "q", nil)
	s.create("poisoned", triggered(schedule.OverlapAllowAll))
	s.trigger("poisoned")
	s.awaitStatuses("poisoned", schedule.StatusCompleted)
	key := schedule.Key{Namespace: "default", ID: "poisoned"}
	neighbour := s.neighbourOf(key)
	beat := every(time.Second)
	beat.Policies.Overlap = schedule.OverlapAllowAll
	created := s.create(neighbour, beat).Info.CreateTime

	bucket, err := s.js.KeyValue(t.Context(), s.names.StateBucket(s.store.ShardOf(key)))
	require.NoError(t, err)
	record := kv.Invoker(key).String()
	sound, err := bucket.Get(t.Context(), record)
	require.NoError(t, err)
	_, err = bucket.Put(t.Context(), record, []byte("garbage"))
	require.NoError(t, err)
	s.trigger("poisoned")
	reader := deadletter.NewReader(s.js, s.names).As("somebody")
	letters := func() []deadletter.Letter {
		all, err := reader.List(t.Context(), deadletter.Filter{ScheduleID: "poisoned"})
		require.NoError(t, err)
		return all
	}
	natstest.Eventually(t, natstest.Patience, "a letter", func() bool { return len(letters()) > 0 })
	for _, letter := range letters() {
		assert.NotEmpty(t, letter.Reason)
		assert.NotEmpty(t, letter.Origin.Subject)
		assert.NotZero(t, letter.Origin.Sequence)
	}
	natstest.Eventually(t, natstest.Patience, "the event", func() bool { return s.kindsOf("poisoned")[schedule.EventDeadLetter] > 0 })
	require.Len(t, runs.of("poisoned"), 1)

	_, err = bucket.Put(t.Context(), record, sound.Value())
	require.NoError(t, err)
	require.Contains(t, s.reasonsOf("poisoned"), schedule.NoticeDeadLetter)
	for _, letter := range letters() {
		_, err := reader.Replay(t.Context(), letter.Number)
		require.NoError(t, err)
	}
	s.awaitStatuses("poisoned", schedule.StatusCompleted, schedule.StatusCompleted)
	require.Len(t, runs.of("poisoned"), 2)
	require.Empty(t, letters())
	require.NotContains(t, s.reasonsOf("poisoned"), schedule.NoticeDeadLetter)
	s.requireCountersFromEvents("poisoned")

	beats := runs.of(neighbour)
	require.NoError(t, exactlyOnce(beats, time.Second, created, beats[len(beats)-1].Nominal))
	for _, r := range beats {
		assert.Less(t, r.At.Sub(r.Nominal), 3*time.Second, "%s was late", r.Nominal)
	}
}

// neighbourOf returns an ID in the same shard as a schedule.
func (s *system) neighbourOf(key schedule.Key) string {
	for i := 0; ; i++ {
		other := schedule.Key{Namespace: key.Namespace, ID: fmt.Sprintf("neighbour-%d", i)}
		if s.store.ShardOf(other) == s.store.ShardOf(key) {
			return other.ID
		}
	}
}

package frontend_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// laggingBuckets have a replica that, while it lags, sees nothing of what is written, and a leader on another server.
type laggingBuckets struct {
	kv.Buckets
	in *installation

	mu      sync.Mutex
	lagging bool
	// known has its answers for some filters; lists has the results of watches.
	known map[string]kv.Matching
	lists map[string][]string
}

// lagged runs a frontend on lagging buckets.
func lagged(t *testing.T) (*installation, *laggingBuckets) {
	in := install(t)
	buckets, err := kv.OpenBuckets(t.Context(), in.js, in.names, in.store.Shards())
	require.NoError(t, err)
	l := &laggingBuckets{Buckets: buckets, in: in, known: map[string]kv.Matching{}, lists: map[string][]string{}}
	in.run(func(c *frontend.Config) { c.Store = kv.NewStore(l, in.names, in.store.Shards()) }, patient)
	return in, l
}

// lag makes the replica lag from now on.
func (l *laggingBuckets) lag() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lagging = true
}

// While the replica lags, GetMatching repeats its last answer from before.
func (l *laggingBuckets) GetMatching(ctx context.Context, bucket string, filters []string) (kv.Matching, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked := bucket + strings.Join(filters, " ")
	if known, ok := l.known[asked]; ok && l.lagging {
		return known, nil
	}
	found, err := l.Buckets.GetMatching(ctx, bucket, filters)
	if !l.lagging {
		l.known[asked] = found
	}
	return found, err
}

// Keys repeats its last answer in the same way, as a watch may.
func (l *laggingBuckets) Keys(ctx context.Context, bucket, filter string) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.lists[bucket+filter]; ok && l.lagging {
		return known, nil
	}
	found, err := l.Buckets.Keys(ctx, bucket, filter)
	if !l.lagging {
		l.lists[bucket+filter] = found
	}
	return found, err
}

func (l *laggingBuckets) Newest(ctx context.Context, bucket string) (uint64, error) {
	return bus.LeaderSequence(ctx, l.in.js, subjects.BucketStream(bucket))
}

// TestALaggingReplicaLetsNoCalendarBeDeleted: a calendar that a schedule uses stays.
func TestALaggingReplicaLetsNoCalendarBeDeleted(t *testing.T) {
	t.Parallel()
	in, replica := lagged(t)
	in.calendar("create", `{"name":"c"}`)
	in.calendar("create", `{"name":"other"}`)
	_, err := answer[schedule.Description](in, "create", dailyBody("s"))
	require.NoError(t, err)
	_, err = aboutCalendar[schedule.Empty](in, "delete", `{"name":"other"}`)
	require.NoError(t, err, "nobody uses it, as the replica knows")
	replica.lag()
	_, err = answer[schedule.Description](in, "update", dailyBody("s", "c"))
	require.NoError(t, err)
	_, err = aboutCalendar[schedule.Empty](in, "delete", `{"name":"c"}`)
	require.Error(t, err)
	assert.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err), "%v", err)
	_, err = answer[schedule.Description](in, "update", dailyBody("s"))
	require.NoError(t, err)
	_, err = aboutCalendar[schedule.Empty](in, "delete", `{"name":"c"}`)
	require.NoError(t, err, "nobody uses it any more, as the replica does not know")
}

// TestALaggingReplicaKeepsTheLimitOfBackfills: none is accepted beyond the limit, and none is refused if there is room.
func TestALaggingReplicaKeepsTheLimitOfBackfills(t *testing.T) {
	t.Parallel()
	in, replica := lagged(t)
	in.create("s", "")
	request := func(i int) (schedule.BackfillReply, error) {
		return answer[schedule.BackfillReply](in, "backfill",
			fmt.Sprintf(`{"id":"s","start":"2020-01-01T00:00:00Z","end":"2020-01-02T00:00:00Z","requestId":"r%d"}`, i))
	}
	for i := range 3 * schedule.MaxBackfills / 4 {
		_, err := request(i)
		require.NoError(t, err)
	}
	var replies []schedule.BackfillReply
	replica.lag()
	for i := 3 * schedule.MaxBackfills / 4; i < schedule.MaxBackfills; i++ {
		reply, err := request(i)
		require.NoError(t, err)
		replies = append(replies, reply)
	}
	_, err := request(schedule.MaxBackfills)
	require.Equal(t, schedule.CodeResourceExhausted, schedule.CodeOf(err), "%v", err)
	key := kv.Backfill(in.key("s"), replies[0].BackfillID)
	record, err := kv.GetLeader(t.Context(), in.store, key)
	require.NoError(t, err)
	require.NoError(t, kv.Delete(t.Context(), in.store, key, record.Revision))
	_, err = request(schedule.MaxBackfills)
	require.NoError(t, err, "one is over")
}

// TestALaggingReplicaHoldsUpNoDeletionOfANamespace: its schedules have been deleted.
func TestALaggingReplicaHoldsUpNoDeletionOfANamespace(t *testing.T) {
	t.Parallel()
	in, replica := lagged(t)
	in.namespace("team", "create", `{}`)
	require.NoError(t, in.createIn("team", "s", ""))
	require.Equal(t, schedule.CodeFailedPrecondition, in.refused("team", "delete", `{}`).Code)
	replica.lag()
	_, err := decode[schedule.Empty](in.ask("team", "delete", `{"id":"s"}`))
	require.NoError(t, err)
	in.namespace("team", "delete", `{}`)
}

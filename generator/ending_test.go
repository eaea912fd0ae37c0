package generator

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestTheDeletionNamesItsRequest: a frontend has deleted a schedule, and did not live to tell of it. The generator does, by its guard, or
// since it finds another schedule of the same ID. The history names the request, by which a repeat of it is recognised.
func TestTheDeletionNamesItsRequest(t *testing.T) {
	t.Parallel()
	deletion := &wire.Deletion{Incarnation: "of-s", RequestID: "r1"}
	for name, test := range map[string]struct {
		deletion *wire.Deletion // as it is remembered
		replaced bool
		named    string
	}{
		"gone":                           {deletion: deletion, named: "r1"},
		"replaced":                       {deletion: deletion, replaced: true, named: "r1"},
		"gone, by a request without ID":  {},
		"gone, and a later one as well":  {deletion: &wire.Deletion{Incarnation: "later", RequestID: "r2"}},
		"replaced after a later one":     {deletion: &wire.Deletion{Incarnation: "later", RequestID: "r2"}, replaced: true},
		"replaced, by one of no request": {replaced: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			p := b.pool()
			d := b.define("s", seconds(3600))
			b.handle(p, "s", wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonCreated})
			require.NoError(t, kv.DeleteNoting(t.Context(), b.store, kv.Definition(keyOf("s")), d.Revision, kv.Note{Deletion: test.deletion}))
			wake := wire.Wake{Incarnation: "of-s", Version: 2, Reason: wire.ReasonGuard}
			if test.replaced {
				next := d.Value
				next.Incarnation, next.Predecessor = "again", test.deletion
				b.put(next, 0)
				wake = wire.Wake{Incarnation: "again", Version: 1, Reason: wire.ReasonCreated}
			}
			b.handle(p, "s", wake)
			event := b.lastDeleted("s")
			require.Equal(t, wire.DeletedEventID("of-s"), event.ID)
			require.Equal(t, test.named, event.RequestID)
		})
	}
}

// lastDeleted is the last deletion of a schedule that the history tells of.
func (b *testBundle) lastDeleted(id string) (event schedule.Event) {
	b.Helper()
	stream, err := b.js.Stream(b.Context(), b.names.EventStream())
	require.NoError(b, err)
	message, err := stream.GetLastMsgForSubject(b.Context(), b.names.Event(keyOf(id), schedule.EventDeleted))
	require.NoError(b, err)
	require.NoError(b, json.Unmarshal(message.Data, &event))
	return event
}

// TestAClosedScheduleLeavesWhoHasDeletedTheOneBefore: no request has deleted the closed one, so a repeat of the request that has
// deleted the one before is recognised still. The generator that closes it has not told of that deletion yet, and names the request.
func TestAClosedScheduleLeavesWhoHasDeletedTheOneBefore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.pool(idleAfter(time.Millisecond))
	d := b.define("s", seconds(3600))
	b.handle(p, "s", wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonCreated})
	deletion := &wire.Deletion{Incarnation: "of-s", RequestID: "r1"}
	require.NoError(t, kv.DeleteNoting(t.Context(), b.store, kv.Definition(keyOf("s")), d.Revision, kv.Note{Deletion: deletion}))
	next := d.Value
	next.Incarnation, next.Predecessor, next.Schedule.Spec = "idle", deletion, schedule.Spec{}
	next.CreateTime = next.CreateTime.Add(-time.Hour)
	next.UpdateTime = next.CreateTime
	b.put(next, 0)
	b.handle(p, "s", wire.Wake{Incarnation: "idle", Version: 1, Reason: wire.ReasonCreated})
	b.handle(p, "s", wire.Wake{Incarnation: "idle", Version: 1, Reason: wire.ReasonIdle})

	require.Equal(t, 1, b.told(keyOf("s"), schedule.EventClosed))
	last, err := kv.LastDeletion(t.Context(), b.store, keyOf("s"))
	require.NoError(t, err)
	require.Equal(t, deletion, last)
	require.Equal(t, 1, b.told(keyOf("s"), schedule.EventDeleted))
	require.Equal(t, "r1", b.lastDeleted("s").RequestID)
}

// TestAClosedScheduleInheritsNoPolicy: an earlier release has noted what becomes of the runs of a deleted schedule, and not of which. That is
// not what becomes of the runs of the next one, which nobody has deleted.
func TestAClosedScheduleInheritsNoPolicy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.pool(idleAfter(time.Millisecond))
	d := b.define("s", seconds(3600))
	require.NoError(t, kv.Delete(t.Context(), b.store, kv.Definition(keyOf("s")), d.Revision))
	next := d.Value
	next.Incarnation, next.Predecessor, next.Schedule.Spec = "idle", &wire.Deletion{Runs: schedule.RunsTerminate}, schedule.Spec{}
	next.CreateTime = next.CreateTime.Add(-time.Hour)
	next.UpdateTime = next.CreateTime
	b.put(next, 0)
	b.handle(p, "s", wire.Wake{Incarnation: "idle", Version: 1, Reason: wire.ReasonCreated})
	b.handle(p, "s", wire.Wake{Incarnation: "idle", Version: 1, Reason: wire.ReasonIdle})

	require.Equal(t, 1, b.told(keyOf("s"), schedule.EventClosed))
	last, err := kv.LastDeletion(t.Context(), b.store, keyOf("s"))
	require.NoError(t, err)
	require.Empty(t, last.RunsOf("idle"))
}

// closing is the buckets of a process that is about to delete a definition.
type closing struct {
	kv.Buckets
	key    string
	before func() // happens just before that
	dies   bool   // just after that
	dead   bool
}

func (c *closing) Delete(ctx context.Context, bucket, key string, revision uint64, note kv.Note) error {
	if key != c.key {
		return c.Buckets.Delete(ctx, bucket, key, revision, note)
	}
	c.before()
	err := c.Buckets.Delete(ctx, bucket, key, revision, note)
	if c.dead = c.dies; c.dead {
		return nats.ErrConnectionClosed
	}
	return err
}

func (c *closing) GetLeader(ctx context.Context, bucket, key string) (kv.Entry, error) {
	if c.dead {
		return kv.Entry{}, nats.ErrConnectionClosed
	}
	return c.Buckets.GetLeader(ctx, bucket, key)
}

// closes is a pool that is about to close a schedule as soon as it is woken for it.
func (b *testBundle) closes(id string, c *closing) *Pool {
	b.Helper()
	buckets, err := kv.OpenBuckets(b.Context(), b.js, b.names, 1)
	require.NoError(b, err)
	c.Buckets, c.key = buckets, kv.Definition(keyOf(id)).String()
	return b.pool(idleAfter(time.Millisecond), func(config *Config) { config.Store = kv.NewStore(c, b.names, 1) })
}

// TestAClosingThatIsRefusedIsNotTold: somebody has changed the schedule at the last moment.
func TestAClosingThatIsRefusedIsNotTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.define("s", schedule.Spec{})
	b.handle(b.pool(), "s", wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonCreated})
	changed := false
	p := b.closes("s", &closing{before: func() {
		if changed {
			return
		}
		changed = true
		record, err := kv.GetLeader(t.Context(), b.store, kv.Definition(keyOf("s")))
		require.NoError(t, err)
		record.Value.Version, record.Value.UpdateTime = 2, time.Now().Add(time.Hour)
		b.put(record.Value, record.Revision)
	}})
	b.wait(2 * time.Millisecond)
	b.handle(p, "s", wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonIdle})
	require.True(t, changed)
	_, err := kv.GetLeader(t.Context(), b.store, kv.Definition(keyOf("s")))
	require.NoError(t, err)
	require.Zero(t, b.told(keyOf("s"), schedule.EventClosed))
}

// TestAClosingIsToldOfByOthers: the generator that has closed a schedule dies at once. The next one that is woken tells of it, and not
// that somebody has deleted the schedule, also where there is another schedule of the ID by then, or that is closed as well.
func TestAClosingIsToldOfByOthers(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]string{"gone": "", "replaced": "next", "replaced by one that closes": "idle"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			key := keyOf("s")
			d := b.define("s", schedule.Spec{})
			b.handle(b.pool(), "s", wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonCreated})
			b.wait(2 * time.Millisecond)
			wake := wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonIdle}
			p := b.closes("s", &closing{before: func() {}, dies: true})
			require.Error(t, p.Handle(t.Context(), key, []loop.Message[wire.Wake]{{Body: wake}}).Err())
			_, err := kv.GetLeader(t.Context(), b.store, kv.Definition(key))
			require.ErrorIs(t, err, kv.ErrNotFound)
			if next != "" {
				trace, err := kv.Trace(t.Context(), b.store, kv.Definition(key))
				require.NoError(t, err)
				again := d.Value
				again.Incarnation, again.PredecessorClosed = next, trace.Value.Closed
				_, err = kv.Put(t.Context(), b.store, kv.Definition(key), &again, trace.Revision)
				require.NoError(t, err)
			}
			idle := time.Hour
			if next == "idle" {
				idle = time.Millisecond
			}
			again := b.pool(idleAfter(idle))
			b.handle(again, "s", wake)
			b.handle(again, "s", wake)
			require.Zero(t, b.told(key, schedule.EventDeleted))
			if next == "idle" {
				require.Equal(t, 2, b.told(key, schedule.EventClosed))
			} else {
				require.Equal(t, 1, b.told(key, schedule.EventClosed))
			}
		})
	}
}

// wait waits for a time to pass on the clock of the pools.
func (b *testBundle) wait(d time.Duration) {
	b.Helper()
	until := time.Now().Add(d)
	b.eventually("the time has passed", func() bool { return time.Now().After(until) })
}

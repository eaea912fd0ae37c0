package generator

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestTheDeletionNamesItsRequest: a frontend has deleted a schedule, and did not live to tell of it. The generator does, by its guard, or
// since it finds another schedule of the same ID. The history names the request, by which a repeat of it is recognised.
func TestTheDeletionNamesItsRequest(t *testing.T) {
	t.Parallel()
	deletion := &schedule.Deletion{Incarnation: "of-s", RequestID: "r1"}
	for name, test := range map[string]struct {
		deletion *schedule.Deletion // as it is remembered
		replaced bool
		named    string
	}{
		"gone":                           {deletion: deletion, named: "r1"},
		"replaced":                       {deletion: deletion, replaced: true, named: "r1"},
		"gone, by a request without ID":  {},
		"gone, and a later one as well":  {deletion: &schedule.Deletion{Incarnation: "later", RequestID: "r2"}},
		"replaced after a later one":     {deletion: &schedule.Deletion{Incarnation: "later", RequestID: "r2"}, replaced: true},
		"replaced, by one of no request": {replaced: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			p := b.pool()
			d := b.define("s", seconds(3600))
			b.handle(p, "s", schedule.Wake{Incarnation: "of-s", Version: 1, Reason: schedule.ReasonCreated})
			require.NoError(t, kv.DeleteNoting(t.Context(), b.store, kv.Definition(keyOf("s")), d.Revision, kv.Note{Deletion: test.deletion}))
			wake := schedule.Wake{Incarnation: "of-s", Version: 2, Reason: schedule.ReasonGuard}
			if test.replaced {
				next := d.Value
				next.Incarnation, next.Predecessor = "again", test.deletion
				b.put(next, 0)
				wake = schedule.Wake{Incarnation: "again", Version: 1, Reason: schedule.ReasonCreated}
			}
			b.handle(p, "s", wake)
			event := b.lastDeleted("s")
			require.Equal(t, schedule.DeletedEventID("of-s"), event.ID)
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
	b.handle(p, "s", schedule.Wake{Incarnation: "of-s", Version: 1, Reason: schedule.ReasonCreated})
	deletion := &schedule.Deletion{Incarnation: "of-s", RequestID: "r1"}
	require.NoError(t, kv.DeleteNoting(t.Context(), b.store, kv.Definition(keyOf("s")), d.Revision, kv.Note{Deletion: deletion}))
	next := d.Value
	next.Incarnation, next.Predecessor, next.Schedule.Spec = "idle", deletion, schedule.Spec{}
	next.CreateTime = next.CreateTime.Add(-time.Hour)
	next.UpdateTime = next.CreateTime
	b.put(next, 0)
	b.handle(p, "s", schedule.Wake{Incarnation: "idle", Version: 1, Reason: schedule.ReasonCreated})

	require.Equal(t, 1, b.told(keyOf("s"), schedule.EventClosed))
	last, err := kv.LastDeletion(t.Context(), b.store, keyOf("s"))
	require.NoError(t, err)
	require.Equal(t, deletion, last)
	require.Equal(t, 1, b.told(keyOf("s"), schedule.EventDeleted))
	require.Equal(t, "r1", b.lastDeleted("s").RequestID)
}

package generator

import (
	"encoding/json"
	"testing"

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
			stream, err := b.js.Stream(t.Context(), b.names.EventStream())
			require.NoError(t, err)
			message, err := stream.GetLastMsgForSubject(t.Context(), b.names.Event(keyOf("s"), schedule.EventDeleted))
			require.NoError(t, err)
			var event schedule.Event
			require.NoError(t, json.Unmarshal(message.Data, &event))
			require.Equal(t, schedule.DeletedEventID("of-s"), event.ID)
			require.Equal(t, test.named, event.RequestID)
		})
	}
}

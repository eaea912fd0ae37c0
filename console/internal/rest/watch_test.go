package rest

import (
	"iter"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

// TestMissed: a viewer gets what comes after the last event that it has got, and all of the time since if that is not there any more. Nobody makes the
// console keep more than so many events.
func TestMissed(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	history := func(n int) iter.Seq2[schedule.Event, error] {
		return func(yield func(schedule.Event, error) bool) {
			for i := range n {
				if !yield(schedule.Event{ID: strconv.Itoa(i), Time: start.Add(time.Duration(i) * time.Second)}, nil) {
					return
				}
			}
		}
	}
	for name, test := range map[string]struct {
		from  position
		of    int
		first string
		count int
	}{
		"the last":           {position{at: start, id: "4"}, 5, "", 0},
		"one before":         {position{at: start, id: "3"}, 5, "4", 1},
		"one that has gone":  {position{at: start.Add(2 * time.Second), id: "x"}, 5, "2", 3},
		"one of a busy time": {position{at: start.Add(2 * mostMissed * time.Second), id: strconv.Itoa(2 * mostMissed)}, 2*mostMissed + 3, strconv.Itoa(2*mostMissed + 1), 2},
		"all that may be":    {position{at: start, id: "0"}, mostMissed, "1", mostMissed - 1},
	} {
		var got []schedule.Event
		for event, err := range after(test.from, history(test.of)) {
			require.NoError(t, err, name)
			got = append(got, event)
		}
		require.Len(t, got, test.count, name)
		if test.count > 0 {
			assert.Equal(t, test.first, got[0].ID, name)
		}
	}
	var last error
	shown := 0
	for _, err := range after(position{at: start, id: "x"}, history(mostMissed+1)) {
		last = err
		shown++
	}
	require.ErrorIs(t, last, errMissedMore)
	assert.Equal(t, 1, shown, "it is told at once")
}

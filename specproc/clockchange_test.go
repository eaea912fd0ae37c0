package specproc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

func TestClockChanges(t *testing.T) {
	t.Parallel()
	loc, err := schedule.LoadZone("Europe/Berlin")
	require.NoError(t, err)
	from := time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)
	changes := ClockChanges(loc, from, from.AddDate(1, 0, 0))
	require.Equal(t, []ClockChange{
		{At: time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC), Before: time.Hour, After: 2 * time.Hour},
		{At: time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC), Before: 2 * time.Hour, After: time.Hour},
	}, changes)
	require.Equal(t, changes[:1], ClockChanges(loc, changes[0].At.Add(-time.Second), changes[0].At), "up to the end")
	require.Empty(t, ClockChanges(loc, changes[0].At, changes[0].At.Add(time.Hour)), "after the beginning")
}

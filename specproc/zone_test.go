package specproc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestZoneTable compares the tables with package time: at both sides of each change, and once a day from 1969 to the end.
func TestZoneTable(t *testing.T) {
	t.Parallel()
	begin := time.Date(1969, 12, 30, 0, 0, 0, 0, time.UTC).Unix()
	for name := range zonesOfVectors(t) {
		loc, err := schedule.LoadZone(name)
		require.NoError(t, err)
		z := newZone(loc)
		offset := func(at int64) int64 { return z.segments[z.index(at)].offset }
		for _, segment := range z.segments[:len(z.segments)-1] {
			require.Equal(t, offsetAt(loc, segment.until), offset(segment.until), "%s at %d", name, segment.until)
			require.Equal(t, offsetAt(loc, segment.until-1), offset(segment.until-1), "%s before %d", name, segment.until)
		}
		for at := begin; at < zoneEnd; at += daySeconds {
			if offsetAt(loc, at) != offset(at) {
				require.Equal(t, offsetAt(loc, at), offset(at), "%s at %s", name, time.Unix(at, 0).UTC())
			}
		}
	}
}

func zonesOfVectors(t *testing.T) map[string]bool {
	zones := map[string]bool{"UTC": true}
	for _, change := range scheduletest.ClockChanges {
		zones[change.Zone] = true
	}
	for _, v := range loadVectors(t, "dst") {
		zones[v.Spec.TimeZone] = true
	}
	return zones
}

func TestPiecesTileTime(t *testing.T) {
	t.Parallel()
	loc, err := schedule.LoadZone("Pacific/Apia")
	require.NoError(t, err)
	z := newZone(loc)
	at := time.Date(2011, 12, 20, 0, 0, 0, 0, time.UTC).Unix()
	for range 400 {
		p := z.piece(at)
		require.LessOrEqual(t, p.from, at)
		require.Greater(t, p.until, at)
		require.Equal(t, at, p.at(p.clock(at)))
		next := z.piece(p.until)
		require.Equal(t, p.until, next.from)
		at = p.until
	}
}

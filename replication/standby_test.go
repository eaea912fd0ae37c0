package replication

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/site"
)

// TestNeedsFloors looks at an active site for ten minutes and then takes over from it. The standby has floors each time that it stores them, and seldom asks for them.
func TestNeedsFloors(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	peer := site.Linked("east", "west", now)
	own := site.Joined("west", peer, now)
	var seen site.Seen
	asked, stored := 0, 0
	look := func() {
		now = now.Add(lookEvery)
		next, action := site.Step(own, peer, seen, now)
		if next != own {
			if !next.Noted.Equal(own.Noted) || next.State == site.Promoting {
				require.NotNil(t, seen.Floors, "%s after %s", next.State, now.Sub(own.Noted))
				stored++
			}
			own, seen = next, site.Seen{}
			return
		}
		require.Equal(t, site.Mirror, action)
		seen = site.Seen{Done: site.Mirror, Complete: true, Ends: map[string]uint64{"S": 9}}
		if needsFloors(own, peer, now) {
			asked++
			seen.Floors = map[string]uint64{"S": 7}
		}
	}
	for range 600 {
		look()
	}
	assert.GreaterOrEqual(t, stored, 9)
	assert.Less(t, asked, 80, "of 600 looks")

	peer = peer.Clone()
	peer.State = site.Stopping
	look()
	peer = peer.Clone()
	peer.State, peer.Cuts = site.Fenced, map[string]uint64{"S": 9}
	look()
	assert.Equal(t, site.Promoting, own.State)
}

package site_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/site"
)

// place is a site of the model: one stream, and whether it takes writes. A mirror takes nothing but what the other place has.
type place struct {
	record *site.Record
	log    []string
	open   bool
	mirror bool
	// queue has what waits and is not mirrored.
	queue []string
	// busy means that there are runs in progress, or processes that have not stopped.
	busy bool
	seen site.Seen
	// kept has what the place had beyond the other one when it became its mirror.
	kept []string
}

// world is the model of the protocol: two places, a link that may be cut, and a clock.
type world struct {
	places [2]*place
	cut    bool
	now    time.Time
	forced bool
	// taken are the writes that a place has acknowledged.
	taken []string
	// late are actions of processes that were suspended after they had decided on them. None of them removes anything: nothing
	// can make that safe (docs/sites.md).
	late []func()
}

func newWorld() *world {
	now := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	east := site.Linked("east", "west", now)
	return &world{now: now, places: [2]*place{
		{record: east, open: true}, {record: site.Joined("west", east, now), mirror: true},
	}}
}

func (w *world) peer(i int) *site.Record {
	if w.cut {
		return nil
	}
	return w.places[1-i].record
}

// step lets a place take a step. It may end between storing and acting, or act much later.
func (w *world) step(i int, crash, later bool) {
	p := w.places[i]
	next, action := site.Step(p.record, w.peer(i), p.seen, w.now)
	if next.State != p.record.State || next.Term != p.record.Term {
		p.seen = site.Seen{}
	}
	p.record = next.Clone()
	switch {
	case crash:
		p.seen = site.Seen{}
	case later && action != site.Rejoin:
		w.late = append(w.late, func() { w.act(i, action) })
	default:
		p.seen = w.act(i, action)
	}
}

func (w *world) act(i int, action site.Action) site.Seen {
	p, other := w.places[i], w.places[1-i]
	switch action {
	case site.Open:
		p.open = !p.mirror && p.record.Works()
	case site.Drain:
		if p.busy {
			return site.Seen{Waits: "runs"}
		}
	case site.Fence:
		if p.busy {
			return site.Seen{Waits: "processes"}
		}
		p.open = false
	case site.Hold:
		p.open = p.open && p.record.State != site.Fenced
	case site.Mirror:
		if w.cut || other.mirror || p.record.State != site.Standby {
			return site.Seen{}
		}
		if !p.mirror { // a late cut has made a stream of it
			p.log, p.mirror, p.open = slices.Clone(other.log), true, false
		}
		p.log = append(p.log, other.log[min(len(p.log), len(other.log)):]...)
	case site.Cut:
		p.mirror, p.open = false, false
	case site.Take:
		if !p.record.Forced && !p.record.Taken && p.record.State == site.Promoting && len(p.record.Cuts) > 0 {
			if w.cut {
				return site.Seen{}
			}
			for _, id := range other.queue {
				if !slices.Contains(p.queue, id) {
					p.queue = append(p.queue, id)
				}
			}
		}
		p.open = !p.mirror && (p.record.State == site.Promoting && len(p.record.Cuts) > 0 || p.record.Works())
	case site.Repair, site.Review:
	case site.Rejoin:
		if w.cut {
			return site.Seen{}
		}
		if p.open = false; !p.mirror {
			p.kept = append(append(p.kept, p.queue...), p.log[min(len(p.log), int(p.record.Shared(other.record, "s"))-1):]...)
		}
		p.log, p.mirror, p.queue = slices.Clone(other.log), true, nil
	}
	return site.Seen{Done: action, Ends: map[string]uint64{"s": uint64(len(p.log)) + 1}, Complete: action == site.Mirror}
}

// write offers a place a write, into the stream or the queue. If it takes it, it acknowledges it.
func (w *world) write(i int, queued bool) {
	p := w.places[i]
	if !p.open {
		return
	}
	id := fmt.Sprint(p.record.Site, len(w.taken))
	w.taken = append(w.taken, id)
	if queued {
		p.queue = append(p.queue, id)
	} else {
		p.log = append(p.log, id)
	}
}

// settle heals everything and takes steps until one place is active and the other is its standby with all that it has.
func (w *world) settle(t *rapid.T) {
	w.cut, w.late = false, nil
	for _, p := range w.places {
		p.busy = false
	}
	for range 40 {
		for i := range w.places {
			w.step(i, false, false)
		}
		w.now = w.now.Add(time.Second)
		if w.isSettled() {
			return
		}
	}
	t.Fatalf("not settled: %v, %v", w.places[0].record, w.places[1].record)
}

func (w *world) isSettled() bool {
	for i, p := range w.places {
		other := w.places[1-i]
		if p.record.State == site.Active && p.open && other.record.State == site.Standby && other.record.Term == p.record.Term &&
			slices.Equal(p.log, other.log) {
			return true
		}
	}
	return false
}

// TestTwoSites checks the protocol in a model: unless somebody forces a takeover, at most one place takes writes, and nothing that was
// acknowledged is lost. If somebody does, it is at the place that is active in the end or kept at the other one. Two places that are
// connected always agree in the end.
func TestTwoSites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		at := rapid.IntRange(0, 1)
		t.Repeat(map[string]func(*rapid.T){
			"step":  func(t *rapid.T) { w.step(at.Draw(t, "place"), false, false) },
			"crash": func(t *rapid.T) { w.step(at.Draw(t, "place"), true, false) },
			"delay": func(t *rapid.T) { w.step(at.Draw(t, "place"), false, true) },
			"late": func(t *rapid.T) {
				if len(w.late) > 0 {
					i := rapid.IntRange(0, len(w.late)-1).Draw(t, "action")
					act := w.late[i]
					w.late = slices.Delete(w.late, i, i+1)
					act()
				}
			},
			"write": func(t *rapid.T) { w.write(at.Draw(t, "place"), rapid.Bool().Draw(t, "queued")) },
			"": func(t *rapid.T) {
				assert.True(t, w.forced || !w.places[0].open || !w.places[1].open, "both places take writes")
			},
			"link": func(*rapid.T) { w.cut = !w.cut },
			"busy": func(t *rapid.T) { p := w.places[at.Draw(t, "place")]; p.busy = !p.busy },
			"time": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second)
			},
			"handover": func(t *rapid.T) {
				i := at.Draw(t, "place")
				if next, err := site.Handover(w.places[i].record, w.peer(i), w.now.Add(10*time.Second), w.now); err == nil {
					w.places[i].record, w.places[i].seen = next, site.Seen{}
				}
			},
			"failover": func(t *rapid.T) {
				i := at.Draw(t, "place")
				if rapid.IntRange(0, 3).Draw(t, "seldom") > 0 {
					return
				}
				if next, err := site.Failover(w.places[i].record, w.peer(i), w.now); err == nil {
					w.places[i].record, w.places[i].seen, w.forced = next, site.Seen{}, true
				}
			},
		})
		w.settle(t)
		for _, id := range w.taken {
			found := slices.ContainsFunc(w.places[:], func(p *place) bool {
				return slices.Contains(p.log, id) || slices.Contains(p.queue, id) || w.forced && slices.Contains(p.kept, id)
			})
			assert.True(t, found, "%s is lost", id)
		}
	})
}

// TestNeedsFloors looks at an active site for ten minutes and then takes over from it. The standby has floors each time that it stores them, and seldom asks for them.
func TestNeedsFloors(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	peer := site.Linked("east", "west", now)
	own := site.Joined("west", peer, now)
	var seen site.Seen
	asked, stored := 0, 0
	look := func() {
		now = now.Add(time.Second)
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
		if own.NeedsFloors(peer, now) {
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

// TestHandoverNeedsAStandbyThatCanFollow: while the standby copies, the streams would take nothing.
func TestHandoverNeedsAStandbyThatCanFollow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for text, change := range map[string]func(own, peer *site.Record){
		"": func(_, _ *site.Record) {},
		"has never had everything since it became a standby": func(_, peer *site.Record) { peer.Complete = false },
		"has lost entries that \"west\" has (A, B)":          func(_, peer *site.Record) { peer.Ahead = []string{"A", "B"} },
		"a handover needs a standby of term 1":               func(_, peer *site.Record) { peer.Term = 2 },
		"only an active one hands over":                      func(own, _ *site.Record) { own.State = site.Draining },
	} {
		own := site.Linked("east", "west", now)
		peer := site.Joined("west", own, now)
		peer.Complete = true
		change(own, peer)
		next, err := site.Handover(own, peer, now.Add(time.Minute), now)
		if text != "" {
			require.ErrorContains(t, err, text)
			continue
		}
		require.NoError(t, err)
		fences := func() bool {
			after, _ := site.Step(next, peer, site.Seen{Done: site.Drain}, now)
			return after.State == site.Stopping
		}
		assert.True(t, fences())
		peer.Complete = false
		assert.False(t, fences(), "it became a standby anew meanwhile")
		peer.Complete, peer.Ahead = true, []string{"A"}
		assert.False(t, fences())
	}
}

// TestAStandbyThatIsAhead says so for good, and does not take over from the site that has lost entries, unless it is forced to.
func TestAStandbyThatIsAhead(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	peer := site.Linked("east", "west", now)
	own := site.Joined("west", peer, now)
	own, _ = site.Step(own, peer, site.Seen{Done: site.Mirror, Ends: map[string]uint64{"S": 9}, Ahead: []string{"S"}}, now)
	require.Equal(t, []string{"S"}, own.Ahead)
	peer = peer.Clone()
	peer.State, peer.Cuts = site.Fenced, map[string]uint64{"S": 9}
	next, action := site.Step(own, peer, site.Seen{Done: site.Mirror, Complete: true, Ends: map[string]uint64{"S": 9}}, now)
	assert.Equal(t, own, next)
	assert.Equal(t, site.Mirror, action)
	forced, err := site.Failover(own, peer, now)
	require.NoError(t, err)
	assert.Equal(t, site.Promoting, forced.State)
	assert.Empty(t, forced.Ahead)
}

package schedules

import (
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// roomShare is the fraction of the room for further triggers and backfills of a schedule that one frontend may fill after one
	// look at the pending ones: if four frontends look at the same moment, they fill no more than there is.
	roomShare = 4
	// roomAge is how long the result of such a look is valid.
	roomAge = 10 * time.Second
	// maxRooms bounds the schedules whose room is known.
	maxRooms = 4096
)

// rooms knows how many more triggers and backfills of a schedule may be accepted without another look at all pending ones. Such a
// look also goes through the traces of those finished in the last hour. For a schedule that is triggered ten times a second these
// are thousands. It is safe for concurrent use.
type rooms struct {
	mu    sync.Mutex
	known map[schedule.Key]*room
}

// room is what a look has found.
type room struct {
	incarnation string // of the schedule
	share       int
	until       time.Time
	// taken has the IDs of those that were accepted since and may be pending. The value is true once the record is stored.
	taken map[string]bool
}

func newRooms() *rooms { return &rooms{known: map[schedule.Key]*room{}} }

// saw notes how many were pending at a time, and for which incarnation of the schedule.
func (r *rooms) saw(key schedule.Key, incarnation string, pending int, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= maxRooms {
		clear(r.known)
	}
	share := max(schedule.MaxBackfills-pending, 0) / roomShare
	r.known[key] = &room{incarnation: incarnation, share: share, until: now.Add(roomAge), taken: map[string]bool{}}
}

// forget makes the next request look, because others were accepted that are not counted here.
func (r *rooms) forget(key schedule.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, key)
}

// has reports whether one more can be accepted.
func (r *rooms) has(key schedule.Key, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.known[key]
	return found != nil && len(found.taken) < found.share && now.Before(found.until)
}

// incarnationOf returns the incarnation of the schedule at the last look; empty if that is no longer known.
func (r *rooms) incarnationOf(key schedule.Key) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.known[key]; found != nil {
		return found.incarnation
	}
	return ""
}

// take accepts one, if there is room. half reports that half of the room is taken. Then it is time to see which of those are
// over, so that no request has to wait for it.
func (r *rooms) take(key schedule.Key, id string, now time.Time) (ok, half bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.known[key]
	if found == nil || len(found.taken) >= found.share || !now.Before(found.until) {
		return false, false
	}
	found.taken[id] = false
	return true, len(found.taken) == (found.share+1)/2
}

// stored notes that the record of an accepted one exists. From now on its absence means that it is over.
func (r *rooms) stored(key schedule.Key, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.known[key]; found != nil {
		if _, taken := found.taken[id]; taken {
			found.taken[id] = true
		}
	}
}

// taken returns the IDs of those that were accepted and stored, and may be over.
func (r *rooms) taken(key schedule.Key) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []string
	if found := r.known[key]; found != nil {
		for id, stored := range found.taken {
			if stored {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// over gives back the room of those that are no longer pending.
func (r *rooms) over(key schedule.Key, ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.known[key]; found != nil {
		for _, id := range ids {
			delete(found.taken, id)
		}
	}
}

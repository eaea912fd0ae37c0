package frontend

import (
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// roomShare is which part of the room for further triggers and backfills of a schedule a frontend may fill after one look
	// at those that are pending: four that look at the same moment fill no more than there is.
	roomShare = 4
	// roomAge is for how long.
	roomAge = 10 * time.Second
	// maxRooms bounds the schedules that it is known of.
	maxRooms = 4096
)

// rooms knows how many more triggers and backfills of schedules may be taken in without another look at all that are
// pending. Such a look also goes through the traces of those that were finished in the last hour; of a schedule that is
// triggered ten times a second that are thousands. It is safe for concurrent use.
type rooms struct {
	mu    sync.Mutex
	known map[schedule.Key]*room
}

// room is what a look has found.
type room struct {
	incarnation string // of the schedule
	share       int
	until       time.Time
	// taken are the IDs of those that have been taken in since, and may be pending. They are true once they are stored.
	taken map[string]bool
}

func newRooms() *rooms { return &rooms{known: map[schedule.Key]*room{}} }

// saw notes how many were pending at a time, of an incarnation of the schedule.
func (r *rooms) saw(key schedule.Key, incarnation string, pending int, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= maxRooms {
		clear(r.known)
	}
	share := max(schedule.MaxBackfills-pending, 0) / roomShare
	r.known[key] = &room{incarnation: incarnation, share: share, until: now.Add(roomAge), taken: map[string]bool{}}
}

// forget makes the next request look: others have been taken in that are not counted here.
func (r *rooms) forget(key schedule.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, key)
}

// has reports whether one more can be taken in.
func (r *rooms) has(key schedule.Key, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.known[key]
	return found != nil && len(found.taken) < found.share && now.Before(found.until)
}

// incarnationOf returns the incarnation of the schedule that was looked at; empty if that is not known any more.
func (r *rooms) incarnationOf(key schedule.Key) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.known[key]; found != nil {
		return found.incarnation
	}
	return ""
}

// take takes one in, if there is room. half says that half of the room is taken: it is time to see what of that is over, so
// that no request has to wait for it.
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

// stored notes that the record of one that was taken in is there: from now on its absence says that it is over.
func (r *rooms) stored(key schedule.Key, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.known[key]; found != nil {
		if _, taken := found.taken[id]; taken {
			found.taken[id] = true
		}
	}
}

// taken returns the IDs of those that have been taken in and stored, and may be over.
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

// over gives back the room of some that are not pending any more.
func (r *rooms) over(key schedule.Key, ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.known[key]; found != nil {
		for _, id := range ids {
			delete(found.taken, id)
		}
	}
}

package schedules

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/schedule"
)

var roomKey = schedule.Key{Namespace: "default", ID: "nightly"}

// takeAll takes as many as there is room for. It returns their number, and after how many half of the room was taken.
func takeAll(r *rooms, now time.Time) (taken int, halves []int) {
	for {
		has := r.has(roomKey, now)
		ok, half := r.take(roomKey, fmt.Sprint(taken), now)
		if !ok {
			return taken, halves
		}
		if !has {
			panic("there was no room")
		}
		taken++
		if half {
			halves = append(halves, taken)
		}
	}
}

func TestRoomAfterALook(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := newRooms()
	taken, _ := takeAll(r, now)
	assert.Zero(t, taken, "nobody has looked")
	for pending, want := range map[int]int{0: 25, 1: 24, 92: 2, 93: 1, 96: 1, 97: 0, 100: 0, 250: 0} {
		r.saw(roomKey, "i1", pending, now)
		taken, halves := takeAll(r, now)
		assert.Equal(t, want, taken, pending)
		if want > 0 {
			assert.Equal(t, []int{(want + 1) / 2}, halves, pending)
		}
	}
	r.saw(roomKey, "i1", 0, now)
	assert.False(t, r.has(schedule.Key{Namespace: "default", ID: "hourly"}, now), "that of another schedule")
	assert.False(t, r.has(roomKey, now.Add(roomAge)), "the look is too old")
	assert.True(t, r.has(roomKey, now))
	r.forget(roomKey)
	assert.False(t, r.has(roomKey, now))
}

// TestRoomIsGivenBack: those that are over give their room back, but only after they have been stored, because before that they
// are absent too.
func TestRoomIsGivenBack(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := newRooms()
	assert.Empty(t, r.taken(roomKey))
	r.saw(roomKey, "i1", 92, now)
	taken, _ := takeAll(r, now)
	assert.Equal(t, 2, taken)
	r.stored(roomKey, "1")
	r.stored(roomKey, "none")
	assert.Equal(t, []string{"1"}, r.taken(roomKey))
	r.over(roomKey, []string{"1"})
	assert.Empty(t, r.taken(roomKey))
	ok, half := r.take(roomKey, "2", now)
	assert.True(t, ok)
	assert.False(t, half)
	assert.False(t, r.has(roomKey, now))
}

// TestRoomIsNeverExceeded: the requests come from one frontend, one after the other.
func TestRoomIsNeverExceeded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := newRooms()
	pending, looks := 0, 0
	for {
		if ok, _ := r.take(roomKey, fmt.Sprint(pending), now); !ok {
			looks++
			if pending == schedule.MaxBackfills {
				break
			}
			r.saw(roomKey, "i1", pending+1, now)
		}
		pending++
		assert.LessOrEqual(t, pending, schedule.MaxBackfills)
	}
	assert.Less(t, looks, 20)
}

func TestRoomsAreForgottenWhereThereAreTooMany(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := newRooms()
	for i := range maxRooms + 1 {
		r.saw(schedule.Key{Namespace: "default", ID: string(rune('a' + i))}, "i1", 0, now)
	}
	assert.Len(t, r.known, 1)
}

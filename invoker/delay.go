package invoker

import (
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Bounds are what the namespace of a schedule allows now. The zero Bounds allow everything.
type Bounds struct {
	// Freeze is the newest freeze of the namespace, whether or not it is in effect now; nil if there was none.
	Freeze *schedule.Freeze
	// Room is how many runs may start; nil means any number.
	Room *Room
}

// Room is how many starts of one schedule the limits of its namespace allow.
type Room struct {
	// DelayedBy is the limit that delays the starts without room.
	DelayedBy schedule.DelayReason
	// Asked says that this is the answer to Decision.Asks. Otherwise, only starts that were given a time before may begin.
	Asked bool
	// Slots are the times from which the starts that asked may begin, in order; a past time means now. AskAt is when the other starts may
	// ask again.
	Slots []time.Time
	AskAt time.Time
}

// isFrozen reports whether a freeze prevents an automated start: the freeze is in effect now, or was when the start was due.
func (m *machine) isFrozen(s *wire.BufferedStart) bool {
	freeze := m.bounds.Freeze
	return !s.Manual && (freeze.Covers(m.now) || freeze.Covers(s.Actual))
}

// admit makes starts ready if the limits of the namespace have room for them. The others continue to wait. Automated starts come first.
func (m *machine) admit(starts []*wire.BufferedStart) {
	m.slots = m.bounds.Room.Slots
	for _, manual := range []bool{false, true} {
		for _, s := range starts {
			if s.Manual == manual {
				m.admitOne(s)
			}
		}
	}
}

// admitOne makes a start ready if it has a time that has come, or gets one now.
func (m *machine) admitOne(s *wire.BufferedStart) {
	slot := m.slotOf(s)
	switch {
	case slot.IsZero():
		m.placeless++
		by := m.bounds.Room.DelayedBy
		if s.Delay != nil && !m.bounds.Room.Asked {
			by = s.Delay.By
		}
		m.delay(s, schedule.Delay{By: by})
	case slot.After(m.now):
		m.delay(s, schedule.Delay{By: schedule.DelayActionRate, NotBefore: slot.UTC()})
	default:
		m.ready(s)
	}
}

// slotOf returns the time that a start has, or is given now; zero if there is none.
func (m *machine) slotOf(s *wire.BufferedStart) time.Time {
	if s.Delay != nil && m.now.Sub(s.Delay.NotBefore) <= staleSlot {
		return s.Delay.NotBefore
	}
	if len(m.slots) == 0 {
		return time.Time{}
	}
	slot := m.slots[0]
	m.slots = m.slots[1:]
	return slot
}

// delay records how a start is delayed. A start counts as delayed only once, even if the limit changes.
func (m *machine) delay(s *wire.BufferedStart, delay schedule.Delay) {
	if s.Delay == nil {
		if m.out.Delayed == nil {
			m.out.Delayed = map[schedule.DelayReason]int{}
		}
		m.out.Delayed[delay.By]++
	}
	if s.Delay == nil || *s.Delay != delay || s.Phase != schedule.PhasePending {
		s.Phase, s.Delay = schedule.PhasePending, &delay // it no longer waits for a run
		m.out.Changed = true
	}
}

// noteAsk decides when the starts without a time ask again, and whether they ask now.
func (m *machine) noteAsk() {
	at, room := m.state.AskAt, m.bounds.Room
	switch {
	case room == nil || m.placeless == 0:
		at = time.Time{}
	case room.Asked:
		at = room.AskAt.UTC()
	case !at.After(m.now):
		m.out.Asks = m.placeless
		at = m.now.UTC()
	}
	if !at.Equal(m.state.AskAt) {
		m.state.AskAt = at
		m.out.Changed = true
	}
}

// delayedUntil returns when the delayed starts of a state continue; zero if there are none.
func delayedUntil(state *wire.InvokerState) time.Time {
	at := state.AskAt
	for i := range state.Starts {
		s := &state.Starts[i]
		if s.Delayed() && !s.Delay.NotBefore.IsZero() && (at.IsZero() || s.Delay.NotBefore.Before(at)) {
			at = s.Delay.NotBefore
		}
	}
	return at
}

package invoker

import (
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Bounds are what the namespace of a schedule allows at present. The zero Bounds allow everything.
type Bounds struct {
	// Freeze is the newest of the namespace, whether it holds now or not; nil if there was none.
	Freeze *schedule.Freeze
	// Room is how many runs may start; nil means any number.
	Room *Room
}

// Room is what the limits of a namespace leave for the starts of one schedule.
type Room struct {
	// DelayedBy is the limit that keeps starts waiting for which there is no room.
	DelayedBy schedule.DelayReason
	// Asked says that this answers Decision.Asks. Otherwise only those may start that have been given a time before.
	Asked bool
	// Slots are from when on starts may begin that have asked, in order; what has passed means now. AskAt is when the others
	// may ask again.
	Slots []time.Time
	AskAt time.Time
}

// isFrozen reports whether a freeze keeps an automated start from beginning: the freeze holds now, or did when it was due.
func (m *machine) isFrozen(s *wire.BufferedStart) bool {
	freeze := m.bounds.Freeze
	return !s.Manual && (freeze.Covers(m.now) || freeze.Covers(s.Actual))
}

// admit makes those of some starts ready that the limits of the namespace have room for. The others go on waiting: automated
// ones come first.
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

// admitOne makes a start ready if it has a time that has come, or is given one.
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

// slotOf returns the time that a start has been given, or is now; zero if there is none.
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

// delay notes how a start is delayed. It counts once, whatever it is delayed by.
func (m *machine) delay(s *wire.BufferedStart, delay schedule.Delay) {
	if s.Delay == nil {
		if m.out.Delayed == nil {
			m.out.Delayed = map[schedule.DelayReason]int{}
		}
		m.out.Delayed[delay.By]++
	}
	if s.Delay == nil || *s.Delay != delay || s.Phase != schedule.PhasePending {
		s.Phase, s.Delay = schedule.PhasePending, &delay // it waits for no run any more
		m.out.Changed = true
	}
}

// noteAsk settles when to ask again for the starts without a time, and whether that is now.
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

// delayedUntil is when the starts of a state that are delayed go on; zero if there are none.
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

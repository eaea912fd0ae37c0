package invoker

import (
	"github.com/carillon-scheduler/carillon/schedule"

	"github.com/carillon-scheduler/carillon/internal/wire"
)

// endRun asks a run to end because somebody requested it. The control is stored in the record, so it is delivered, however many attempts
// that takes. A run that is over, or that has already been asked for the same or more, is left alone.
func (m *machine) endRun(e *wire.EndRun) {
	if e.Incarnation != m.definition.Incarnation {
		m.ignore(ignoredIncarnation)
		return
	}
	start := m.find(e.RequestID)
	switch {
	case start == nil || !start.Running():
		m.ignore(ignoredUnknown)
	case start.Ending == e.Kind || start.Ending == schedule.ControlTerminate:
		m.ignore(ignoredRepeat)
	default:
		m.endByHand(e, start)
	}
}

func (m *machine) endByHand(e *wire.EndRun, start *wire.BufferedStart) {
	start.Ending = e.Kind
	m.control(e.Kind, start)
	m.state.Controls[len(m.state.Controls)-1].Reason = e.Text()
	kind := schedule.EventCancelRequested
	if e.Kind == schedule.ControlTerminate {
		kind = schedule.EventTerminated
	}
	event := startEvent(kind, start, e.Reason)
	event.Identity = e.Identity // who asks for the end, not who asked for the run
	m.event(event)
}

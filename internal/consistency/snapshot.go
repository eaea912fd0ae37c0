package consistency

import (
	"time"

	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Snapshot is what is stored about one schedule at about one moment.
type Snapshot struct {
	Key schedule.Key
	Now time.Time
	// Bucket holds the records of the schedule.
	Bucket string

	Definition Stored[wire.Definition]
	Generator  Stored[wire.GeneratorState]
	Invoker    Stored[wire.InvokerState]
	Result     Stored[wire.Result]
	// Backfills has the records of triggers and backfills by ID. One that somebody names and that is not there has
	// revision 0.
	Backfills map[string]Stored[wire.BackfillState]

	// Tasks are the messages for the pools, Timers the delayed ones.
	Tasks  []Task
	Timers []Timer
	// Runs says of runs that count as running, by request ID, where they are. One that has only just begun is not there.
	Runs map[string]Run
	// LastTold is when the invoker last told what becomes of a start, says the event history; looked up where the record of the
	// generator is needed and not there.
	LastTold time.Time
	// Untold says that nothing has become of what was due first: the event history reaches back to the creation, and tells of no
	// automated action before those which the invoker's record has covered. A record that was lost and begun anew has told of some.
	// It is looked up where that record does not begin at the creation.
	Untold bool
}

// Stored is a record as it is stored.
type Stored[T any] struct {
	Value T
	// Revision is 0 where there is no record.
	Revision uint64
	// Err is why it cannot be decoded. Foreign says that it is of a release with another format.
	Err     error
	Foreign bool
}

// there reports whether there is a record, legible or not.
func (s *Stored[T]) there() bool { return s.Revision != 0 }

// legible reports whether there is a record that can be read.
func (s *Stored[T]) legible() bool { return s.there() && s.Err == nil }

// Task is a message that waits for a pool, or is in its hands.
type Task struct {
	subjects.Task
	Subject  string
	Sequence uint64
	// Passed says that the consumer of the pool takes it for acknowledged.
	Passed bool
}

// Timer is a delayed message.
type Timer struct {
	Subject string
	// Kind is "due", "guard", "retry", "backfill" or "timeout"; What names the version, backfill or request.
	Kind, What string
}

// Run is where a run is that counts as running.
type Run struct {
	// Known says that its request is in the action stream, or its completion in the callback stream, or that a worker has it.
	Known bool
	// Callback and Request are the dead letters of its completion and of its request; zero where there are none.
	Callback, Request deadletter.Number
}

// The kinds of timer.
const (
	timerDue      = "due"
	timerGuard    = "guard"
	timerRetry    = "retry"
	timerBackfill = "backfill"
	timerTimeout  = "timeout"
)

// generating reports whether the generator is about to look at the schedule anyway.
func (s *Snapshot) generating() bool {
	return s.task(subjects.RoleGenerate, "") || s.timer(timerGuard, "")
}

// invoking reports the same of the invoker.
func (s *Snapshot) invoking() bool {
	return s.task(subjects.RoleInvoke, "") || s.task(subjects.RoleCallback, "") || s.task(subjects.RoleTimeout, "")
}

// backfilling reports the same of the backfiller and one request.
func (s *Snapshot) backfilling(id string) bool {
	return s.task(subjects.RoleBackfill, id) || s.timer(timerBackfill, id)
}

// task reports whether there is a task of a role; an empty what means any.
func (s *Snapshot) task(role subjects.Role, what string) bool {
	for i := range s.Tasks {
		if s.Tasks[i].Role == role && (what == "" || s.Tasks[i].What == what) {
			return true
		}
	}
	return false
}

// timer reports whether there is a timer of a kind; an empty what means any.
func (s *Snapshot) timer(kind, what string) bool {
	for i := range s.Timers {
		if s.Timers[i].Kind == kind && (what == "" || s.Timers[i].What == what) {
			return true
		}
	}
	return false
}

// beginsLate reports whether the invoker knows of no hand-off, or of none from the creation on, though the generator has made one; and
// nothing is on its way. Before until the invoker knows of none.
func (s *Snapshot) beginsLate() (until time.Time, late bool) {
	created := s.Definition.Value.CreateTime
	until = s.Generator.Value.HandedOff
	if covered := s.covered(); len(covered) > 0 {
		until = covered[0].From
	}
	return until, s.generatorKnown() && until.After(created) && s.Generator.Value.HandedOff.After(created) && !s.invoking()
}

// covered are the ranges of automated actions that the invoker has taken over; none of another incarnation.
func (s *Snapshot) covered() []wire.Span {
	if !s.Invoker.legible() || s.Invoker.Value.Incarnation != s.Definition.Value.Incarnation {
		return nil
	}
	return s.Invoker.Value.Sources[schedule.SourceAuto].Covered
}

// parseTimer takes apart a timer subject: its schedule, and which timer it is.
func parseTimer(names subjects.Names, subject string) (schedule.Key, Timer, bool) {
	timer, err := names.ParseTimer(subject)
	return timer.Key, Timer{Subject: subject, Kind: timer.Kind, What: timer.What}, err == nil
}

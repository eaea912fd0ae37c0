package consistency

import (
	"time"

	"github.com/nats-io/nats.go"

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
	// Backfills has the records of triggers and backfills by ID. A record that something names and that does not exist has
	// revision 0.
	Backfills map[string]Stored[wire.BackfillState]

	// Tasks are the messages for the pools, Timers the delayed messages.
	Tasks  []Task
	Timers []Timer
	// Runs says where the runs are that count as running, by request ID. A run that has just begun is not in it.
	Runs map[string]Run
	// LastTold is when the invoker last stored an event about a start. It is looked up only if the generator's record is needed
	// and missing.
	LastTold time.Time
	// Untold is set if nothing became of the actions that were due first. That is so if the event history reaches back to the
	// creation and has no automated action before the ranges that the invoker's record covers. If a record was lost and begun
	// anew, the history has such an action. Untold is looked up only if the invoker's record does not begin at the creation.
	Untold bool
}

// Stored is a record as it is stored.
type Stored[T any] struct {
	Value T
	// Revision is 0 if there is no record.
	Revision uint64
	// Err is why the record cannot be decoded. Foreign is set if a release with another format wrote it.
	Err     error
	Foreign bool
}

// there reports whether there is a record, legible or not.
func (s *Stored[T]) there() bool { return s.Revision != 0 }

// legible reports whether there is a record that can be read.
func (s *Stored[T]) legible() bool { return s.there() && s.Err == nil }

// Task is a message that waits for a pool, or that a pool is working on.
type Task struct {
	subjects.Task
	Subject  string
	Sequence uint64
	// Passed is set if the consumer of the pool counts it as acknowledged.
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
	// Known is set if the action stream has its request, or the callback stream its completion, or a worker the run.
	Known bool
	// Callback and Request are the dead letters of its completion and of its request; zero if there are none.
	Callback, Request deadletter.Number
	// Report tells the schedule how the run has ended, if that is an execution of a workflow whose journal says it; nil otherwise.
	Report *nats.Msg
}

// The kinds of timer.
const (
	timerDue      = "due"
	timerGuard    = "guard"
	timerRetry    = "retry"
	timerBackfill = "backfill"
	timerTimeout  = "timeout"
	// timerExecution is the kind of the timers of executions, which belong to no schedule.
	timerExecution = "execution"
)

// generating reports whether the generator is about to look at the schedule anyway.
func (s *Snapshot) generating() bool {
	return s.task(subjects.RoleGenerate, "") || s.timer(timerGuard, "")
}

// invoking reports whether the invoker is about to look at the schedule anyway.
func (s *Snapshot) invoking() bool {
	return s.task(subjects.RoleInvoke, "") || s.task(subjects.RoleCallback, "") || s.task(subjects.RoleTimeout, "")
}

// backfilling reports whether the backfiller is about to look at a trigger or backfill anyway.
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

// beginsLate reports whether the generator has made a hand-off, while the invoker knows of none, or of none that begins at the
// creation, and nothing is on its way to the invoker. until is the time before which the invoker knows of no hand-off.
func (s *Snapshot) beginsLate() (until time.Time, late bool) {
	created := s.Definition.Value.CreateTime
	until = s.Generator.Value.HandedOff
	if covered := s.covered(); len(covered) > 0 {
		until = covered[0].From
	}
	return until, s.generatorKnown() && until.After(created) && s.Generator.Value.HandedOff.After(created) && !s.invoking()
}

// covered returns the ranges of automated actions that the invoker has taken over. It returns none of another incarnation.
func (s *Snapshot) covered() []wire.Span {
	if !s.Invoker.legible() || s.Invoker.Value.Incarnation != s.Definition.Value.Incarnation {
		return nil
	}
	return s.Invoker.Value.Sources[schedule.SourceAuto].Covered
}

// parseTimer parses the subject of a timer into its schedule and the timer. ok is false if it is the timer of no schedule.
func parseTimer(names subjects.Names, subject string) (key schedule.Key, timer Timer, ok bool) {
	parsed, err := names.ParseTimer(subject)
	return parsed.Key, Timer{Subject: subject, Kind: parsed.Kind, What: parsed.What}, err == nil && parsed.Kind != timerExecution
}

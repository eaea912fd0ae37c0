package consistency

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/backlog"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Execution is what is stored about a workflow ID and its newest run. The journal has been read before everything else: what it makes due moves
// on from there, and a part that was read later cannot miss it.
type Execution struct {
	Key schedule.Key
	// Sequence is that of the last entry of the journal; 0 if there is no journal.
	Sequence uint64
	// State is what the journal adds up to; nil if there is no journal, or if Err is set.
	State *execution.State
	// Err says why the journal cannot be replayed. Foreign is set if an entry has another format version.
	Err     error
	Foreign bool
	// Settled is set if history has done all that the entries make due.
	Settled bool
	// Rebuilt is set if the streams of delayed messages were made anew: see [Config].
	Rebuilt bool
	// Comes is when the delayed messages come, in any order.
	Comes []time.Time
	// Due is the message that waits to wake history; nil if there is none.
	Due *Task
	// Unqueued are the tasks that wait for a worker and are not in the backlog.
	Unqueued []execution.Offer
	// Asked are the events by which the run asks something of other workflows, and has not learned what came of it, with the sequences of their
	// entries.
	Asked map[int64]uint64
	// Ended are the children that have ended, and of which the run does not know it.
	Ended []endedChild
	// Strays are tasks of the backlog, if there is no journal.
	Strays []strayTask
	// Over is the time of the last entry, if the newest run has ended with it, or before. Keeps is for how long the namespace keeps runs after their end;
	// 0 if that is not known.
	Over  time.Time
	Keeps time.Duration
	// Now is the time at which all of it had been read.
	Now time.Time
}

// endedChild is a child of a workflow, by the entry with which it ended, and the parent's event that started it.
type endedChild struct {
	event    int64
	key      schedule.Key
	sequence uint64
}

// strayTask is a task of the backlog.
type strayTask struct {
	line     backlogLine
	sequence uint64
}

// inspectExecution returns the findings about an execution. It is a pure function.
func inspectExecution(names subjects.Names, shard int, x *Execution) []Finding {
	in := executionInspector{Execution: x, names: names, shard: shard}
	switch {
	case x.Due != nil && x.Due.Passed:
		in.found(TaskStranded, x.Due.Subject, revision(x.Due.Sequence), again{x.Due.Subject, x.Due.Sequence}, "send it again",
			"the message on %s waits for history, whose consumer has passed over it", x.Due.Subject)
	case x.Sequence == 0:
		in.gone()
	case x.Err != nil:
		in.illegible()
	case x.State.Run.Open():
		in.deadline()
		in.tasks()
	}
	return in.findings
}

type executionInspector struct {
	*Execution
	names    subjects.Names
	shard    int
	findings []Finding
}

func (in *executionInspector) found(kind Kind, about, evidence string, m mend, repair, what string, args ...any) {
	in.findings = append(in.findings, Finding{
		Kind: kind, Namespace: in.Key.Namespace, WorkflowID: in.Key.ID, About: about, evidence: evidence, mend: m,
		What: fmt.Sprintf(what, args...), Repair: repair, Repairable: m != nil,
	})
}

// illegible reports a journal that cannot be replayed. Every request about the workflow ID fails, so nothing but a person can help.
func (in *executionInspector) illegible() {
	evidence := revision(in.Sequence)
	if in.Foreign {
		in.found(JournalForeign, "", evidence, nil, "run a release that reads it", "its journal: %v", in.Err)
		return
	}
	in.found(JournalDamaged, "", evidence, nil, fmt.Sprintf("restore a backup, or give the workflow up: purge the subject %s of the stream %s",
		in.names.Journal(in.shard, in.Key), in.names.JournalStream(in.shard)), "its journal: %v", in.Err)
}

// gone finds what is left of a workflow ID without a journal. Delayed messages may be set for years ahead, and a task may wait for a worker that
// never comes.
func (in *executionInspector) gone() {
	if n := len(in.Comes); n > 0 {
		in.found(TimerOrphaned, "", strconv.Itoa(n), removeTimers{}, "remove them",
			"there is no such workflow, and %s of it", plural(n, "delayed message"))
	}
	for _, s := range in.Strays {
		in.found(TaskOrphaned, s.line.queue.Name, revision(s.sequence), removeTask{s.sequence}, "remove it",
			"there is no such workflow, and a task of it waits in the %s task queue %s", s.line.queue.Kind, s.line.queue.Name)
		in.findings[len(in.findings)-1].task = &s
	}
}

// deadline checks that a delayed message comes at or before the next deadline: the one that the journal says is armed. If the time of that one
// has passed, a message must be about to wake history. As long as history has not done what the entries make due, it is about to arm one; but what earlier entries have armed
// is gone where the streams were made anew.
func (in *executionInspector) deadline() {
	next, armed := in.State.NextDeadline(), in.State.Run.Armed
	if next.IsZero() || !in.Settled && !in.Rebuilt || in.Due != nil || in.awaited(next, armed) {
		return
	}
	const what = "no message will wake the workflow for its next deadline, at %s"
	evidence := revision(in.Sequence) + instant(armed)
	if armed.After(in.Now) {
		in.found(DeadlineMissing, "", evidence, armDeadline{armed}, "set one for "+instant(armed), what, instant(next))
		return
	}
	in.found(DeadlineMissing, "", evidence, wakeExecution{}, "wake history, which sets one", what, instant(next))
}

// awaited reports whether a delayed message comes as it should, or may be on its way.
func (in *executionInspector) awaited(next, armed time.Time) bool {
	from, to := armed.Add(-time.Second), armed
	if armed.IsZero() {
		from, to = time.Time{}, next
	}
	late := in.Now.Add(-overdue)
	if late.After(from) {
		from = late
	}
	if in.Now.After(to) {
		to = in.Now
	}
	to = to.Add(overdue) // a process whose clock is behind that of NATS arms the message a little later than the journal says
	for _, at := range in.Comes {
		if at.After(from) && at.Before(to) {
			return true
		}
	}
	return !armed.IsZero() && armed.Before(in.Now) && armed.After(late) && !in.Rebuilt
}

// tasks checks that every task that waits for a worker is in the backlog. The entry that made it due has been settled, so it was taken by a worker,
// or put there.
func (in *executionInspector) tasks() {
	for _, o := range in.Unqueued {
		queue, task := backlog.TaskOf(in.Key, &o)
		about := fmt.Sprintf("%s task of event %d, attempt %d", queue.Kind, o.Event, o.Attempt)
		in.found(TaskMissing, about, revision(in.Sequence), storeTask{queue, task}, "put it into task queue "+queue.Name,
			"the %s waits for a worker since %s, and is in no queue", about, instant(o.Scheduled))
	}
}

// work checks that what the run asks of other workflows has been done, and that it knows which children have ended. settled returns the sequence up
// to which history has done what the journals of a shard make due.
func (in *executionInspector) work(settled func(schedule.Key) uint64) {
	for _, event := range slices.Sorted(maps.Keys(in.Asked)) {
		if sequence := in.Asked[event]; in.Settled {
			in.found(WorkMissing, "event "+strconv.FormatInt(event, 10), revision(in.Sequence), redoEntry{in.Key, sequence}, "ask history to do it",
				"what its event %d asks of another workflow has not been done", event)
		}
	}
	for _, child := range in.Ended {
		if child.sequence <= settled(child.key) {
			in.found(EndUntold, "child "+child.key.ID, revision(in.Sequence, child.sequence), redoEntry{child.key, child.sequence}, "tell it",
				"its child %s, of event %d, has ended, and nobody has told it", child.key.ID, child.event)
		}
	}
}

// owedTasks returns the tasks of a state that must be in the backlog once its entries are settled. A task on a sticky queue that nobody takes comes
// back by its timeout, and one that has expired is removed.
func owedTasks(state *execution.State, now time.Time) (owed []execution.Offer) {
	for _, o := range state.Waiting() {
		if o.Normal == "" && (o.Expires.IsZero() || o.Expires.After(now)) {
			owed = append(owed, o)
		}
	}
	return owed
}

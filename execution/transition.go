package execution

import (
	"slices"
	"time"

	historypb "go.temporal.io/api/history/v1"
	protocolpb "go.temporal.io/api/protocol/v1"
	"google.golang.org/protobuf/proto"
)

// transition is the work on one decision: a copy of the state, and the entry that leads from the state to the copy.
type transition struct {
	now    time.Time
	before *State
	entry  Entry
	// run is the working copy of the newest run, and part is what the entry adds to it; both are nil before the first run.
	run  *Run
	part *Part
	// arrived is how many of the buffered events the journal has as such already. The rest was buffered by this transition.
	arrived int
	// refusal is what the caller is told although something is stored.
	refusal error
	history *History
	beat    *Beat
	// next is the run that follows on the one which has ended; nil if none does.
	next *successor
	// continues says that the run is followed by that one, so nobody is told how it ends.
	continues bool
	// sent is the number of the last update that the worker has which completes a task, and messages what it says about updates.
	sent     int64
	messages []*protocolpb.Message
	// by is who completes a workflow task, and eager are the events of the activities that it gets with the answer.
	by    poll
	eager []int64
	// dropped is the event that the worker goes back to, because nothing of its task is left; zero if something is.
	dropped int64
	// came is when a delayed message has come, by the clock of NATS; zero if none has. arms is for when one is to be armed; zero for none.
	came, arms time.Time
}

func begin(state *State, cause string, now time.Time) *transition {
	tx := &transition{now: now, before: state, entry: Entry{Time: now, Cause: cause}}
	if state.Run != nil && !state.Run.gone() {
		tx.run = state.Run.clone()
		tx.part = &Part{RunID: tx.run.ID, First: tx.run.First}
		tx.arrived = len(tx.run.Buffered)
	}
	return tx
}

// open begins a new run. The run before it must have ended.
func (tx *transition) open(run *Run) {
	tx.settle()
	tx.run, tx.part, tx.arrived, tx.continues = run, &Part{RunID: run.ID}, 0, false
}

// end returns what the transition came to.
func (tx *transition) end(reply proto.Message) Decision {
	tx.boundBuffered()
	tx.enforceLimits()
	decision := Decision{
		After: &State{tx.before.Key, tx.before.Sequence, tx.previous()}, Reply: reply, Refusal: tx.refusal, History: tx.history, Beat: tx.beat,
	}
	tx.settle()
	decision.Arm = tx.arms
	if tx.part != nil && tx.part.gone() {
		decision.After.Run = goneRun(tx.part)
	}
	if len(tx.entry.Parts) > 0 {
		decision.Entry = &tx.entry
	}
	return decision
}

// settle adds the part to the entry, if it changes anything.
func (tx *transition) settle() {
	if tx.part == nil {
		return
	}
	tx.part.Buffer = tx.run.Buffered[tx.arrived:]
	tx.notePauses()
	if !tx.part.empty() || !tx.came.IsZero() {
		tx.arm()
	}
	if tx.part.empty() {
		return
	}
	if tx.part.First == 0 || !tx.run.Open() && !tx.continues {
		tx.part.Callback = tx.run.Callback
	}
	if !tx.run.Open() && tx.part.end() != nil {
		tx.part.Orphans = tx.run.orphans()
		if !tx.continues {
			tx.part.Parent = tx.run.parent()
		}
	}
	tx.entry.Parts = append(tx.entry.Parts, *tx.part)
	tx.run.Entries++
}

// empty reports whether a part changes nothing.
func (p *Part) empty() bool {
	return len(p.Events) == 0 && p.Task == nil && p.Sticky == nil && len(p.Activities) == 0 && len(p.Buffer) == 0 &&
		p.LastStarted == nil && len(p.Requests) == 0 && p.FirstTask == nil && len(p.TakenBack) == 0 && len(p.Admitted) == 0 &&
		len(p.Rejected) == 0 && p.Armed == nil && len(p.Removed) == 0 && p.Paused == nil
}

// write adds an event to the history.
func (tx *transition) write(attributes proto.Message) *historypb.HistoryEvent {
	event := newEvent(attributes, tx.now)
	tx.run.effect(event)
	return tx.number(event)
}

// number gives an event the next ID.
func (tx *transition) number(event *historypb.HistoryEvent) *historypb.HistoryEvent {
	event.EventId = tx.run.NextEvent
	tx.part.Events = append(tx.part.Events, event)
	tx.run.number(event)
	return event
}

// arrive adds an event that comes from outside the workflow. While a worker works on a workflow task, such events are buffered: the worker
// must not find events in the history that were not there when it began.
func (tx *transition) arrive(attributes proto.Message, at time.Time) {
	if tx.run.Task.Started != 0 {
		tx.buffer(newEvent(attributes, at))
		return
	}
	tx.certain()
	event := newEvent(attributes, at)
	tx.run.effect(event)
	tx.number(event)
}

// hold adds an event that gets its place at the next flush.
func (tx *transition) hold(attributes proto.Message) { tx.buffer(newEvent(attributes, tx.now)) }

func (tx *transition) buffer(event *historypb.HistoryEvent) {
	tx.run.effect(event)
	tx.run.Buffered = append(tx.run.Buffered, event)
}

// flush gives the buffered events their place in the history. It reports whether there were any. The results of activities come last, so that a
// worker sees a signal or a cancellation that came first before them.
func (tx *transition) flush() bool {
	buffered := tx.run.Buffered
	if len(buffered) == 0 {
		return false
	}
	started := map[int64]int64{}
	for _, last := range []bool{false, true} {
		for i, event := range buffered {
			if isResult(event) != last {
				continue
			}
			event = proto.CloneOf(event)
			setStarted(event, started)
			tx.number(event)
			if i < tx.arrived {
				tx.part.Arrived = append(tx.part.Arrived, event.GetEventId())
			}
			started[startedBy(event)] = event.GetEventId()
		}
	}
	tx.run.Buffered, tx.part.Flushed, tx.arrived = nil, true, 0
	return true
}

func (tx *transition) setTask(task WorkflowTask) {
	tx.run.Task = task
	tx.part.Task = &task
}

func (tx *transition) setSticky(sticky Sticky) {
	if tx.run.Sticky != sticky {
		tx.run.Sticky = sticky
		tx.part.Sticky = &sticky
	}
}

func (tx *transition) setFirstTask(at time.Time) {
	if !tx.run.FirstTask.Equal(at) {
		tx.run.FirstTask = at
		tx.part.FirstTask = &at
	}
}

// setActivity changes what is known about a pending activity.
func (tx *transition) setActivity(record ActivityRecord) {
	activity := tx.run.Activities[record.Event]
	if err := activity.set(record); err != nil {
		panic(err) // this transition has encoded it
	}
	tx.run.Activities[record.Event] = activity
	for i := range tx.part.Activities {
		if tx.part.Activities[i].Event == record.Event {
			tx.part.Activities[i] = record
			return
		}
	}
	tx.part.Activities = append(tx.part.Activities, record)
}

// accept remembers the ID of a request.
func (tx *transition) accept(request string) {
	if request == "" {
		return
	}
	tx.run.Requests = tx.run.Requests.with(request)
	tx.part.Requests = append(tx.part.Requests, request)
}

// saved is what restore goes back to.
type saved struct {
	run     *Run
	part    Part
	arrived int
	next    *successor
	eager   []int64
}

// save returns what the transition has come to, for restore.
func (tx *transition) save() saved {
	part := *tx.part
	part.Events, part.Activities, part.Rejected = slices.Clip(part.Events), slices.Clone(part.Activities), slices.Clip(part.Rejected)
	return saved{tx.run.clone(), part, tx.arrived, tx.next, tx.eager}
}

// restore undoes everything since save.
func (tx *transition) restore(s saved) {
	tx.run, *tx.part, tx.arrived, tx.next, tx.eager = s.run, s.part, s.arrived, s.next, s.eager
}

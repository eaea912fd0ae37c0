package simulation

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// promisedBySettling checks a message that is about to be acknowledged: its work is done, or another stored message leads to
// it.
func (w *world) promisedBySettling(n *node, d *jsmodel.Delivery) {
	if d.Stream == w.names.ActionStream() {
		w.promisedByRemoval(n.name, d.Header.Get(nats.MsgIdHdr))
		return
	}
	task, err := w.names.ParseTask(d.Subject)
	if err != nil {
		return
	}
	settled := place{d.Stream, d.Sequence}
	switch task.Role {
	case subjects.RoleCallback, subjects.RoleTimeout:
		w.promisedByRecorded(task.Key, d)
		w.promisedToGoOn(task, settled)
	case subjects.RoleInvoke:
		if task.IsHandOff() {
			w.promisedByTakingOver(task.Key, d)
		}
		w.promisedToGoOn(task, settled)
	case subjects.RoleGenerate:
		w.promisedToLookAgain(n, task, settled)
	case subjects.RoleBackfill:
		w.promisedToStepAgain(task, settled)
	}
}

// promisedByRecorded: a completion is acknowledged when the record has it.
func (w *world) promisedByRecorded(key schedule.Key, d *jsmodel.Delivery) {
	var completion schedule.Completion
	if json.Unmarshal(d.Data, &completion) != nil {
		return
	}
	state, _ := w.invoker(key)
	if s := state.Start(completion.RequestID); s != nil && isOut(s) {
		w.broken(nameOf(key), "the completion of %s is acknowledged, and the record has it as %s", s.WorkflowID, s.Phase)
	}
}

// isOut reports whether a start may be with a worker.
func isOut(s *wire.BufferedStart) bool {
	return s.Phase == schedule.PhaseReady || s.Phase == schedule.PhaseStarted
}

// promisedByTakingOver: a hand-off is acknowledged when the record covers it. The record forgets a backfill when the backfill
// is over.
func (w *world) promisedByTakingOver(key schedule.Key, d *jsmodel.Delivery) {
	var e wire.Enqueue
	if err := codec.Unmarshal(d.Data, &e); err != nil {
		panic(err)
	}
	definition, there := w.stored(nameOf(key))
	if !there || definition.Incarnation != e.Incarnation {
		return
	}
	state, _ := w.invoker(key)
	progress, known := state.Sources[e.Source]
	covers := slices.ContainsFunc(progress.Covered, func(s wire.Span) bool {
		return !s.From.After(e.From) && !s.To.Before(e.To)
	})
	if state.Incarnation != e.Incarnation || !covers && (known || e.Source == schedule.SourceAuto) {
		w.broken(nameOf(key), "the hand-off of %s up to %s is acknowledged, and the record does not have it", e.Source,
			e.To.Sub(w.trace.begin))
	}
}

// promisedToGoOn: when the invoker has finished a message, each run of its record is somewhere, and where there is something
// left to do, a timer or another message leads to it.
func (w *world) promisedToGoOn(task subjects.Task, settled place) {
	state, ok := w.invoker(task.Key)
	definition, there := w.stored(nameOf(task.Key))
	if !ok || !there || state.Incarnation != definition.Incarnation {
		return
	}
	left := len(state.Controls) > 0
	for i := range state.Starts {
		s := &state.Starts[i]
		// A ready start that has been published is on its way. For a moment only the process that has published it may know.
		left = left || s.Phase == schedule.PhaseReady && !w.isSomewhere(task, s, settled)
		if s.Phase == schedule.PhaseStarted && !w.isSomewhere(task, s, settled) {
			w.broken(nameOf(task.Key), "%s counts as running, and is neither in the queue nor completed", s.WorkflowID)
		}
	}
	if left && !w.isStored(task.Shard, w.names.RetryTimer(task.Shard, task.Key)) && !w.isInvoking(task, settled) {
		w.broken(nameOf(task.Key), "the invoker has something to do, and neither a timer nor a message for it")
	}
}

// isInvoking reports whether the invoker has another message of the schedule.
func (w *world) isInvoking(task subjects.Task, settled place) bool {
	prefix, shard := w.names.Prefix(), strconv.Itoa(task.Shard)
	namespace, id := subjects.Escape(task.Key.Namespace), subjects.Escape(task.Key.ID)
	tasks, callbacks := w.names.TaskStream(task.Shard), w.names.CallbackStream(task.Shard)
	return w.anyStored(tasks, prefix+".task."+shard+".invoke."+namespace+"."+id+".*", settled) ||
		w.anyStored(tasks, prefix+".task."+shard+".timeout."+namespace+"."+id+".*", settled) ||
		w.anyStored(callbacks, prefix+".callback."+shard+"."+namespace+".*."+id+".*", settled)
}

// isSomewhere reports whether a run that counts as running is in the queue, or its completion waits, or it is about to be
// terminated, which removes it from the queue before the record says so.
func (w *world) isSomewhere(task subjects.Task, s *wire.BufferedStart, settled place) bool {
	if w.isQueued(s.RequestID) || s.Ending == schedule.ControlTerminate {
		return true
	}
	return w.anyStored(w.names.CallbackStream(task.Shard), w.names.Callback(task.Shard, task.Key, s.TaskQueue, s.RequestID), settled) ||
		w.anyStored(w.names.TaskStream(task.Shard), w.names.Timeout(task.Shard, task.Key, s.RequestID), settled)
}

// promisedToLookAgain: when the generator has finished a message, a timer or another message leads back to a schedule that is
// not paused. The timer must be no later than the next time in the record, or no later than now. There is an exception: another
// process has armed the timer and will find a conflict when it writes its record. It is still at work, and arms the timer
// again.
func (w *world) promisedToLookAgain(n *node, task subjects.Task, settled place) {
	key, shard := task.Key, task.Shard
	d, ok := w.stored(nameOf(key))
	if !ok || d.Schedule.State.Paused {
		return
	}
	tasks := w.names.TaskStream(shard)
	if w.anyStored(tasks, w.names.Generate(shard, key, "*"), settled) || w.anyStored(tasks, w.names.GuardTimers(shard, key), nowhere) {
		return
	}
	state, _ := record(w, key, kv.Generator(key))
	due := w.names.DueTimer(shard, key)
	switch at := w.timerAt(shard, due); {
	case at.IsZero():
		w.broken(nameOf(key), "the generator is done with it, and nothing wakes it again")
	case at.Before(time.Now()):
	case state.Incarnation == d.Incarnation && !state.Next.IsZero() && at.After(state.Next) && !w.isPutOff(state.Next, at) && !w.isMending(n, due, at):
		w.broken(nameOf(key), "it is due at %s, and the timer is for %s", state.Next.Sub(w.trace.begin), at.Sub(w.trace.begin))
	}
}

// mostFirings is how often a timer fires for the same time, at most: each process that has received its message, or has come
// back, may arm it once more. A process whose clock is behind must not arm it again and again for a time that has come.
const mostFirings = 25

// promisedToAdvance: a timer that fires is not armed for the same time again and again.
func (w *world) promisedToAdvance(timer string) {
	w.promises.fired[timer]++
	if w.promises.fired[timer] == mostFirings {
		w.ledger.find("spin", "", "the timer %s has fired %d times", timer, mostFirings)
	}
}

// timerLead is how long before the due time the timer of a generator fires.
const timerLead = 2 * time.Second

// isPutOff reports whether a timer that is later than the due time may come from a process whose clock is behind: the timer has
// fired, and would fire again at once.
func (w *world) isPutOff(due, at time.Time) bool {
	now := time.Now()
	return w.plan.Skew > timerLead/2 && !now.Before(due.Add(-timerLead)) && !at.After(now.Add(timerLead/2))
}

// lookAgain is how soon a generator looks again if it cannot tell whether it has armed its timer for the right time.
const lookAgain = time.Second

// isMending reports whether another process armed the timer last and is still at work, or has given up and looks again soon, by
// its own clock. A process that has just died will never arm it again, and nobody knows about a repeat by the network.
func (w *world) isMending(one *node, timer string, at time.Time) bool {
	a := w.promises.armers[timer]
	switch {
	case a == nil:
		return false
	case a.repeated:
		return true
	}
	return a.node != one && (!a.done || !at.After(a.at.Add(lookAgain+2*w.plan.Skew)))
}

// promisedToStepAgain: when the backfiller has finished a message, a timer or another message leads back to a request that is
// not over.
func (w *world) promisedToStepAgain(task subjects.Task, settled place) {
	key, shard := task.Key, task.Shard
	if _, ok := record(w, key, kv.Backfill(key, task.What)); !ok {
		return
	}
	waits := w.anyStored(w.names.TaskStream(shard), w.names.Backfill(shard, key, task.What), settled)
	if !waits && !w.isStored(shard, w.names.BackfillTimer(shard, key, task.What)) {
		w.broken(nameOf(key), "the backfiller is done with %s, and nothing wakes it again", task.What)
	}
}

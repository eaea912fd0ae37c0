package simulation

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The promises of order of docs/architecture.md and docs/worker-protocol.md are checked in the moment in which the later of the
// two things happens. This file has the promises about messages that are stored and removed, promise_written.go those about
// records, promise_settled.go those about messages that are acknowledged. All findings are of kind "promise".

// promises is what the world remembers for them.
type promises struct {
	// handedOff are the hand-offs that a task stream has stored. sent are the controls that the control stream has stored.
	handedOff map[handOff]bool
	sent      map[string]bool
	// intended are the request IDs of the runs that a record has said were to be started.
	intended map[string]bool
	// guarded is when a frontend last armed a guard, by the guard's subject and the frontend's name.
	guarded map[string]time.Time
	// first are the first records of invokers, by name, and who has written them.
	first map[string]firstRecord
	// armers are the processes that have armed the stored timers, by subject.
	armers map[string]*armer
	// repeated are the timers that the network has armed once more, in the place of a timer that was stored by then.
	repeated map[string]bool
	// fired is how often timers have fired, by their subject and time.
	fired map[string]int
	// rooms are how much room there was for backfills.
	rooms rooms
	// invokers are the records of the invokers as they were last decoded.
	invokers map[string]decoded
}

// handOff names a hand-off by its source and end. A repeat may begin at the same time and end later.
type handOff struct {
	schedule, incarnation, source string
	to                            int64
}

// armer is the process that has armed a timer last. Its work lasts until it has written the record that goes with the timer, or
// has settled the message that led to it. sequence is that of the newest message it had received when it armed the timer.
// repeated says that the network armed the timer, by repeating an earlier message.
type armer struct {
	node     *node
	at       time.Time
	sequence uint64
	done     bool
	repeated bool
}

// firstRecord is a record that was written where there was none.
type firstRecord struct {
	node *node
	data string
}

type decoded struct {
	revision uint64
	state    wire.InvokerState
}

func newPromises() promises {
	return promises{
		handedOff: map[handOff]bool{}, sent: map[string]bool{}, intended: map[string]bool{}, guarded: map[string]time.Time{},
		first: map[string]firstRecord{}, armers: map[string]*armer{}, repeated: map[string]bool{}, invokers: map[string]decoded{}, rooms: rooms{},
		fired: map[string]int{},
	}
}

// broken notes a broken promise. Where JetStream has lost a message of the schedule, its stored state proves nothing.
func (w *world) broken(id, format string, args ...any) {
	if !w.hasLost(id) {
		w.ledger.find("promise", id, format, args...)
	}
}

// invoker returns the record of the invoker as it is stored. It must not be changed.
func (w *world) invoker(key schedule.Key) (*wire.InvokerState, bool) {
	bucket := w.names.StateBucket(subjects.ShardOf(key, shards))
	m, ok := w.server.Last(subjects.BucketStream(bucket), subjects.BucketSubject(bucket, kv.Invoker(key).String()))
	if !ok || isTombstone(&m) {
		return &wire.InvokerState{}, false
	}
	d := w.promises.invokers[m.Subject]
	if d.revision != m.Sequence {
		d = decoded{revision: m.Sequence}
		if err := codec.Unmarshal(m.Data, &d.state); err != nil {
			panic(err)
		}
		w.promises.invokers[m.Subject] = d
	}
	return &d.state, true
}

func isTombstone(m *jsmodel.Message) bool { return m.Header.Get("KV-Operation") != "" }

// isStored reports whether a task stream has a message on a subject.
func (w *world) isStored(shard int, subject string) bool {
	_, ok := w.server.Last(w.names.TaskStream(shard), subject)
	return ok
}

// place is where a message is stored.
type place struct {
	stream   string
	sequence uint64
}

// nowhere is the place of no message.
var nowhere place

// anyStored reports whether a stream has a message that matches a filter, other than one.
func (w *world) anyStored(stream, filter string, other place) bool {
	return slices.ContainsFunc(w.server.Messages(stream, filter), func(m jsmodel.Message) bool {
		return place{stream, m.Sequence} != other
	})
}

// noteArmed notes who has armed a timer, if a message does so.
func (w *world) noteArmed(n *node, msg *nats.Msg, now time.Time, repeated bool) {
	if msg.Header.Get(task.HeaderAt) != "" {
		w.promises.repeated[msg.Subject] = w.promises.repeated[msg.Subject] || repeated
		w.promises.armers[msg.Subject] = &armer{node: n, at: now, sequence: n.received[msg.Subject], repeated: repeated}
	}
}

// noteReceived notes that a process has received a task of the generator.
func (n *node) noteReceived(d *jsmodel.Delivery) {
	names := n.world.names
	if task, err := names.ParseTask(d.Subject); err == nil && task.Role == subjects.RoleGenerate {
		due := names.DueTimer(task.Shard, task.Key)
		n.received[due] = max(n.received[due], d.Sequence)
	}
}

// noteSettled notes that a process has finished the work for a message. It sent the acknowledgement some time before.
func (w *world) noteSettled(n *node, d *jsmodel.Delivery, sent time.Time) {
	task, err := w.names.ParseTask(d.Subject)
	if err != nil || task.Role != subjects.RoleGenerate {
		return
	}
	a := w.promises.armers[w.names.DueTimer(task.Shard, task.Key)]
	if a != nil && d.Sequence >= a.sequence { // otherwise it had received a newer one by then
		w.noteDone(n, task.Key, sent)
	}
}

func (w *world) noteDone(n *node, key schedule.Key, sent time.Time) {
	a := w.promises.armers[w.names.DueTimer(subjects.ShardOf(key, shards), key)]
	if a != nil && a.node == n && sent.After(a.at) {
		a.done = true
	}
}

// promisedByMessage checks a message that a stream has just stored.
func (w *world) promisedByMessage(stream string, msg *nats.Msg) {
	switch {
	case stream == w.names.ActionStream():
		w.promisedByRun(msg)
	case stream == w.names.EventStream():
		w.noteEvent(msg)
	case stream == w.names.ControlStream():
		w.promises.sent[msg.Header.Get(nats.MsgIdHdr)] = true
	case strings.HasPrefix(msg.Subject, w.names.Prefix()+".callback."):
		w.promisedByCompletion(msg)
	case strings.HasPrefix(msg.Subject, w.names.Prefix()+".task."):
		if task, err := w.names.ParseTask(msg.Subject); err == nil && task.IsHandOff() {
			w.noteHandOff(nameOf(task.Key), msg.Data)
		}
	}
}

func (w *world) noteHandOff(id string, data []byte) {
	var e wire.Enqueue
	if err := codec.Unmarshal(data, &e); err != nil {
		panic(err)
	}
	w.promises.handedOff[handOff{id, e.Incarnation, e.Source, e.To.UnixNano()}] = true
	w.promisedByHandOff(id, &e)
}

// promisedByRun: the intent to start is stored before the run, and so is the timer of a run with a timeout. There are two
// exceptions: a run that is over by now, and one that another process has given up because its workflow ID was taken.
func (w *world) promisedByRun(msg *nats.Msg) {
	var request schedule.ActionRequest
	if json.Unmarshal(msg.Data, &request) != nil {
		return
	}
	if r := w.ledger.runs[request.RequestID]; r != nil && r.over {
		return
	}
	key := schedule.Key{Namespace: request.Namespace, ID: request.ScheduleID}
	if !request.Deadline.IsZero() && !w.keepsWorkflowID(nameOf(key)) {
		shard := subjects.ShardOf(key, shards)
		armed, ok := w.server.Last(w.names.TaskStream(shard), w.names.TimeoutTimer(shard, key, request.RequestID))
		if !ok || armed.Header.Get(task.HeaderTarget) != w.names.Timeout(shard, key, request.RequestID) {
			w.broken(nameOf(key), "run %s was stored without its timeout timer", request.RequestID)
		}
	}
	if !w.promises.intended[request.RequestID] {
		w.broken(nameOf(key), "run %s was stored, and no record said that it was to be started", request.RequestID)
	}
}

// promisedByCompletion: a worker reports a run while its request is still there. Otherwise there would be a time in which
// nobody knows of the run. A run that is over has been reported, has timed out or was terminated.
func (w *world) promisedByCompletion(msg *nats.Msg) {
	var completion schedule.Completion
	if json.Unmarshal(msg.Data, &completion) != nil || completion.Worker == "" {
		return
	}
	r := w.ledger.runs[completion.RequestID]
	if r != nil && !r.over && !w.isQueued(completion.RequestID) {
		w.broken(r.scheduleID, "%s was reported when its request was gone already", r.workflowID)
	}
}

// isQueued reports whether the action stream has the request of a run.
func (w *world) isQueued(requestID string) bool {
	r := w.ledger.runs[requestID]
	if r == nil {
		return false
	}
	m, ok := w.server.Last(w.names.ActionStream(), w.names.Action(keyOf(r.scheduleID).Namespace, taskQueue, r.workflowID))
	return ok && m.Header.Get(nats.MsgIdHdr) == requestID
}

// promisedByRemoval: a run leaves the queue when it is over, and not before: its completion is stored, or it was terminated,
// which the control stream says.
func (w *world) promisedByRemoval(who, requestID string) {
	if r := w.ledger.runs[requestID]; r != nil && !r.over {
		w.broken(r.scheduleID, "%s has taken %s out of the queue, which is not over", who, r.workflowID)
	}
}

// promisedByRemove checks a message that is about to be removed from a stream. The runs of a deleted schedule are withdrawn.
func (w *world) promisedByRemove(n *node, stream string, sequence uint64) {
	if stream != w.names.ActionStream() {
		return
	}
	for _, m := range w.server.Messages(stream, ">") {
		var request schedule.ActionRequest
		if m.Sequence == sequence && json.Unmarshal(m.Data, &request) == nil && !w.isReplaced(idOf(&request)) {
			w.promisedByRemoval(n.name, m.Header.Get(nats.MsgIdHdr))
		}
	}
}

// timerAt returns when a timer is due, zero if there is none.
func (w *world) timerAt(shard int, subject string) time.Time {
	m, ok := w.server.Last(w.names.TaskStream(shard), subject)
	if !ok {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, strings.TrimPrefix(m.Header.Get(task.HeaderAt), "@at "))
	if err != nil {
		panic(err)
	}
	return at
}

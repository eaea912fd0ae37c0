package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Finding is something that must not happen.
type Finding struct {
	// Kind is the broken promise, in a word. Schedule is the schedule it concerns, empty if it concerns none in particular.
	Kind, Schedule string
	Text           string
}

// String is the finding in a line.
func (f Finding) String() string {
	if f.Schedule == "" {
		return f.Kind + ": " + f.Text
	}
	return f.Kind + ": " + f.Schedule + ": " + f.Text
}

// ledger is what the world itself has seen of the runs: at the action stream, at the callbacks and in the workers' code.
type ledger struct {
	runs map[string]*run // by request ID
	// trace is where findings are noted when they are made.
	trace *trace
	// order has the runs that the action stream has stored, in order.
	order []*run
	// open are the runs of each schedule that have been stored and have not ended.
	open     map[string]map[string]bool
	findings []Finding
	// coded counts the times that a worker's code began with a run again.
	coded int
}

// run is one start, whatever became of it.
type run struct {
	requestID  string
	scheduleID string
	nominal    time.Time
	workflowID string
	at         time.Time // when the action stream first stored it
	stored     int       // how often it did
	over       bool
	again      bool              // its last attempt has failed, and there may be another
	statuses   []schedule.Status // that were reported
	late       bool              // it was over when the action stream stored it: no worker runs it
	lost       bool              // JetStream has lost its completion, or its request, which a worker may have received all the same
	due, ended time.Time
	decision   *decision
	// said is what has been reported of it.
	said []completion
	// request is what the action stream has stored, possible are the definitions that it may follow.
	request  *schedule.ActionRequest
	possible []*wire.Definition
	// begun is where a worker's code began with it.
	begun []beginning
}

// beginning is a worker whose code began with a run, and when that worker had received it.
type beginning struct {
	node *node
	at   time.Time
}

// hasReason reports whether something has gone wrong since, for the worker or for all, so that a run may begin once more. A
// message may have waited in the client for as long as its acknowledgement may take.
func (b *beginning) hasReason() bool {
	since := b.at.Add(-subjects.ActionAckWait)
	return !b.node.troubled.Before(since) || !b.node.world.troubled.Before(since)
}

// source is where the run comes from: the part of its request ID between a prefix and a UUID.
func (r *run) source() string {
	const prefix, uuid = len("sched-"), len("-00000000-0000-0000-0000-000000000000")
	return r.requestID[prefix : len(r.requestID)-uuid]
}

// automated reports whether the run comes from the spec rather than from a request.
func (r *run) automated() bool { return r.source() == schedule.SourceAuto }

func newLedger() *ledger {
	return &ledger{runs: map[string]*run{}, open: map[string]map[string]bool{}}
}

func (l *ledger) find(kind, id, format string, args ...any) {
	found := Finding{kind, id, fmt.Sprintf(format, args...)}
	l.findings = append(l.findings, found)
	if l.trace != nil {
		l.trace.note(time.Now(), "FOUND", found.String())
	}
}

func (l *ledger) run(requestID string) *run {
	if l.runs[requestID] == nil {
		l.runs[requestID] = &run{requestID: requestID}
	}
	return l.runs[requestID]
}

// published tells the ledger what a stream has stored.
func (w *world) published(stream string, msg *nats.Msg, now time.Time) {
	w.lose(msg.Subject, msg.Data, now)
	w.promisedByMessage(stream, msg)
	switch {
	case stream == w.names.ActionStream():
		var request schedule.ActionRequest
		if json.Unmarshal(msg.Data, &request) == nil {
			made := w.books.decisions[request.RequestID]
			w.ledger.start(&request, made, now)
			if r := w.ledger.runs[request.RequestID]; made != nil && r.request == nil {
				r.request, r.possible = &request, w.possible(idOf(&request), made.incarnation, now)
			}
		}
	case stream == w.names.ControlStream():
		var control schedule.Control
		if json.Unmarshal(msg.Data, &control) == nil && control.Kind == schedule.ControlTerminate {
			w.ledger.end(control.RequestID, now)
		}
	case w.completes(msg.Subject):
		var reported schedule.Completion
		if json.Unmarshal(msg.Data, &reported) == nil {
			w.executions.told[reported.RequestID] = append(w.executions.told[reported.RequestID], reported.RunID)
			r := w.ledger.run(reported.RequestID)
			if f := reported.Failure; f != nil && f.Type == schedule.FailureLost && !r.lost {
				w.ledger.find("lost", r.scheduleID, "%s counts as lost, and nothing of it is", r.workflowID)
			}
			r.statuses = append(r.statuses, reported.Status)
			r.said = append(r.said, completion{reported, now})
			w.ledger.end(reported.RequestID, now)
		}
	}
}

// completes reports whether a completion is published on a subject.
func (w *world) completes(subject string) bool {
	task, err := w.names.ParseTask(subject)
	return err == nil && task.IsCompletion()
}

// removing tells the ledger of a run that is about to be removed from the action stream: it is over for its schedule.
func (w *world) removing(stream string, sequence uint64) {
	if stream != w.names.ActionStream() {
		return
	}
	for _, m := range w.server.Messages(stream, w.names.Prefix()+".action.>") {
		if m.Sequence == sequence {
			w.ledger.end(m.Header.Get(nats.MsgIdHdr), time.Now())
		}
	}
}

// start notes that the action stream has stored a run. It finds a run that is started twice, and more runs at once than the
// policy allowed when the run was decided.
func (l *ledger) start(request *schedule.ActionRequest, made *decision, now time.Time) {
	r := l.run(request.RequestID)
	r.scheduleID, r.nominal, r.due, r.workflowID = idOf(request), request.NominalTime, request.DueTime, request.WorkflowID
	if r.decision = made; made == nil {
		l.find("undecided", r.scheduleID, "%s was started, and no record says so", r.workflowID)
		return
	}
	// A run that JetStream has lost may come again: a process that has stood still for longer than the stream remembers its ID
	// finds neither the request nor a completion, and cannot know that a worker has it, or has had it.
	if r.stored++; r.stored > 1 && !r.lost {
		l.find("doubled", r.scheduleID, "%s was started %d times", request.WorkflowID, r.stored)
	}
	if r.stored > 1 {
		return
	}
	r.at = now
	l.order = append(l.order, r)
	if r.late = r.over; r.late {
		return // a slow message: it has been terminated by now
	}
	open := l.open[r.scheduleID]
	if open == nil {
		open = map[string]bool{}
		l.open[r.scheduleID] = open
	}
	if others := l.before(r); !made.beside && others >= made.limit {
		l.find("overlap", r.scheduleID, "%s was started while %d others of its schedule ran", request.WorkflowID, others)
	}
	open[request.RequestID] = true
}

// before counts the runs in progress of the same schedule that were decided before another run, or with it. A deleted schedule
// leaves its runs alone, and a later schedule of the same ID knows nothing of them. A run that JetStream has lost counts as
// given up until a record has it as started.
func (l *ledger) before(r *run) int {
	count := 0
	for requestID := range l.open[r.scheduleID] {
		other := l.runs[requestID].decision
		if other.incarnation != r.decision.incarnation || l.runs[requestID].lost {
			continue
		}
		if other.write < r.decision.write || other.write == r.decision.write && !other.beside {
			count++
		}
	}
	return count
}

func (l *ledger) end(requestID string, now time.Time) {
	r := l.run(requestID)
	if !r.over {
		r.over, r.ended = true, now
	}
	delete(l.open[r.scheduleID], requestID)
}

// begin notes that a worker's code begins with a run. If it begins once more, there must be a reason: something has gone wrong
// for one of the workers that have had the run, or for all. That worker need not be the last one, because an earlier one may
// give the run back late.
func (l *ledger) begin(request *schedule.ActionRequest, n *node, received time.Time) {
	r := l.run(request.RequestID)
	r.begun = append(r.begun, beginning{n, received})
	if len(r.begun) == 1 {
		return
	}
	if r.again {
		r.again = false
		return
	}
	l.coded++
	// If JetStream has lost the run or its completion, nobody can know that a worker has had it.
	if !r.lost && !slices.ContainsFunc(r.begun, func(b beginning) bool { return b.hasReason() }) {
		last := r.begun[len(r.begun)-2]
		l.find("repeated", r.scheduleID, "%s began on %s, which had it at %s, and on %s for no reason", request.WorkflowID,
			last.node.name, last.at.Sub(n.world.trace.begin), n.name)
	}
}

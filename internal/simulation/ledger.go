package simulation

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/schedule"
)

// ledger is what the world itself has seen of the runs: at the action stream, at the callbacks and in the workers' code.
type ledger struct {
	runs map[string]*run // by request ID
	// open are those of each schedule that have been stored and have not ended.
	open     map[string]map[string]bool
	findings []string
}

// run is one start, whatever became of it.
type run struct {
	scheduleID string
	nominal    time.Time
	workflowID string
	stored     int // how often the action stream took it
	code       int // how often a worker began with it
	over       bool
}

func newLedger() *ledger {
	return &ledger{runs: map[string]*run{}, open: map[string]map[string]bool{}}
}

func (l *ledger) find(format string, args ...any) {
	l.findings = append(l.findings, fmt.Sprintf(format, args...))
}

func (l *ledger) run(requestID string) *run {
	if l.runs[requestID] == nil {
		l.runs[requestID] = &run{}
	}
	return l.runs[requestID]
}

// published tells the ledger what a stream has taken.
func (w *world) published(stream string, msg *nats.Msg, _ time.Time) {
	switch {
	case stream == w.names.ActionStream():
		var request schedule.ActionRequest
		if json.Unmarshal(msg.Data, &request) == nil {
			w.ledger.start(&request, w.overlaps[request.ScheduleID])
		}
	case stream == w.names.ControlStream():
		var control schedule.Control
		if json.Unmarshal(msg.Data, &control) == nil && control.Kind == schedule.ControlTerminate {
			w.ledger.end(control.RequestID)
		}
	case strings.HasPrefix(msg.Subject, w.names.Prefix()+".callback."):
		var completion schedule.Completion
		if json.Unmarshal(msg.Data, &completion) == nil {
			w.ledger.end(completion.RequestID)
		}
	}
}

// start notes that the action stream has taken a run, and finds what must not be: the same one twice, or two at once where
// the policy forbids it.
func (l *ledger) start(request *schedule.ActionRequest, exclusive bool) {
	r := l.run(request.RequestID)
	r.scheduleID, r.nominal, r.workflowID = request.ScheduleID, request.NominalTime, request.WorkflowID
	if r.stored++; r.stored > 1 {
		l.find("doubled: %s was started %d times", request.WorkflowID, r.stored)
	}
	if r.over {
		return // a slow message: it has been terminated by now, and no worker will run it
	}
	open := l.open[request.ScheduleID]
	if open == nil {
		open = map[string]bool{}
		l.open[request.ScheduleID] = open
	}
	if exclusive && len(open) > 0 {
		l.find("overlap: %s was started while %d others of its schedule ran", request.WorkflowID, len(open))
	}
	open[request.RequestID] = true
}

func (l *ledger) end(requestID string) {
	r := l.run(requestID)
	r.over = true
	delete(l.open[r.scheduleID], requestID)
}

// begin notes that a worker's code begins with a run.
func (l *ledger) begin(request *schedule.ActionRequest, _ *node) { l.run(request.RequestID).code++ }

package simulation

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/subjects"
)

// check checks the executions after the end.
func (e *executions) check() {
	for _, id := range slices.Sorted(maps.Keys(e.journals)) {
		for _, run := range e.journals[id].runs {
			e.checkRun(id, run)
		}
	}
	for _, op := range e.asks {
		e.checkOperation(op)
	}
	for _, s := range e.seen {
		run := e.run(s.workflowID, s.runID)
		if run == nil || len(run.events) < len(s.events) || !sameEvents(s.events, run.events[:len(s.events)]) {
			e.world.ledger.find("changed", s.workflowID, "run %s: code has seen %d events, and the history has others", s.runID, len(s.events))
		}
	}
	for _, d := range e.done {
		e.checkDone(&d)
	}
	e.checkStored()
}

func sameEvents(a, b []*historypb.HistoryEvent) bool {
	return slices.EqualFunc(a, b, func(a, b *historypb.HistoryEvent) bool { return proto.Equal(a, b) })
}

func (e *executions) run(workflowID, runID string) *executionRun {
	for _, run := range e.runsOf(workflowID) {
		if run.id == runID {
			return run
		}
	}
	return nil
}

// checkRun: event IDs have no gap, timers fire once, each activity has one result, a completion says what the workflow has seen, and whoever
// asked for it is told of the end.
func (e *executions) checkRun(id string, run *executionRun) {
	find := func(kind, format string, args ...any) {
		e.world.ledger.find(kind, id, "run %s: "+format, append([]any{run.id}, args...)...)
	}
	if !run.ended {
		find("endless", "it has not ended: %s", kindsOf(run.events))
		return
	}
	run.checkEnd(run.checkEvents(find), find)
	run.checkClosing(find)
	e.checkFamily(id, run, find)
	if len(run.callback) > 0 && run.next == "" && run.handed == "" {
		e.checkTold(id, run, find)
	}
}

// checkTold: whoever asked for it is told once how the last run of a chain ended.
func (e *executions) checkTold(id string, run *executionRun, find func(kind, format string, args ...any)) {
	key := aboutExecution("s-" + id)
	subject := e.world.names.Callback(subjects.ShardOf(key, shards), key, taskQueue, run.request)
	told := e.world.server.Messages(e.world.names.CallbackStream(subjects.ShardOf(key, shards)), subject)
	if len(told) != 1 {
		find("untold", "there are %d messages about its end", len(told))
		return
	}
	for _, about := range e.told[run.request] {
		if about != run.id {
			find("untold", "a message is about run %s", about)
		}
	}
}

// checkEvents returns how many results each activity and timer has, by the event that began it.
func (run *executionRun) checkEvents(find func(kind, format string, args ...any)) (results map[int64]int) {
	results = map[int64]int{}
	signals := map[string]int{}
	for i, event := range run.events {
		if event.GetEventId() != int64(i+1) {
			find("journal", "event %d has the ID %d", i+1, event.GetEventId())
		}
		if of := answeredBy(event); of > 0 {
			if results[of]++; results[of] > 1 {
				find("result doubled", "event %d has two results", of)
			}
		}
		if a := event.GetWorkflowExecutionSignaledEventAttributes(); a != nil {
			if signals[a.GetSignalName()]++; signals[a.GetSignalName()] > 1 {
				find("signal doubled", "signal %s", a.GetSignalName())
			}
		}
	}
	return results
}

// kindsOf lists the kinds of events.
func kindsOf(events []*historypb.HistoryEvent) string {
	var all []string
	for _, event := range events {
		all = append(all, event.GetEventType().String())
	}
	return strings.Join(all, " ")
}

// answeredBy returns the event which began what an event ends: an activity, a timer, a child, or a request to another workflow; 0 for any other
// event.
func answeredBy(event *historypb.HistoryEvent) int64 {
	other, _ := outcomeOfOther(event)
	return max(event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId(),
		event.GetActivityTaskFailedEventAttributes().GetScheduledEventId(),
		event.GetActivityTaskTimedOutEventAttributes().GetScheduledEventId(),
		event.GetActivityTaskCanceledEventAttributes().GetScheduledEventId(),
		event.GetTimerFiredEventAttributes().GetStartedEventId(),
		event.GetTimerCanceledEventAttributes().GetStartedEventId(), other)
}

// checkEnd: a workflow that ends by itself has seen all that was in its history.
func (run *executionRun) checkEnd(results map[int64]int, find func(kind, format string, args ...any)) {
	last := run.events[len(run.events)-1]
	said := saidBy(last)
	if said == "" {
		return
	}
	is := readHistory(run.events)
	if want := textOf(is.result()); said != want {
		find("result", "it says %s, and its history %s", said, want)
	}
	if last.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED {
		return
	}
	for _, event := range run.events {
		begins := event.GetEventType() == enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED || event.GetEventType() == enumspb.EVENT_TYPE_TIMER_STARTED
		if begins && results[event.GetEventId()] == 0 {
			find("result", "event %d has no result", event.GetEventId())
		}
	}
}

// saidBy returns what a workflow says with its last event; empty if somebody else has ended it.
func saidBy(last *historypb.HistoryEvent) string {
	switch last.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		return last.GetWorkflowExecutionFailedEventAttributes().GetFailure().GetMessage()
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
		return textOf(last.GetWorkflowExecutionCanceledEventAttributes().GetDetails())
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		return textOf(last.GetWorkflowExecutionCompletedEventAttributes().GetResult())
	}
	return ""
}

// checkOperation: what was accepted is in a history, and what is in a history was asked for.
func (e *executions) checkOperation(op *operation) {
	find := func(kind, format string, args ...any) {
		e.world.ledger.find(kind, op.id, "%s: "+format, append([]any{op.name}, args...)...)
	}
	if !op.answered {
		find("answer", "there is none")
		return
	}
	if op.err != nil {
		if !op.mayBeRefused() {
			find("answer", "%v", op.err)
		}
		return
	}
	switch op.verb {
	case subjects.VerbSignal:
		e.checkSignal(op, find)
	case subjects.VerbQuery:
		e.checkQuery(op, find)
	case subjects.VerbUpdate:
		e.checkUpdate(op, find)
	case subjects.VerbReset:
		e.checkReset(op, find)
	case subjects.VerbStartScheduled:
		if n := e.begun(op); n != 1 {
			find("start doubled", "it has begun %d runs", n)
		}
	case subjects.VerbSignalWithStart:
		e.checkSignal(op, find)
		fallthrough
	case subjects.VerbStart:
		switch run := e.run(op.id, op.text); {
		case run == nil:
			find("lost", "run %s was started, and there is none", op.text)
		case !run.deleted.IsZero() && run.deleted.Before(op.from):
			find("undead", "run %s was deleted before, and is the answer to a start", run.id)
		}
	}
}

func (e *executions) checkSignal(op *operation, find func(kind, format string, args ...any)) {
	count := 0
	for _, run := range e.runsOf(op.id) {
		count += signalsIn(run, op.name)
	}
	if count == 0 {
		find("lost", "the signal was accepted, and is in no history")
	}
}

func signalsIn(run *executionRun, name string) (count int) {
	for _, event := range run.events {
		if event.GetWorkflowExecutionSignaledEventAttributes().GetSignalName() == name {
			count++
		}
	}
	return count
}

// checkQuery: an answer has seen the signals that were accepted before the question. Of several runs, nothing says which has answered.
func (e *executions) checkQuery(op *operation, find func(kind, format string, args ...any)) {
	if len(e.runsOf(op.id)) > 1 {
		return
	}
	for _, other := range e.asks {
		if other.verb == subjects.VerbSignal && other.id == op.id && other.err == nil && other.to.Before(op.from) &&
			!strings.Contains(op.text, strconv.Quote(other.name)) {
			find("query", "it has not seen %s: %s", other.name, op.text)
		}
	}
}

// begun counts the chains of runs that an operation has begun, as long as the first one was there.
func (e *executions) begun(op *operation) (count int) {
	var first *executionRun
	for _, run := range e.runsOf(op.id) {
		if run.request != op.name || run.follows != "" || run.base != nil {
			continue
		}
		if first == nil || e.keeps(first, run.began) {
			count++
		}
		first = cmp.Or(first, run)
	}
	return count
}

// mayBeRefused reports whether the answer to an operation may be its error.
func (op *operation) mayBeRefused() bool {
	_, notFound := errors.AsType[*serviceerror.NotFound](op.err)
	_, exists := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](op.err)
	_, notReady := errors.AsType[*serviceerror.WorkflowNotReady](op.err)
	switch op.verb {
	case subjects.VerbStart, subjects.VerbStartScheduled:
		return exists
	case subjects.VerbSignalWithStart:
		return false
	case subjects.VerbUpdate: // the workflow may be broken for the moment
		return notFound || notReady
	case subjects.VerbQuery: // it may find no worker in time
		return notFound || notReady || isUnsure(op.err)
	default:
		return notFound
	}
}

// checkDone: the result of an activity that was accepted is in the history.
func (e *executions) checkDone(d *doneActivity) {
	run := e.run(d.token.WorkflowID, d.token.RunID)
	if run != nil && slices.ContainsFunc(run.events, func(event *historypb.HistoryEvent) bool {
		a := event.GetActivityTaskCompletedEventAttributes()
		return a.GetScheduledEventId() == d.token.Scheduled && textOf(a.GetResult()) == d.result
	}) {
		return
	}
	e.world.ledger.find("lost", d.token.WorkflowID, "%s was accepted for event %d of run %s, and is not in its history", d.result, d.token.Scheduled,
		d.token.RunID)
}

// events counts the events that there were, by kind.
func (e *executions) events() map[enumspb.EventType]int {
	count := map[enumspb.EventType]int{}
	for _, j := range e.journals {
		for _, run := range j.runs {
			for _, event := range run.events {
				count[event.GetEventType()]++
			}
		}
	}
	return count
}

// runs counts the runs that there were.
func (e *executions) runs() (count int) {
	for _, j := range e.journals {
		count += len(j.runs)
	}
	return count
}

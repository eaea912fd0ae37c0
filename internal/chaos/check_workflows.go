package chaos

import (
	"fmt"
	"log/slog"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// WorkflowFindings count the workflows of a run. What is wrong with them is among the problems.
type WorkflowFindings struct {
	// Started counts acknowledged starts, Ended those of them that have ended with the right result, and Signals acknowledged signals.
	Started int `json:"started"`
	Ended   int `json:"ended"`
	Signals int `json:"signals"`
	// Updates counts answered updates, and Children the children that have ended, each after some runs.
	Updates  int `json:"updates"`
	Children int `json:"children"`
}

// checkWorkflows looks at every workflow whose start was acknowledged: it has run once, to the right result, its history has no gap and is what
// its code makes, each acknowledged signal is in it once, its update as well, and its child has run once, from run to run.
func checkWorkflows(e *evidence, f *Findings) {
	for i := range e.Workflows {
		one := &e.Workflows[i]
		if one.RunID == "" {
			continue
		}
		f.Workflows.Started++
		f.Workflows.Signals += len(one.Acked)
		c := workflowCase{one, f}
		if len(one.Events) == 0 {
			c.problem(kindLost, "the start of the workflow was acknowledged, and there is no such workflow")
			continue
		}
		c.checkNumbers()
		c.checkEnd()
		c.checkSignals()
		c.checkUpdate()
		c.checkChild()
		c.checkReplay(one.ID, one.Events)
		for _, events := range one.Excursion.Events {
			c.checkReplay(excursionOf(one.ID), events)
		}
	}
}

// workflowCase is one workflow.
type workflowCase struct {
	*travelled
	findings *Findings
}

func (c workflowCase) problem(kind, format string, args ...any) {
	c.findings.Problems = append(c.findings.Problems, Problem{
		Kind: kind, WorkflowID: c.ID, RequestID: c.RunID, What: fmt.Sprintf(format, args...),
	})
}

func (c workflowCase) checkNumbers() {
	for i, event := range c.Events {
		if event.GetEventId() != int64(i+1) {
			c.problem(kindMissed, "event %d of the history has the ID %d", i+1, event.GetEventId())
			return
		}
	}
}

func (c workflowCase) checkEnd() {
	last := c.Events[len(c.Events)-1].GetEventType()
	switch {
	case last != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED && !c.Ended:
		c.problem(kindMissed, "the workflow was started, and has not ended: its last event is %s", last)
	case last != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, c.Failure != "":
		c.problem(kindUnexpected, "the workflow ended with %s: %s", last, c.Failure)
	case c.Newest != c.RunID:
		c.problem(kindDoubled, "the workflow was started once, and has run again as %s", c.Newest)
	case c.Ended && c.Result != signals:
		c.problem(kindUnexpected, "the result of the workflow is %d, want %d", c.Result, signals)
	case c.Ended:
		c.findings.Workflows.Ended++
	default:
		c.problem(kindLost, "the workflow has ended, and its client has not heard of it")
	}
}

func (c workflowCase) checkSignals() {
	found := map[string]int{}
	for _, event := range c.Events {
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED {
			found[tryOf(event)]++
		}
	}
	for _, acked := range c.Acked {
		if found[acked] == 0 {
			c.problem(kindLost, "signal %s was acknowledged, and is not in the history", acked)
		}
	}
	for try, n := range found {
		if n > 1 {
			c.problem(kindDoubled, "signal %s was sent once, and is in the history %d times", try, n)
		}
	}
}

// checkUpdate looks for the update: it is in the history once from beginning to end, if it was answered.
func (c workflowCase) checkUpdate() {
	accepted := count(c.Events, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED)
	completed := count(c.Events, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED)
	switch {
	case accepted > 1 || completed > 1:
		c.problem(kindDoubled, "one update was sent, and %d are accepted and %d completed", accepted, completed)
	case c.Booked && (accepted == 0 || completed == 0):
		c.problem(kindLost, "the update was answered, and %d are accepted and %d completed", accepted, completed)
	case c.Booked:
		c.findings.Workflows.Updates++
	}
}

// checkChild looks at the child: its parent has started one, which goes from run to run to its end, and nothing else runs under its ID.
func (c workflowCase) checkChild() {
	if n := count(c.Events, enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED); n > 1 {
		c.problem(kindDoubled, "the child has started %d times", n)
	}
	runs := c.Excursion.Runs
	if !c.Ended || c.Failure != "" {
		return
	}
	if len(runs) == 0 {
		c.problem(kindMissed, "the workflow has ended without its child")
		return
	}
	events := c.Excursion.Events[len(runs)-1]
	switch last := events[len(events)-1].GetEventType(); {
	case last != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		c.problem(kindMissed, "the child has not ended: its last event is %s", last)
	case len(runs) != excursionRuns:
		c.problem(kindUnexpected, "the child has %d runs, want %d", len(runs), excursionRuns)
	case c.Excursion.Newest != runs[len(runs)-1]:
		c.problem(kindDoubled, "the child has ended in its run %s, and has run again as %s", runs[len(runs)-1], c.Excursion.Newest)
	default:
		c.findings.Workflows.Children++
	}
}

func (c workflowCase) checkReplay(id string, events []*historypb.HistoryEvent) {
	if err := replay(id, events); err != nil {
		c.problem(kindUnexpected, "the code of the workflow does not make its history: %v", err)
	}
}

// count returns how many events are of a type.
func count(events []*historypb.HistoryEvent, of enumspb.EventType) (n int) {
	for _, event := range events {
		if event.GetEventType() == of {
			n++
		}
	}
	return n
}

// replay returns an error unless the code of the workflow makes a history, as Temporal's SDK sees it.
func replay(id string, events []*historypb.HistoryEvent) (err error) {
	defer func() {
		if p := recover(); p != nil { // the replayer panics over a history that it does not understand
			err = fmt.Errorf("%v", p)
		}
	}()
	replayer := sdkworker.NewWorkflowReplayer()
	registerWorkflows(replayer)
	return replayer.ReplayWorkflowHistoryWithOptions(
		sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)), &historypb.History{Events: events},
		sdkworker.ReplayWorkflowHistoryOptions{OriginalExecution: workflow.Execution{ID: id}},
	)
}

// tryOf returns what a signal says of itself.
func tryOf(event *historypb.HistoryEvent) string {
	var sent leg
	if err := converter.GetDefaultDataConverter().FromPayloads(event.GetWorkflowExecutionSignaledEventAttributes().GetInput(), &sent); err != nil {
		return err.Error()
	}
	return sent.Try
}

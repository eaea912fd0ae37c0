package chaos

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
)

// historyOf makes a history of signals and an end. The replayer accepts none of these histories, so the tests leave its finding out.
func historyOf(t *testing.T, end enumspb.EventType, tries ...string) []*historypb.HistoryEvent {
	events := []*historypb.HistoryEvent{{
		EventId: 1, EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
				WorkflowType: &commonpb.WorkflowType{Name: journeyType},
			},
		},
	}}
	for _, try := range tries {
		input, err := converter.GetDefaultDataConverter().ToPayloads(leg{Try: try})
		require.NoError(t, err)
		events = append(events, &historypb.HistoryEvent{
			EventId: int64(len(events) + 1), EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
			Attributes: &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
				WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{Input: input},
			},
		})
	}
	events = append(events,
		&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED},
		&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED},
		&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED},
		&historypb.HistoryEvent{EventType: end},
	)
	return withIDs(events)
}

// withIDs gives events the IDs that they have in a history.
func withIDs(events []*historypb.HistoryEvent) []*historypb.HistoryEvent {
	for i, event := range events {
		event.EventId = int64(i + 1)
	}
	return events
}

// twice returns a history with one of its events once more.
func twice(events []*historypb.HistoryEvent, of enumspb.EventType) []*historypb.HistoryEvent {
	for i, event := range events {
		if event.EventType == of {
			events = slices.Insert(events, i, &historypb.HistoryEvent{EventType: of})
			break
		}
	}
	return withIDs(events)
}

// without returns a history without the events of a type.
func without(events []*historypb.HistoryEvent, of enumspb.EventType) []*historypb.HistoryEvent {
	events = slices.DeleteFunc(events, func(e *historypb.HistoryEvent) bool { return e.EventType == of })
	return withIDs(events)
}

// TestCheckWorkflows: each thing that can go wrong with a workflow is a problem of its kind.
func TestCheckWorkflows(t *testing.T) {
	t.Parallel()
	const completed = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED
	for name, test := range map[string]struct {
		change func(*travelled)
		kind   string // empty if nothing is wrong
	}{
		"all is well":       {func(*travelled) {}, ""},
		"start never acked": {func(w *travelled) { *w = travelled{ID: "w"} }, ""},
		"no such workflow":  {func(w *travelled) { w.Events = nil }, kindLost},
		"has not ended": {func(w *travelled) {
			w.Ended, w.Events = false, historyOf(t, enumspb.EVENT_TYPE_TIMER_STARTED, "0.1", "1.1")
		}, kindMissed},
		"client not told": {func(w *travelled) { w.Ended = false }, kindLost},
		"failed": {func(w *travelled) {
			w.Failure, w.Events = "no", historyOf(t, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, "0.1", "1.1")
		}, kindUnexpected},
		"wrong result":   {func(w *travelled) { w.Result = 1 }, kindUnexpected},
		"run twice":      {func(w *travelled) { w.Newest = "other" }, kindDoubled},
		"a gap":          {func(w *travelled) { w.Events[1].EventId = 7 }, kindMissed},
		"signal lost":    {func(w *travelled) { w.Events = historyOf(t, completed, "0.1") }, kindLost},
		"signal twice":   {func(w *travelled) { w.Events = historyOf(t, completed, "0.1", "1.1", "1.1") }, kindDoubled},
		"signal unacked": {func(w *travelled) { w.Events = historyOf(t, completed, "0.1", "0.2", "1.1") }, ""},
		"update lost": {func(w *travelled) {
			w.Events = without(w.Events, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED)
		}, kindLost},
		"update twice": {func(w *travelled) {
			w.Events = twice(w.Events, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED)
		}, kindDoubled},
		"child begun twice": {func(w *travelled) {
			w.Events = twice(w.Events, enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED)
		}, kindDoubled},
		"no child": {func(w *travelled) { w.Excursion = excursionRun{} }, kindMissed},
		"child has not ended": {func(w *travelled) {
			w.Excursion.Events[1] = historyOf(t, enumspb.EVENT_TYPE_TIMER_STARTED)
		}, kindMissed},
		"child ended too early": {func(w *travelled) {
			w.Excursion = excursionRun{Newest: "a", Runs: []string{"a"}, Events: w.Excursion.Events[1:]}
		}, kindUnexpected},
		"child run twice": {func(w *travelled) { w.Excursion.Newest = "other" }, kindDoubled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := travelled{
				ID: "w", RunID: "run", Newest: "run", Acked: []string{"0.1", "1.1"}, Ended: true, Result: signals,
				Events: historyOf(t, completed, "0.1", "1.1"), Booked: true,
				Excursion: excursionRun{Newest: "b", Runs: []string{"a", "b"}, Events: [][]*historypb.HistoryEvent{
					historyOf(t, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW), historyOf(t, completed),
				}},
			}
			test.change(&w)
			var f Findings
			checkWorkflows(&evidence{Workflows: []travelled{w}}, &f)
			var kinds []string
			for _, problem := range f.Problems {
				if problem.What[:8] != "the code" {
					kinds = append(kinds, problem.Kind)
					require.Equal(t, "w", problem.WorkflowID)
				}
			}
			if test.kind == "" {
				require.Empty(t, kinds)
				return
			}
			require.Equal(t, []string{test.kind}, kinds)
		})
	}
}

// TestReplay: a history that the code of the workflow does not make is found.
func TestReplay(t *testing.T) {
	t.Parallel()
	require.Error(t, replay("w", historyOf(t, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, "0.1")))
}

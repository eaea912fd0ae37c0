package chaos

import (
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
	return append(events, &historypb.HistoryEvent{EventId: int64(len(events) + 1), EventType: end})
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := travelled{
				ID: "w", RunID: "run", Newest: "run", Acked: []string{"0.1", "1.1"}, Ended: true, Result: signals,
				Events: historyOf(t, completed, "0.1", "1.1"),
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
	require.Error(t, replay(historyOf(t, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, "0.1")))
}

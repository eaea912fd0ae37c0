package execution

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// TestHistoryIsBounded: a workflow that never ends is told to begin anew, and ended if it does not. The signal that breaks the limit is in the
// history.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		payload int
		reason  string
	}{
		"events": {10, "Workflow history count exceeds limit."},
		"bytes":  {1 << 20, "Workflow history size exceeds limit."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reason := ""
			state := &State{Key: Key{"default", "w"}}
			decide := func(in Input) Decision {
				decision, err := Decide(state, in, noon)
				require.NoError(t, err)
				state = decision.After
				state.Stored(state.Sequence + 1)
				for _, event := range decision.Entry.Parts[0].Events {
					reason += event.GetWorkflowExecutionTerminatedEventAttributes().GetReason()
				}
				return decision
			}
			decide(newStory(t).startInput("start", func(string) string { return "" }))
			suggested := false
			for i := 0; state.Run.Open(); i++ {
				decide(Signal{Request: &workflowservice.SignalWorkflowExecutionRequest{SignalName: fmt.Sprint(i), Input: &commonpb.Payloads{
					Payloads: []*commonpb.Payload{{Data: make([]byte, test.payload)}},
				}}})
				if !state.Run.Open() {
					break
				}
				started := decide(StartWorkflowTask{RunID: state.Run.ID, Event: state.Run.Task.Scheduled, Attempt: 1, RequestID: "p"})
				event := started.Entry.Parts[0].Events[0]
				suggested = suggested || event.GetWorkflowTaskStartedEventAttributes().GetSuggestContinueAsNew()
				token, err := ParseToken(started.Reply.(*workflowservice.PollWorkflowTaskQueueResponse).GetTaskToken())
				require.NoError(t, err)
				decide(CompleteWorkflowTask{Token: token, Request: &workflowservice.RespondWorkflowTaskCompletedRequest{
					Commands: []*commandpb.Command{command(t, []string{"marker", "name=m"})},
				}})
			}
			require.True(t, suggested)
			require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, state.Run.Status)
			require.Equal(t, test.reason, reason)
			require.LessOrEqual(t, state.Run.NextEvent, int64(maxEvents+3))
		})
	}
}

package execution

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// rewind resets the workflow to some event of some run. The new run begins with the events before it, and has each signal once that came later.
func (m *model) rewind(t *rapid.T) {
	id := m.state.Run.ID
	if rapid.IntRange(0, 2).Draw(t, "other run") == 0 {
		id = rapid.SampledFrom(slices.Sorted(maps.Keys(m.histories))).Draw(t, "run")
	}
	m.names++
	request := &workflowservice.ResetWorkflowExecutionRequest{
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "w", RunId: id}, RequestId: fmt.Sprintf("reset-%d", m.names),
		WorkflowTaskFinishEventId: m.someTask(t, id),
	}
	excluded := rapid.IntRange(0, 3).Draw(t, "exclude") == 0
	if excluded {
		request.ResetReapplyExcludeTypes = []enumspb.ResetReapplyExcludeType{enumspb.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL}
	}
	before := m.history
	if m.decide(m.reset(request)); m.err != nil {
		require.Equal(t, before, m.history)
		return
	}
	through := int(request.GetWorkflowTaskFinishEventId()) - 1
	for i, event := range m.histories[id][:through] {
		require.True(t, proto.Equal(event, m.history[i]), "event %d is another one", i+1)
	}
	m.signals = m.signalsOf(m.histories[id][:through], "")
	if !excluded {
		m.signals = m.signalsOf(m.histories[id], m.state.Run.ID)
	}
	require.Equal(t, m.signals, m.checkHistory(t))
	after := m.state.Run.ID
	m.decide(m.reset(request)) // a repeat changes nothing, nor does one of a signal
	require.NoError(t, m.err)
	require.Equal(t, after, m.state.Run.ID)
	for _, name := range slices.Sorted(maps.Keys(m.signals)) {
		m.decide(Signal{Request: &workflowservice.SignalWorkflowExecutionRequest{SignalName: name, RequestId: name}})
	}
	require.Equal(t, m.signals, m.checkHistory(t))
}

// someTask draws the event of a run that ends a workflow task, or another event.
func (m *model) someTask(t *rapid.T, runID string) int64 {
	events := []int64{int64(rapid.IntRange(0, len(m.histories[runID])+1).Draw(t, "event"))}
	for _, event := range m.histories[runID] {
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED && int(event.GetEventId()) < len(m.histories[runID]) {
			events = append(events, event.GetEventId()+1)
		}
	}
	return rapid.SampledFrom(events).Draw(t, "task")
}

// signalsOf counts the signals in a history and those of the runs that continued it as new, before a run.
func (m *model) signalsOf(events []*historypb.HistoryEvent, before string) map[string]int {
	found := map[string]int{}
	for len(events) > 0 {
		for _, event := range events {
			if a := event.GetWorkflowExecutionSignaledEventAttributes(); a != nil {
				found[a.GetSignalName()]++
			}
		}
		next := events[len(events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
		if events = nil; before != "" && next != before {
			events = m.histories[next]
		}
	}
	return found
}

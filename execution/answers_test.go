package execution

import (
	"testing"

	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// startRequest is one of a run, with a request ID.
func startRequest(id string) *workflowservice.StartWorkflowExecutionRequest {
	return &workflowservice.StartWorkflowExecutionRequest{
		WorkflowId: "w", RequestId: id, WorkflowType: &commonpb.WorkflowType{Name: "t"}, TaskQueue: &taskqueuepb.TaskQueue{Name: "q"},
	}
}

// decided decides about an input and returns the events and the reply.
func decided[R any](t *testing.T, s *story, in Input) (events []*historypb.HistoryEvent, reply R) {
	t.Helper()
	decision, err := Decide(s.state, in, s.now)
	require.NoError(t, err)
	if decision.Entry != nil {
		for i := range decision.Entry.Parts {
			events = append(events, decision.Entry.Parts[i].Events...)
		}
	}
	s.decide(in)
	require.NoError(t, s.err)
	return events, decision.Reply.(R)
}

// TestAnswerToAStartNamesItsEvent: the answer has a link to the first event of the run that it names, also if that run was there before.
func TestAnswerToAStartNamesItsEvent(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	requireLink := func(link *commonpb.Link) {
		t.Helper()
		event := link.GetWorkflowEvent()
		require.Equal(t, "default/w/run-first", event.GetNamespace()+"/"+event.GetWorkflowId()+"/"+event.GetRunId())
		require.Equal(t, int64(1), event.GetEventRef().GetEventId())
		require.Equal(t, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, event.GetEventRef().GetEventType())
	}
	for _, request := range []string{"r", "r", "another"} {
		asked := startRequest(request)
		asked.WorkflowIdConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
		_, reply := decided[*workflowservice.StartWorkflowExecutionResponse](t, s, Start{RunID: "run-first", Request: asked})
		requireLink(reply.GetLink())
	}
}

// TestRefusalOfAStartNamesTheChain: whoever is refused learns of the run in the way, and of the first run of its chain.
func TestRefusalOfAStartNamesTheChain(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	decided[*workflowservice.StartWorkflowExecutionResponse](t, s, Start{RunID: "run-first", Request: startRequest("r")})
	_, err := Decide(s.state, Start{RunID: "run-second", Request: startRequest("other")}, s.now)
	var exists *serviceerror.WorkflowExecutionAlreadyStarted
	require.ErrorAs(t, err, &exists)
	require.Equal(t, "run-first", exists.RunId)
	require.Equal(t, "run-first", exists.FirstExecutionRunId)
}

// TestEagerStartIsInTheFirstEvent: a workflow can see that it began with the answer to its start. The runs that follow it did not.
func TestEagerStartIsInTheFirstEvent(t *testing.T) {
	t.Parallel()
	for _, eager := range []bool{true, false} {
		s, asked := newStory(t), startRequest("r")
		asked.RequestEagerExecution = eager
		decided[*workflowservice.StartWorkflowExecutionResponse](t, s, Start{RunID: "run-first", Request: asked})
		require.Equal(t, eager, s.state.Run.Attributes.GetEagerExecutionAccepted())
		require.False(t, s.state.Run.again(enumspb.CONTINUE_AS_NEW_INITIATOR_RETRY, 0).attributes.GetEagerExecutionAccepted())
		next := s.state.Run.continued(&commandpb.ContinueAsNewWorkflowExecutionCommandAttributes{})
		require.False(t, next.GetEagerExecutionAccepted())
	}
}

// TestNothingIsNoAttribute: a memo field or a search attribute that is nothing is none, whichever way a run begins.
func TestNothingIsNoAttribute(t *testing.T) {
	t.Parallel()
	fields := func() map[string]*commonpb.Payload {
		return map[string]*commonpb.Payload{"some": {Data: []byte("1")}, "null": {Data: []byte("null")}, "list": {Data: []byte("[]")}, "none": {}}
	}
	memo, attributes := &commonpb.Memo{Fields: fields()}, &commonpb.SearchAttributes{IndexedFields: fields()}
	s, asked := newStory(t), startRequest("r")
	asked.Memo, asked.SearchAttributes = memo, attributes
	events, _ := decided[*workflowservice.StartWorkflowExecutionResponse](t, s, Start{RunID: "run-first", Request: asked})
	started := events[0].GetWorkflowExecutionStartedEventAttributes()
	require.Equal(t, []int{1, 1}, []int{len(started.GetMemo().GetFields()), len(started.GetSearchAttributes().GetIndexedFields())})

	commands := []*commandpb.Command{{
		CommandType: enumspb.COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_StartChildWorkflowExecutionCommandAttributes{
			StartChildWorkflowExecutionCommandAttributes: &commandpb.StartChildWorkflowExecutionCommandAttributes{
				WorkflowId: "child", WorkflowType: asked.WorkflowType, Memo: memo, SearchAttributes: attributes,
			},
		},
	}, {
		CommandType: enumspb.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_ContinueAsNewWorkflowExecutionCommandAttributes{
			ContinueAsNewWorkflowExecutionCommandAttributes: &commandpb.ContinueAsNewWorkflowExecutionCommandAttributes{
				Memo: memo, SearchAttributes: attributes,
			},
		},
	}}
	_, task := decided[*workflowservice.PollWorkflowTaskQueueResponse](t, s, StartWorkflowTask{RunID: "run-first", Event: 2, Attempt: 1})
	token, err := ParseToken(task.GetTaskToken())
	require.NoError(t, err)
	events, _ = decided[*workflowservice.RespondWorkflowTaskCompletedResponse](t, s, CompleteWorkflowTask{
		Token: token, Request: &workflowservice.RespondWorkflowTaskCompletedRequest{Commands: commands},
	})
	found := 0
	for _, event := range events {
		child, continued := event.GetStartChildWorkflowExecutionInitiatedEventAttributes(), event.GetWorkflowExecutionContinuedAsNewEventAttributes()
		next := event.GetWorkflowExecutionStartedEventAttributes()
		for _, memo := range []*commonpb.Memo{child.GetMemo(), continued.GetMemo(), next.GetMemo()} {
			found += len(memo.GetFields())
		}
		for _, all := range []*commonpb.SearchAttributes{child.GetSearchAttributes(), continued.GetSearchAttributes(), next.GetSearchAttributes()} {
			found += len(all.GetIndexedFields())
		}
	}
	require.Equal(t, 6, found)
}

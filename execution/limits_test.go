package execution

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
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
					Commands: []*commandpb.Command{command(t, []string{"marker", "name=m"}), command(t, []string{"marker", "name=n"})},
				}})
			}
			require.True(t, suggested)
			require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, state.Run.Status)
			require.Equal(t, test.reason, reason)
			require.LessOrEqual(t, state.Run.NextEvent, int64(maxEvents+4))
		})
	}
}

// limited is a workflow of which a worker has a workflow task.
type limited struct{ *story }

func newLimited(t *testing.T) *limited {
	t.Helper()
	s := &limited{newStory(t)}
	s.must(s.startInput("start", func(string) string { return "" }))
	return s
}

// must decides about an input that has an entry, and returns its events.
func (s *limited) must(in Input) []*historypb.HistoryEvent {
	s.t.Helper()
	decision, err := Decide(s.state, in, noon)
	require.NoError(s.t, err)
	s.state = decision.After
	s.state.Stored(s.state.Sequence + 1)
	return decision.Entry.Parts[0].Events
}

// pollOnce gives the workflow task to a worker, and returns the event of that.
func (s *limited) pollOnce() *historypb.WorkflowTaskStartedEventAttributes {
	s.t.Helper()
	decision, err := Decide(s.state, StartWorkflowTask{RunID: s.state.Run.ID, Event: s.state.Run.Task.Scheduled, Attempt: 1, RequestID: "p"}, noon)
	require.NoError(s.t, err)
	s.state = decision.After
	s.state.Stored(s.state.Sequence + 1)
	s.task, err = ParseToken(decision.Reply.(*workflowservice.PollWorkflowTaskQueueResponse).GetTaskToken())
	require.NoError(s.t, err)
	return decision.Entry.Parts[0].Events[0].GetWorkflowTaskStartedEventAttributes()
}

// failsWith completes the workflow task with commands, and returns why it has failed; unspecified if it has not.
func (s *limited) failsWith(commands ...*commandpb.Command) enumspb.WorkflowTaskFailedCause {
	s.t.Helper()
	decision, err := Decide(s.state, CompleteWorkflowTask{Token: s.task, Request: &workflowservice.RespondWorkflowTaskCompletedRequest{Commands: commands}}, noon)
	require.NoError(s.t, err)
	cause := enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNSPECIFIED
	for _, event := range decision.Entry.Parts[0].Events {
		cause = max(cause, event.GetWorkflowTaskFailedEventAttributes().GetCause())
	}
	return cause
}

// TestPendingIsBounded: one command beyond the limit fails the workflow task, and the limit itself does not.
func TestPendingIsBounded(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]enumspb.WorkflowTaskFailedCause{
		"activity id=%d start-to-close=1s": enumspb.WORKFLOW_TASK_FAILED_CAUSE_PENDING_ACTIVITIES_LIMIT_EXCEEDED,
		"child id=%d":                      enumspb.WORKFLOW_TASK_FAILED_CAUSE_PENDING_CHILD_WORKFLOWS_LIMIT_EXCEEDED,
		"signal-external id=%d name=s":     enumspb.WORKFLOW_TASK_FAILED_CAUSE_PENDING_SIGNALS_LIMIT_EXCEEDED,
		"cancel-external id=%d":            enumspb.WORKFLOW_TASK_FAILED_CAUSE_PENDING_REQUEST_CANCEL_LIMIT_EXCEEDED,
	} {
		t.Run(strings.Fields(words)[0], func(t *testing.T) {
			t.Parallel()
			s := newLimited(t)
			s.pollOnce()
			var commands []*commandpb.Command
			for i := range maxPending + 1 {
				commands = append(commands, command(t, strings.Fields(fmt.Sprintf(words, i))))
			}
			require.Zero(t, s.failsWith(commands[:maxPending]...))
			require.Equal(t, want, s.failsWith(commands...))
		})
	}
}

// TestTextsOfCommandsAreBounded: a name of 1,000 bytes is possible in each command that has one, a longer one fails the workflow task.
func TestTextsOfCommandsAreBounded(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]enumspb.WorkflowTaskFailedCause{
		"activity id=% start-to-close=1s": enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_SCHEDULE_ACTIVITY_ATTRIBUTES,
		"timer id=% after=1s":             enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_START_TIMER_ATTRIBUTES,
		"marker name=%":                   enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_RECORD_MARKER_ATTRIBUTES,
		"child id=%":                      enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_START_CHILD_EXECUTION_ATTRIBUTES,
		"signal-external id=% name=s":     enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_SIGNAL_WORKFLOW_EXECUTION_ATTRIBUTES,
		"signal-external id=w name=%":     enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_SIGNAL_WORKFLOW_EXECUTION_ATTRIBUTES,
		"cancel-external id=%":            enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_ATTRIBUTES,
	} {
		s := newLimited(t)
		s.pollOnce()
		of := func(size int) *commandpb.Command {
			return command(t, strings.Fields(strings.ReplaceAll(words, "%", strings.Repeat("x", size))))
		}
		require.Zero(t, s.failsWith(of(maxText)), words)
		require.Equal(t, want, s.failsWith(of(maxText+1)), words)
	}
	continued := func(size int) *commandpb.Command {
		c := command(t, []string{"continue"})
		c.GetContinueAsNewWorkflowExecutionCommandAttributes().WorkflowType = &commonpb.WorkflowType{Name: strings.Repeat("x", size)}
		return c
	}
	s := newLimited(t)
	s.pollOnce()
	require.Zero(t, s.failsWith(continued(maxText)))
	require.Equal(t, enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_CONTINUE_AS_NEW_ATTRIBUTES, s.failsWith(continued(maxText+1)))
}

// TestSignalsAreBounded: a run refuses one signal more than it may have. The repeat of one that it has is no further one.
func TestSignalsAreBounded(t *testing.T) {
	t.Parallel()
	s := newLimited(t)
	signal := func(request string) Input {
		return Signal{Request: &workflowservice.SignalWorkflowExecutionRequest{SignalName: "s", RequestId: request}}
	}
	for i := range maxSignals {
		s.must(signal(fmt.Sprint(i)))
	}
	require.Equal(t, int64(maxSignals), s.state.Run.Signals)
	_, err := Decide(s.state, signal("0"), noon)
	require.NoError(t, err)
	for _, one := range []Input{signal("one too many"), SignalWithStart{Request: &workflowservice.SignalWithStartWorkflowExecutionRequest{SignalName: "s"}}} {
		_, err = Decide(s.state, one, noon)
		require.ErrorAs(t, err, new(*serviceerror.InvalidArgument))
		require.EqualError(t, err, "exceeded workflow execution limit for signal events")
	}
}

// TestBufferedEventsAreBounded: what arrives during a workflow task waits for its end up to a limit. Then the task ends.
func TestBufferedEventsAreBounded(t *testing.T) {
	t.Parallel()
	signal := func(size int) Input {
		return Signal{Request: &workflowservice.SignalWorkflowExecutionRequest{SignalName: "s", Input: &commonpb.Payloads{
			Payloads: []*commonpb.Payload{{Data: make([]byte, size)}},
		}}}
	}
	for name, test := range map[string]struct{ size, fit int }{
		"events": {1, maxBuffered}, "bytes": {100 << 10, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLimited(t)
			s.pollOnce()
			for range test.fit {
				require.Empty(t, s.must(signal(test.size)))
			}
			events := s.must(signal(test.size))
			require.Equal(t, enumspb.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND, events[0].GetWorkflowTaskFailedEventAttributes().GetCause())
			require.Len(t, events, 1+test.fit+1+1)
			require.NotZero(t, s.state.Run.Task.Scheduled)
			require.Zero(t, s.state.Run.Task.Started)
			require.Empty(t, s.state.Run.Buffered)
		})
	}
}

// TestTotalUpdatesAreBounded: a run refuses one update more than it may have, also if all others have completed.
func TestTotalUpdatesAreBounded(t *testing.T) {
	t.Parallel()
	s := newLimited(t)
	for i := range maxUpdates - 1 {
		s.state.Run.Updates[fmt.Sprint(i)] = Update{Number: int64(i + 1), Accepted: 5, Completed: 6}
	}
	update := func(id string) Input {
		return UpdateWorkflow{updateRequest(&commonpb.WorkflowExecution{WorkflowId: "w"}, id)}
	}
	s.must(update("last"))
	_, err := Decide(s.state, update("one too many"), noon)
	require.ErrorAs(t, err, new(*serviceerror.FailedPrecondition))
}

// TestNewRunIsSuggested: a worker is told to continue as new from the limit on, and why.
func TestNewRunIsSuggested(t *testing.T) {
	t.Parallel()
	for want, grow := range map[enumspb.SuggestContinueAsNewReason]func(r *Run, over int){
		enumspb.SUGGEST_CONTINUE_AS_NEW_REASON_TOO_MANY_HISTORY_EVENTS: func(r *Run, over int) { r.NextEvent = int64(suggestEvents + over) },
		enumspb.SUGGEST_CONTINUE_AS_NEW_REASON_HISTORY_SIZE_TOO_LARGE:  func(r *Run, over int) { r.Bytes = int64(suggestBytes + over) },
		enumspb.SUGGEST_CONTINUE_AS_NEW_REASON_TOO_MANY_UPDATES: func(r *Run, over int) {
			for i := range suggestUpdates + over {
				r.Updates[fmt.Sprint(i)] = Update{Number: int64(i + 1), Accepted: 5, Completed: 6}
			}
		},
	} {
		for over, suggested := range map[int]bool{-1: false, 0: true} {
			s := newLimited(t)
			grow(s.state.Run, over)
			started := s.pollOnce()
			require.Equal(t, suggested, started.GetSuggestContinueAsNew(), want)
			if suggested {
				require.Equal(t, []enumspb.SuggestContinueAsNewReason{want}, started.GetSuggestContinueAsNewReasons())
			}
		}
	}
}

// TestPropertiesAreBounded: what a run has together with what a command adds is as large as it may be, and one more fails the workflow task.
func TestPropertiesAreBounded(t *testing.T) {
	t.Parallel()
	fill := func(size int, sizeOf func(map[string]*commonpb.Payload) int) map[string]*commonpb.Payload {
		fields := payloads(map[string]string{"old": strings.Repeat("x", size/2), "new": strings.Repeat("x", size/2)})
		for sizeOf(fields) > size {
			fields["new"].Data = fields["new"].Data[1:]
		}
		require.Equal(t, size, sizeOf(fields))
		return fields
	}
	attributesOf := func(fields map[string]*commonpb.Payload) int {
		return proto.Size(&commonpb.SearchAttributes{IndexedFields: fields})
	}
	many := func(count int, _ func(map[string]*commonpb.Payload) int) map[string]*commonpb.Payload {
		fields := payloads(map[string]string{"old": "x"})
		for i := range count - 1 {
			fields[fmt.Sprint("a", i)] = &commonpb.Payload{Data: []byte("x")}
		}
		return fields
	}
	for name, test := range map[string]struct {
		most   int
		sizeOf func(map[string]*commonpb.Payload) int
		fields func(int, func(map[string]*commonpb.Payload) int) map[string]*commonpb.Payload
		word   string
		want   enumspb.WorkflowTaskFailedCause
	}{
		"attributes":     {maxAttributes, nil, many, "upsert", enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES},
		"attribute size": {maxAttributeBytes, attributesOf, fill, "upsert", enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES},
		"memo": {maxMemo, func(fields map[string]*commonpb.Payload) int { return proto.Size(&commonpb.Memo{Fields: fields}) }, fill, "memo",
			enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_MODIFY_WORKFLOW_PROPERTIES_ATTRIBUTES},
	} {
		fails := func(size int) enumspb.WorkflowTaskFailedCause {
			s := newLimited(t)
			s.pollOnce()
			fields := test.fields(size, test.sizeOf)
			old := map[string]*commonpb.Payload{"old": fields["old"]}
			delete(fields, "old")
			return s.failsWith(propertiesCommand(t, test.word, old), propertiesCommand(t, test.word, fields))
		}
		require.Zero(t, fails(test.most), name)
		require.Equal(t, test.want, fails(test.most+1), name)
	}
}

// propertiesCommand makes an upsert of search attributes or of a memo.
func propertiesCommand(t *testing.T, word string, fields map[string]*commonpb.Payload) *commandpb.Command {
	t.Helper()
	c := command(t, []string{word})
	if attributes := c.GetUpsertWorkflowSearchAttributesCommandAttributes(); attributes != nil {
		attributes.SearchAttributes.IndexedFields = fields
	} else {
		c.GetModifyWorkflowPropertiesCommandAttributes().UpsertedMemo.Fields = fields
	}
	return c
}

// TestLimitsOfThePage: the table of docs/temporal.md has the limits of this package.
func TestLimitsOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/temporal.md")
	require.NoError(t, err)
	for what, value := range map[string]string{
		"events of a history, a new run is suggested": thousands(suggestEvents),
		"bytes of a history, a new run is suggested":  fmt.Sprint(suggestBytes>>20, " MB"),
		"updates of a run, a new run is suggested":    thousands(suggestUpdates),
		"events of a history":                         thousands(maxEvents),
		"bytes of a history":                          fmt.Sprint(maxBytes>>20, " MB"),
		"pending activities, children, signals to others and cancellations of others, each": thousands(maxPending),
		"signals of a run": thousands(maxSignals),
		"events that wait for the end of a workflow task": thousands(maxBuffered),
		"bytes of those":                        fmt.Sprint(maxBufferedBytes>>10, " kB"),
		"updates of a run":                      thousands(maxUpdates),
		"updates in progress":                   thousands(maxInFlight),
		"ID or name in a command":               thousands(maxText) + " bytes",
		"search attributes of an execution":     thousands(maxAttributes),
		"all search attributes of an execution": fmt.Sprint(maxAttributeBytes>>10, " kB"),
		"memo that a workflow changes":          fmt.Sprint(maxMemo>>20, " MB"),
		"reset points of a run":                 thousands(maxResetPoints),
		"tasks that only ask for more time":     fmt.Sprint(moreTime.Minutes(), " minutes"),
	} {
		require.True(t, strings.Contains(string(page), fmt.Sprintf("| %s | %s |", what, value)), "%s: %s", what, value)
	}
}

// thousands writes a number as the pages do.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

package execution

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	protocolpb "go.temporal.io/api/protocol/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// TestScripts tells the story of each behaviour as text: see testdata/scripts. To write what comes out into the files:
//
//	go test ./execution -run Scripts -rewrite
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := newStory(t)
		datadriven.RunTest(t, path, s.do)
	})
}

// story is one workflow ID in a script. Time passes only when the script says so.
type story struct {
	t     tester
	now   time.Time
	state *State
	// replayed is what the journal adds up to: it must equal the state.
	replayed *State
	sequence uint64
	runs     int
	polls    int
	// task and attempts are the tokens that workers have: of the last workflow task, and of each activity by its ID.
	task     Token
	attempts map[string]Token
	// history are the events of the newest run, and err is how the last input was refused.
	history []*historypb.HistoryEvent
	got     *History
	// histories are the events of all runs.
	histories map[string][]*historypb.HistoryEvent
	// inbox are the updates that came with the last workflow task.
	inbox []string
	err   error
	// ended is called when a run has ended; its events are in history. Nil for scripts.
	ended func()
	// names are those of runs that followed on others, by their IDs.
	names []string
	// children are those that have been started, by the events of the newest run.
	children map[int64]Parent
	// journal are the encoded entries, which have the sequences 10, 20 and so on.
	journal [][]byte
	// messages are the times of the delayed messages that have been armed and have not come.
	messages []time.Time
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// tester is a test of the package testing, or of rapid.
type tester interface {
	require.TestingT
	Helper()
	Fatalf(format string, args ...any)
}

func newStory(t tester) *story {
	t.Helper()
	key := Key{"default", "w"}
	return &story{t: t, now: noon, state: &State{Key: key}, replayed: &State{Key: key}, attempts: map[string]Token{}, histories: map[string][]*historypb.HistoryEvent{}}
}

func (s *story) do(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	s.t = t
	if d.Cmd == "wait" {
		var text string
		d.ScanArgs(t, "for", &text)
		pause, err := time.ParseDuration(text)
		require.NoError(t, err)
		s.now = s.now.Add(pause)
		return s.decide(TimerDue{})
	}
	in := s.input(t, d)
	if in == nil {
		return s.show(d.Cmd)
	}
	return s.decide(in)
}

// decide puts an input to the state, checks what must always hold, and returns what came of it as text.
func (s *story) decide(in Input) string {
	before := proofOf(s.state)
	decision, err := Decide(s.state, in, s.now)
	require.Equal(s.t, before, proofOf(s.state), "a decision changes the state before it")
	s.err = errors.Join(err, decision.Refusal)
	if err != nil {
		return s.named(fmt.Sprintf("refused: %s: %v\n", strings.TrimPrefix(fmt.Sprintf("%T", err), "*serviceerror."), err))
	}
	var out strings.Builder
	if decision.Entry != nil {
		s.append(&decision)
		for i := range decision.Entry.Parts {
			s.describePart(&out, &decision.Entry.Parts[i])
		}
	}
	s.state = decision.After
	s.requireAwake()
	s.arm(in, &decision)
	s.reply(&out, &decision)
	if decision.Refusal != nil {
		fmt.Fprintf(&out, "refused: %v\n", decision.Refusal)
	}
	if decision.Entry != nil {
		s.describeWork(&out, Owed(s.state, decision.Entry))
	}
	if at := s.state.NextDeadline(); !at.IsZero() {
		fmt.Fprintf(&out, "deadline in %v\n", at.Sub(s.now))
	}
	if out.Len() == 0 {
		return "nothing\n"
	}
	return s.named(out.String())
}

// named puts the names of a script in place of IDs that follow from others.
func (s *story) named(text string) string {
	for event := range int64(40) {
		for i := 1; i < len(s.names); i += 2 {
			text = strings.ReplaceAll(text, childRunID(s.names[i], event), fmt.Sprintf("child-%d-of-%s", event, s.names[i]))
		}
	}
	for i := len(s.names); i > 0; i -= 2 {
		text = strings.ReplaceAll(text, s.names[i-2], s.names[i-1])
	}
	return text
}

// requireAwake makes sure that a workflow task waits or is in progress if there is something that the code has not seen.
func (s *story) requireAwake() {
	r := s.state.Run
	if r == nil || !r.Open() || r.Task.Scheduled != 0 || !r.FirstTask.IsZero() {
		return
	}
	require.Empty(s.t, r.waiting(), "an update waits")
	for _, event := range s.history[min(r.LastStarted, int64(len(s.history))):] {
		wakes := resultOf(event) != 0 || event.GetWorkflowExecutionSignaledEventAttributes() != nil || event.GetTimerFiredEventAttributes() != nil ||
			event.GetWorkflowExecutionCancelRequestedEventAttributes() != nil || event.GetChildWorkflowExecutionStartedEventAttributes() != nil
		require.False(s.t, wakes, "nobody will see event %d", event.GetEventId())
	}
}

// arm notes what messages come, and makes sure that one comes in time.
func (s *story) arm(in Input, d *Decision) {
	if due, ok := in.(TimerDue); ok {
		s.messages = slices.DeleteFunc(s.messages, func(at time.Time) bool { return !at.After(due.Came) })
	}
	if !d.Arm.IsZero() {
		s.messages = append(s.messages, d.Arm)
	}
	if at := s.state.NextDeadline(); !at.IsZero() {
		require.True(s.t, slices.ContainsFunc(s.messages, func(m time.Time) bool { return !m.After(at) }), "no message comes before the deadline")
	}
}

// append stores the entry of a decision as the journal would, and checks that the journal adds up to the state.
func (s *story) append(decision *Decision) {
	s.t.Helper()
	s.sequence += 10
	data, err := decision.Entry.Marshal()
	require.NoError(s.t, err)
	s.journal = append(s.journal, data)
	entry := s.parse(data)
	require.NoError(s.t, s.replayed.Apply(entry, s.sequence))
	for i := range entry.Parts {
		part := &entry.Parts[i]
		if part.First == 0 {
			s.history = nil
			if part.Base != nil {
				s.history = slices.Clone(part.Base.Events)
				s.names = append(s.names, part.RunID, fmt.Sprintf("reset-%d", s.sequence))
			}
			s.names = append(s.names, nextRunID(part.RunID), part.RunID+"+")
			s.children = map[int64]Parent{}
		}
		s.history = append(s.history, part.Events...)
		s.histories[part.RunID] = s.history
		if part.end() != nil && s.ended != nil {
			s.ended()
		}
	}
	before, after := s.state.Run, decision.After.Run
	ended := before.Open() && (!after.Open() || after.ID != before.ID)
	require.Equal(s.t, ended, decision.Entry.Ends(), "whoever waits for the end of a run looks only at entries with which one ends")
	decision.After.Stored(s.sequence)
	if run := decision.After.Run; run != nil {
		s.replayed.Run.Heartbeats = maps.Clone(run.Heartbeats)
	}
	requireSameState(s.t, decision.After, s.replayed)
}

func requireSameState(t require.TestingT, want, got *State) {
	if diff := gocmp.Diff(want, got, protocmp.Transform(), gocmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) }), equalEmpty); diff != "" {
		require.Fail(t, "the journal adds up to another state", diff)
	}
}

// equalEmpty takes nil and empty for the same.
var equalEmpty = gocmp.FilterValues(func(a, b any) bool { return isEmpty(a) && isEmpty(b) }, gocmp.Comparer(func(any, any) bool { return true }))

func isEmpty(v any) bool {
	switch v := v.(type) {
	case []*historypb.HistoryEvent:
		return len(v) == 0
	case map[string]*commonpb.Payload:
		return len(v) == 0
	case map[string]struct{}:
		return len(v) == 0
	}
	return false
}

// proofOf returns a text that changes when the state does.
func proofOf(s *State) string {
	if s.Run == nil {
		return "none"
	}
	r := *s.Run
	var out strings.Builder
	fmt.Fprintln(&out, s.Sequence, r.ID, r.NextEvent, r.Bytes, r.Entries, r.Status, r.Task, r.Sticky, r.LastStarted, r.CancelRequested, r.Signals, r.Requests.Len(), r.FirstTask)
	for _, event := range r.Buffered {
		fmt.Fprintln(&out, event)
	}
	for _, id := range slices.Sorted(maps.Keys(r.Activities)) {
		fmt.Fprintln(&out, id, r.Activities[id].ActivityRecord, r.Heartbeats[id])
	}
	for _, id := range slices.Sorted(maps.Keys(r.Timers)) {
		fmt.Fprintln(&out, id, r.Timers[id])
	}
	return out.String()
}

func (s *story) describePart(out *strings.Builder, part *Part) {
	if part.First == 0 {
		fmt.Fprintf(out, "begins run %s\n", part.RunID)
	}
	if part.Base != nil {
		for _, stretch := range part.Base.Stretches {
			fmt.Fprintf(out, "  events of %s through %d\n", stretch.RunID, stretch.Through)
		}
	}
	for _, event := range part.Events {
		fmt.Fprintf(out, "  %s\n", s.line(event))
	}
	for _, event := range part.Buffer {
		fmt.Fprintf(out, "  buffered: %s\n", s.line(event))
	}
}

// line says what an event is and what matters about it.
func (s *story) line(event *historypb.HistoryEvent) string {
	text := event.GetEventType().String()
	if id := event.GetEventId(); id != 0 {
		text = fmt.Sprintf("%d %s", id, text)
	}
	for _, part := range []string{
		idOf("scheduled", resultOrStarted(event)), startedOf(event), nameOf(event), timeoutOf(event), causeOf(event), chainOf(event),
	} {
		if part != "" {
			text += " " + part
		}
	}
	return text
}

func idOf(name string, id int64) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("%s=%d", name, id)
}

func resultOrStarted(event *historypb.HistoryEvent) int64 {
	return max(resultOf(event), startedBy(event))
}

func startedOf(event *historypb.HistoryEvent) string {
	return idOf("started", max(event.GetActivityTaskCompletedEventAttributes().GetStartedEventId(),
		event.GetActivityTaskFailedEventAttributes().GetStartedEventId(), event.GetActivityTaskTimedOutEventAttributes().GetStartedEventId(),
		event.GetActivityTaskCanceledEventAttributes().GetStartedEventId(), event.GetTimerFiredEventAttributes().GetStartedEventId(),
		event.GetTimerCanceledEventAttributes().GetStartedEventId(), event.GetChildWorkflowExecutionCompletedEventAttributes().GetStartedEventId(),
		event.GetChildWorkflowExecutionFailedEventAttributes().GetStartedEventId(), event.GetChildWorkflowExecutionCanceledEventAttributes().GetStartedEventId(),
		event.GetChildWorkflowExecutionTimedOutEventAttributes().GetStartedEventId(), event.GetChildWorkflowExecutionTerminatedEventAttributes().GetStartedEventId()))
}

func nameOf(event *historypb.HistoryEvent) string {
	for _, name := range []string{
		event.GetWorkflowExecutionSignaledEventAttributes().GetSignalName(), event.GetActivityTaskScheduledEventAttributes().GetActivityId(),
		event.GetTimerStartedEventAttributes().GetTimerId(), event.GetTimerFiredEventAttributes().GetTimerId(),
		event.GetTimerCanceledEventAttributes().GetTimerId(), event.GetMarkerRecordedEventAttributes().GetMarkerName(),
		event.GetStartChildWorkflowExecutionInitiatedEventAttributes().GetWorkflowId(),
		event.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetProtocolInstanceId(),
		event.GetWorkflowExecutionUpdateAdmittedEventAttributes().GetRequest().GetMeta().GetUpdateId(),
		event.GetWorkflowExecutionUpdateCompletedEventAttributes().GetMeta().GetUpdateId(),
		event.GetWorkflowTaskScheduledEventAttributes().GetTaskQueue().GetName(), event.GetWorkflowExecutionTerminatedEventAttributes().GetReason(),
	} {
		if name != "" {
			return name
		}
	}
	return ""
}

func timeoutOf(event *historypb.HistoryEvent) string {
	if a := event.GetWorkflowTaskTimedOutEventAttributes(); a != nil {
		return a.GetTimeoutType().String()
	}
	if a := event.GetActivityTaskTimedOutEventAttributes(); a != nil {
		text := a.GetFailure().GetTimeoutFailureInfo().GetTimeoutType().String() + " " + a.GetRetryState().String()
		if cause := a.GetFailure().GetCause(); cause != nil {
			text += " cause=" + cause.GetMessage()
		}
		return text
	}
	if a := event.GetActivityTaskFailedEventAttributes(); a != nil {
		return a.GetRetryState().String()
	}
	return ""
}

// chainOf says what an event says about the run before or after.
func chainOf(event *historypb.HistoryEvent) string {
	text := ""
	if a := event.GetWorkflowExecutionStartedEventAttributes(); a != nil && (a.GetContinuedExecutionRunId() != "" || a.GetCronSchedule() != "") {
		text = fmt.Sprintf("%s after %s of %s attempt=%d pause=%v timeout=%v", a.GetInitiator(), a.GetContinuedExecutionRunId(),
			a.GetFirstExecutionRunId(), a.GetAttempt(), a.GetFirstWorkflowTaskBackoff().AsDuration(), a.GetWorkflowRunTimeout().AsDuration())
		for _, also := range []*commonpb.Payloads{a.GetInput(), a.GetLastCompletionResult()} {
			text += detailsText(also)
		}
		if message := a.GetContinuedFailure().GetMessage(); message != "" {
			text += " failure " + message
		}
	}
	next := cmp.Or(event.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId(),
		event.GetWorkflowExecutionCompletedEventAttributes().GetNewExecutionRunId(), event.GetWorkflowExecutionFailedEventAttributes().GetNewExecutionRunId(),
		event.GetWorkflowExecutionTimedOutEventAttributes().GetNewExecutionRunId())
	if next != "" {
		text += "next " + next
	}
	if a := event.GetWorkflowExecutionFailedEventAttributes(); a != nil {
		text += " " + a.GetRetryState().String()
	}
	if a := event.GetWorkflowExecutionTimedOutEventAttributes(); a != nil {
		text += " " + a.GetRetryState().String()
	}
	return strings.TrimSpace(text)
}

func causeOf(event *historypb.HistoryEvent) string {
	if a := event.GetWorkflowTaskFailedEventAttributes(); a != nil {
		text := a.GetCause().String()
		if a.GetBaseRunId() != "" {
			text += fmt.Sprintf(" from %s to %s", a.GetBaseRunId(), a.GetNewRunId())
		}
		return text
	}
	if a := event.GetActivityTaskStartedEventAttributes(); a != nil {
		return fmt.Sprintf("attempt=%d", a.GetAttempt())
	}
	return ""
}

// describeWork says what an entry makes due.
func (s *story) describeWork(out *strings.Builder, work Work) {
	s.describeOffers(out, work.Offers)
	for _, ending := range work.Endings {
		to := string(ending.Callback)
		if ending.Parent != nil {
			to = fmt.Sprintf("parent %s at event %d", ending.Parent.WorkflowID, ending.Parent.Event)
		}
		fmt.Fprintf(out, "tell %s: %s of %s\n", to, ending.Event.GetEventType(), ending.RunID)
	}
	for _, child := range work.Children {
		s.children[child.Parent.Event] = child.Parent
		verb := "start"
		if child.Begun {
			verb = "look at"
		}
		fmt.Fprintf(out, "%s child %s run %s for event %d of %s\n", verb, child.Start.Request.GetWorkflowId(), child.Start.RunID, child.Parent.Event, child.Parent.RunID)
	}
	for _, orphan := range work.Orphans {
		workflowID, in := orphan.Input(orphan.Parent)
		fmt.Fprintf(out, "%s child %s run %s of %s\n", in.cause(), workflowID, orphan.FirstRun, orphan.Parent.GetRunId())
	}
	for _, sent := range work.Outgoing {
		what := "nothing, for it is itself"
		if sent.Input != nil {
			what = sent.Input.cause()
		}
		fmt.Fprintf(out, "send %s: %s for event %d\n", sent.WorkflowID, what, sent.Event)
	}
	for _, runID := range work.Removals {
		fmt.Fprintf(out, "remove the entries of %s\n", runID)
	}
}

func (s *story) describeOffers(out *strings.Builder, offers []Offer) {
	for _, offer := range offers {
		kind := "workflow task"
		if offer.Activity {
			kind = "activity"
		}
		fmt.Fprintf(out, "offer %s %d attempt %d on %s", kind, offer.Event, offer.Attempt, offer.Queue)
		if offer.Priority != 0 {
			fmt.Fprintf(out, " priority %d", offer.Priority)
		}
		fmt.Fprintln(out)
	}
}

// reply says what a caller gets, and keeps the tokens of tasks.
func (s *story) reply(out *strings.Builder, decision *Decision) {
	switch reply := decision.Reply.(type) {
	case *workflowservice.PollWorkflowTaskQueueResponse:
		s.gotTask(out, reply, decision.History)
	case *workflowservice.RespondWorkflowTaskCompletedResponse:
		for _, activity := range reply.GetActivityTasks() {
			s.gotActivity(out, activity)
		}
		if reply.GetResetHistoryEventId() != 0 {
			fmt.Fprintf(out, "nothing is left, back to event %d\n", reply.GetResetHistoryEventId())
		}
		if reply.GetWorkflowTask() != nil {
			s.gotTask(out, reply.GetWorkflowTask(), decision.History)
		}
	case *workflowservice.PollActivityTaskQueueResponse:
		s.gotActivity(out, reply)
	case *workflowservice.RecordActivityTaskHeartbeatResponse:
		fmt.Fprintf(out, "cancel requested: %v\n", reply.GetCancelRequested())
		if reply.GetActivityPaused() || reply.GetActivityReset() {
			fmt.Fprintf(out, "paused: %v reset: %v\n", reply.GetActivityPaused(), reply.GetActivityReset())
		}
	case *workflowservice.StartWorkflowExecutionResponse:
		fmt.Fprintf(out, "run %s started=%v\n", reply.GetRunId(), reply.GetStarted())
		if reply.GetEagerWorkflowTask() != nil {
			s.gotTask(out, reply.GetEagerWorkflowTask(), decision.History)
		}
	case *workflowservice.ResetWorkflowExecutionResponse:
		fmt.Fprintf(out, "run %s\n", reply.GetRunId())
	case *workflowservice.SignalWithStartWorkflowExecutionResponse:
		fmt.Fprintf(out, "run %s started=%v\n", reply.GetRunId(), reply.GetStarted())
	}
}

func (s *story) gotActivity(out *strings.Builder, task *workflowservice.PollActivityTaskQueueResponse) {
	token, err := ParseToken(task.GetTaskToken())
	require.NoError(s.t, err)
	s.attempts[task.GetActivityId()] = token
	fmt.Fprintf(out, "activity %s attempt %d%s\n", task.GetActivityId(), task.GetAttempt(), detailsText(task.GetHeartbeatDetails()))
}

func (s *story) gotTask(out *strings.Builder, task *workflowservice.PollWorkflowTaskQueueResponse, history *History) {
	token, err := ParseToken(task.GetTaskToken())
	require.NoError(s.t, err)
	s.task, s.got, s.inbox = token, history, nil
	for _, message := range task.GetMessages() {
		s.inbox = append(s.inbox, message.GetProtocolInstanceId())
	}
	require.Equal(s.t, task.GetStartedEventId(), history.To+int64(len(history.Suffix)), "the task begins where its history ends")
	fmt.Fprintf(out, "task started=%d previous=%d attempt=%d events %d-%d", task.GetStartedEventId(), task.GetPreviousStartedEventId(), task.GetAttempt(), history.From, history.To)
	for _, event := range history.Suffix {
		fmt.Fprintf(out, " and %s", s.line(event))
	}
	for _, message := range task.GetMessages() {
		fmt.Fprintf(out, " with %s after event %d", message.GetId(), message.GetEventId())
	}
	fmt.Fprintln(out)
}

// updates says how far each update has come that the run knows or has rejected.
func (s *story) updates() string {
	ids := slices.Collect(maps.Keys(s.state.Run.Updates))
	for _, rejected := range s.state.Run.Rejected {
		ids = append(ids, rejected.ID)
	}
	slices.Sort(ids)
	var out strings.Builder
	for _, id := range ids {
		found, err := s.state.Run.FindUpdate(id, s.now)
		fmt.Fprintf(&out, "%s %s", id, found.Stage)
		if found.Event > 0 {
			fmt.Fprintf(&out, " event %d", found.Event)
		}
		fmt.Fprintf(&out, " %s", found.Outcome.GetFailure().GetMessage())
		if err != nil {
			fmt.Fprintf(&out, " %v", err)
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}

func detailsText(details *commonpb.Payloads) string {
	if len(details.GetPayloads()) == 0 {
		return ""
	}
	return " details " + string(details.GetPayloads()[0].GetData())
}

func (s *story) show(what string) string {
	switch what {
	case "owed":
		var out strings.Builder
		s.describeOffers(&out, s.state.Waiting())
		return out.String()
	case "describe":
		d := Describe(s.state)
		info := d.GetWorkflowExecutionInfo()
		text := fmt.Sprintf("%s, %d events", info.GetStatus(), info.GetHistoryLength())
		for _, fields := range []map[string]*commonpb.Payload{info.GetMemo().GetFields(), info.GetSearchAttributes().GetIndexedFields()} {
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				text += fmt.Sprintf("\n%s = %s", name, fields[name].GetData())
			}
		}
		for _, c := range d.GetPendingChildren() {
			text += fmt.Sprintf("\nchild %s run %s %s", c.GetWorkflowId(), c.GetRunId(), c.GetParentClosePolicy())
		}
		for _, a := range d.GetPendingActivities() {
			text += fmt.Sprintf("\nactivity %s %s attempt %d %s", a.GetActivityId(), a.GetState(), a.GetAttempt(), a.GetLastFailure().GetMessage())
		}
		if task := d.GetPendingWorkflowTask(); task != nil {
			text += fmt.Sprintf("\nworkflow task %s attempt %d", task.GetState(), task.GetAttempt())
		}
		return text + "\n"
	}
	if what == "updates" {
		return s.updates()
	}
	if what == "suffix" {
		text := ""
		for _, event := range s.state.Suffix() {
			text += s.line(event) + "\n"
		}
		return text
	}
	s.t.Fatalf("unknown command %s", what)
	return ""
}

// input makes the input that a line of a script names; nil if it names none.
func (s *story) input(t *testing.T, d *datadriven.TestData) Input {
	t.Helper()
	arg := func(name string) string {
		value := ""
		if d.HasArg(name) {
			d.ScanArgs(t, name, &value)
		}
		return value
	}
	execution := &commonpb.WorkflowExecution{WorkflowId: "w", RunId: arg("run")}
	switch d.Cmd {
	case "start", "signal-with-start":
		return s.startInput(d.Cmd, arg)
	case "signal":
		return Signal{From: from(arg("child-of")), Request: &workflowservice.SignalWorkflowExecutionRequest{
			WorkflowExecution: execution, SignalName: arg("name"), RequestId: arg("request"),
		}}
	case "cancel":
		return RequestCancel{From: from(arg("child-of")), Request: &workflowservice.RequestCancelWorkflowExecutionRequest{
			WorkflowExecution: execution, RequestId: arg("request"),
		}}
	case "update":
		return UpdateWorkflow{updateRequest(execution, arg("id"))}
	case "update-with-start":
		start := s.startInput("start", arg).(Start)
		return UpdateWithStart{start, UpdateWorkflow{updateRequest(&commonpb.WorkflowExecution{WorkflowId: "w"}, arg("id"))}}
	case "child-started", "child-not-started", "child-ended", "external-done":
		return s.outcomeInput(d.Cmd, arg)
	case "terminate":
		return Terminate{&workflowservice.TerminateWorkflowExecutionRequest{WorkflowExecution: execution, Reason: arg("reason")}}
	case "delete":
		return Delete{arg("run")}
	case "reset-sticky":
		return ResetSticky{&workflowservice.ResetStickyTaskQueueRequest{Execution: execution}}
	case "reset":
		return s.resetInput(arg)
	case "poll":
		return s.pollInput(arg)
	case "complete":
		return s.completeInput(d)
	case "fail":
		return FailWorkflowTask{s.task, &workflowservice.RespondWorkflowTaskFailedRequest{
			Cause: enumspb.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
		}}
	}
	return s.activityInput(d.Cmd, arg)
}

func (s *story) startInput(cmd string, arg func(string) string) Input {
	s.runs++
	runID := fmt.Sprintf("run-%d", s.runs)
	conflict, err := parseEnum(arg("conflict"), enumspb.WorkflowIdConflictPolicyFromString)
	require.NoError(s.t, err)
	reuse, err := parseEnum(arg("reuse"), enumspb.WorkflowIdReusePolicyFromString)
	require.NoError(s.t, err)
	request := &workflowservice.StartWorkflowExecutionRequest{
		WorkflowId: "w", WorkflowType: &commonpb.WorkflowType{Name: "Hello"}, TaskQueue: &taskqueuepb.TaskQueue{Name: "q"}, RequestId: arg("request"),
		WorkflowStartDelay: duration(s.t, arg("delay")), WorkflowRunTimeout: duration(s.t, arg("run-timeout")),
		WorkflowExecutionTimeout: duration(s.t, arg("execution-timeout")), WorkflowIdConflictPolicy: conflict, WorkflowIdReusePolicy: reuse,
		RetryPolicy: attempts(s.t, arg("attempts")), CronSchedule: strings.ReplaceAll(arg("cron"), "_", " "), Priority: priority(s.t, arg("priority")),
		RequestEagerExecution: arg("eager") != "",
	}
	if cmd == "start" {
		start := Start{Request: request, RunID: runID, Callback: callback(arg("callback"))}
		if of := arg("child-of"); of != "" {
			start.Parent = &Parent{WorkflowID: of, RunID: "run-of-" + of, Event: 5, Root: &commonpb.WorkflowExecution{WorkflowId: "root"}}
		}
		return start
	}
	return SignalWithStart{&workflowservice.SignalWithStartWorkflowExecutionRequest{
		WorkflowId: "w", WorkflowType: request.GetWorkflowType(), TaskQueue: request.GetTaskQueue(), RequestId: request.GetRequestId(),
		SignalName: arg("name"), WorkflowStartDelay: request.GetWorkflowStartDelay(), WorkflowIdConflictPolicy: conflict, WorkflowIdReusePolicy: reuse,
	}, runID}
}

// from makes the sender of a request that is for a child of a workflow only; nil if there is none.
func from(workflowID string) *From {
	if workflowID == "" {
		return nil
	}
	return &From{Execution: &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: "run-of-" + workflowID}, Event: 7, ChildOnly: true}
}

func updateRequest(of *commonpb.WorkflowExecution, id string) *workflowservice.UpdateWorkflowExecutionRequest {
	return &workflowservice.UpdateWorkflowExecutionRequest{
		WorkflowExecution: of, Request: &updatepb.Request{Meta: &updatepb.Meta{UpdateId: id}, Input: &updatepb.Input{Name: "add"}},
	}
}

// updateMessage makes the message of a worker that a line of a completion stands for; nil if it stands for none. All but a rejection also have
// a command.
func updateMessage(t tester, words []string) *protocolpb.Message {
	if len(words) < 2 {
		return nil
	}
	_, id, _ := strings.Cut(words[1], "=")
	var body proto.Message
	switch words[0] {
	case "accept":
		body = &updatepb.Acceptance{AcceptedRequestMessageId: requestMessage(id)}
	case "reject":
		body = &updatepb.Rejection{RejectedRequestMessageId: requestMessage(id), Failure: &failurepb.Failure{Message: "no"}}
	case "respond":
		body = &updatepb.Response{Meta: &updatepb.Meta{UpdateId: id}, Outcome: &updatepb.Outcome{Value: &updatepb.Outcome_Success{Success: somePayloads("done")}}}
	default:
		return nil
	}
	packed, err := anypb.New(body)
	require.NoError(t, err)
	return &protocolpb.Message{Id: words[0] + "-" + id, ProtocolInstanceId: id, Body: packed}
}

// outcomeInput makes the input that says what came of a child, or of what was sent to another workflow.
func (s *story) outcomeInput(cmd string, arg func(string) string) Input {
	event := int64(0)
	_, err := fmt.Sscan(arg("event"), &event)
	require.NoError(s.t, err)
	parent, ok := s.children[event]
	if !ok {
		parent = Parent{WorkflowID: "w", RunID: s.state.Run.ID, Event: event}
	}
	switch cmd {
	case "child-started":
		return ChildStarted{parent}
	case "child-not-started":
		return ChildNotStarted{parent, enumspb.START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS}
	case "external-done":
		return ExternalDone{RunID: parent.RunID, Event: event, NotFound: arg("found") == "no", TooMany: arg("full") == "yes"}
	}
	ends := map[string]proto.Message{
		"completed": &historypb.WorkflowExecutionCompletedEventAttributes{}, "failed": &historypb.WorkflowExecutionFailedEventAttributes{},
		"canceled": &historypb.WorkflowExecutionCanceledEventAttributes{}, "timed-out": &historypb.WorkflowExecutionTimedOutEventAttributes{},
		"terminated": &historypb.WorkflowExecutionTerminatedEventAttributes{},
	}
	return ChildEnded{parent, &commonpb.WorkflowExecution{WorkflowId: "c", RunId: "last"}, newEvent(ends[arg("how")], s.now)}
}

func callback(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

func parseEnum[E any](text string, parse func(string) (E, error)) (E, error) {
	if text == "" {
		var none E
		return none, nil
	}
	return parse(text)
}

func duration(t tester, text string) *durationpb.Duration {
	t.Helper()
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return durationpb.New(d)
}

// pollInput takes what is offered: the workflow task, or the activity with an ID.
func (s *story) pollInput(arg func(string) string) Input {
	s.polls++
	request := fmt.Sprintf("poll-%d", s.polls)
	if arg("request") != "" {
		request = arg("request")
	}
	run := s.state.Run
	if id := arg("activity"); id != "" {
		in := StartActivity{RunID: run.ID, Event: 999, RequestID: request, Identity: "worker"}
		for _, activity := range run.Activities {
			if activity.Attributes.GetActivityId() == id {
				in.Event, in.Attempt, in.Stamp = activity.Event, activity.Attempt, activity.Stamp
			}
		}
		return in
	}
	queue := "q"
	if arg("queue") != "" {
		queue = arg("queue")
	}
	return StartWorkflowTask{RunID: run.ID, Event: run.Task.Scheduled, Attempt: run.Task.Attempt, Queue: queue, RequestID: request, Identity: "worker"}
}

func (s *story) completeInput(d *datadriven.TestData) Input {
	s.polls++
	request := &workflowservice.RespondWorkflowTaskCompletedRequest{
		Identity: "worker", ReturnNewWorkflowTask: d.HasArg("more"), ForceCreateNewWorkflowTask: d.HasArg("force"),
	}
	if d.HasArg("sticky") {
		request.StickyAttributes = stickyAttributes()
	}
	for line := range strings.Lines(d.Input) {
		if message := updateMessage(s.t, strings.Fields(line)); message != nil {
			request.Messages = append(request.Messages, message)
			if strings.HasPrefix(line, "reject") {
				continue
			}
			line = "message id=" + message.GetId()
		}
		one := command(s.t, strings.Fields(line))
		if signal := one.GetSignalExternalWorkflowExecutionCommandAttributes(); signal != nil && strings.Contains(line, "elsewhere") {
			signal.Namespace = "elsewhere" //lint:ignore SA1019 workers may use it for long
		}
		request.Commands = append(request.Commands, one)
	}
	return CompleteWorkflowTask{s.task, request, fmt.Sprintf("poll-%d", s.polls)}
}

func stickyAttributes() *taskqueuepb.StickyExecutionAttributes {
	return &taskqueuepb.StickyExecutionAttributes{
		WorkerTaskQueue:        &taskqueuepb.TaskQueue{Name: "sticky", Kind: enumspb.TASK_QUEUE_KIND_STICKY, NormalName: "q"},
		ScheduleToStartTimeout: durationpb.New(5 * time.Second),
	}
}

// command makes a command of words such as: activity id=a start-to-close=10s.
func command(t tester, words []string) *commandpb.Command {
	t.Helper()
	args := map[string]string{}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		args[name] = value
	}
	switch words[0] {
	case "activity":
		return scheduleCommand(t, args)
	case "cancel-activity":
		event := int64(0)
		_, err := fmt.Sscan(args["scheduled"], &event)
		require.NoError(t, err)
		return &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_REQUEST_CANCEL_ACTIVITY_TASK, Attributes: &commandpb.Command_RequestCancelActivityTaskCommandAttributes{
			RequestCancelActivityTaskCommandAttributes: &commandpb.RequestCancelActivityTaskCommandAttributes{ScheduledEventId: event},
		}}
	case "timer":
		return &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_START_TIMER, Attributes: &commandpb.Command_StartTimerCommandAttributes{
			StartTimerCommandAttributes: &commandpb.StartTimerCommandAttributes{TimerId: args["id"], StartToFireTimeout: duration(t, args["after"])},
		}}
	case "cancel-timer":
		return &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_CANCEL_TIMER, Attributes: &commandpb.Command_CancelTimerCommandAttributes{
			CancelTimerCommandAttributes: &commandpb.CancelTimerCommandAttributes{TimerId: args["id"]},
		}}
	case "marker":
		return &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_RECORD_MARKER, Attributes: &commandpb.Command_RecordMarkerCommandAttributes{
			RecordMarkerCommandAttributes: &commandpb.RecordMarkerCommandAttributes{MarkerName: args["name"]},
		}}
	case "complete":
		return &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION, Attributes: &commandpb.Command_CompleteWorkflowExecutionCommandAttributes{
			CompleteWorkflowExecutionCommandAttributes: &commandpb.CompleteWorkflowExecutionCommandAttributes{Result: somePayloads(args["result"])},
		}}
	case "continue":
		return continueCommand(t, args)
	case "fail":
		return &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION, Attributes: &commandpb.Command_FailWorkflowExecutionCommandAttributes{
			FailWorkflowExecutionCommandAttributes: &commandpb.FailWorkflowExecutionCommandAttributes{Failure: &failurepb.Failure{Message: "broken"}},
		}}
	case "cancel":
		return &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION, Attributes: &commandpb.Command_CancelWorkflowExecutionCommandAttributes{
			CancelWorkflowExecutionCommandAttributes: &commandpb.CancelWorkflowExecutionCommandAttributes{},
		}}
	case "upsert":
		return &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES, Attributes: &commandpb.Command_UpsertWorkflowSearchAttributesCommandAttributes{
			UpsertWorkflowSearchAttributesCommandAttributes: &commandpb.UpsertWorkflowSearchAttributesCommandAttributes{
				SearchAttributes: &commonpb.SearchAttributes{IndexedFields: payloads(args)},
			},
		}}
	case "memo":
		return &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_MODIFY_WORKFLOW_PROPERTIES, Attributes: &commandpb.Command_ModifyWorkflowPropertiesCommandAttributes{
			ModifyWorkflowPropertiesCommandAttributes: &commandpb.ModifyWorkflowPropertiesCommandAttributes{UpsertedMemo: &commonpb.Memo{Fields: payloads(args)}},
		}}
	case "child":
		return childCommand(t, args)
	case "signal-external":
		return &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION, Attributes: &commandpb.Command_SignalExternalWorkflowExecutionCommandAttributes{
			SignalExternalWorkflowExecutionCommandAttributes: &commandpb.SignalExternalWorkflowExecutionCommandAttributes{
				Execution: &commonpb.WorkflowExecution{WorkflowId: args["id"]}, SignalName: args["name"],
			},
		}}
	case "cancel-external":
		return &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION, Attributes: &commandpb.Command_RequestCancelExternalWorkflowExecutionCommandAttributes{
			RequestCancelExternalWorkflowExecutionCommandAttributes: &commandpb.RequestCancelExternalWorkflowExecutionCommandAttributes{
				WorkflowId: args["id"], ChildWorkflowOnly: args["child"] != "",
			},
		}}
	case "message":
		return &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_PROTOCOL_MESSAGE, Attributes: &commandpb.Command_ProtocolMessageCommandAttributes{
			ProtocolMessageCommandAttributes: &commandpb.ProtocolMessageCommandAttributes{MessageId: args["id"]},
		}}
	case "nexus":
		return &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_SCHEDULE_NEXUS_OPERATION}
	}
	t.Fatalf("unknown command %v", words)
	return nil
}

// somePayloads makes payloads of a text; nil if there is none.
func somePayloads(text string) *commonpb.Payloads {
	if text == "" {
		return nil
	}
	return &commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: []byte(text)}}}
}

func continueCommand(t tester, args map[string]string) *commandpb.Command {
	t.Helper()
	attributes := &commandpb.ContinueAsNewWorkflowExecutionCommandAttributes{
		Input: somePayloads(args["input"]), BackoffStartInterval: duration(t, args["backoff"]), WorkflowRunTimeout: duration(t, args["run-timeout"]),
		CronSchedule: strings.ReplaceAll(args["cron"], "_", " "), RetryPolicy: attempts(t, args["attempts"]),
		LastCompletionResult: somePayloads(args["result"]),
	}
	if args["type"] != "" {
		attributes.WorkflowType = &commonpb.WorkflowType{Name: args["type"]}
	}
	if args["queue"] != "" {
		attributes.TaskQueue = &taskqueuepb.TaskQueue{Name: args["queue"]}
	}
	attributes.InheritBuildId = args["compatible"] != "" //lint:ignore SA1019 workers still send it
	if args["memo"] != "" {
		attributes.Memo = &commonpb.Memo{Fields: payloads(map[string]string{"memo": args["memo"]})}
	}
	return &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION, Attributes: &commandpb.Command_ContinueAsNewWorkflowExecutionCommandAttributes{
		ContinueAsNewWorkflowExecutionCommandAttributes: attributes,
	}}
}

func childCommand(t tester, args map[string]string) *commandpb.Command {
	t.Helper()
	policy, err := parseEnum(args["close"], enumspb.ParentClosePolicyFromString)
	require.NoError(t, err)
	attributes := &commandpb.StartChildWorkflowExecutionCommandAttributes{
		WorkflowId: args["id"], WorkflowType: &commonpb.WorkflowType{Name: "Child"}, ParentClosePolicy: policy,
		WorkflowRunTimeout: duration(t, args["run-timeout"]), TaskQueue: &taskqueuepb.TaskQueue{Name: args["queue"]},
	}
	attributes.InheritBuildId = args["compatible"] != "" //lint:ignore SA1019 workers still send it
	attributes.VersioningOverride = overrides[args["version"]]
	return &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION, Attributes: &commandpb.Command_StartChildWorkflowExecutionCommandAttributes{
		StartChildWorkflowExecutionCommandAttributes: attributes,
	}}
}

func payloads(texts map[string]string) map[string]*commonpb.Payload {
	fields := map[string]*commonpb.Payload{}
	for name, text := range texts {
		fields[name] = &commonpb.Payload{Data: []byte(text)}
	}
	return fields
}

func scheduleCommand(t tester, args map[string]string) *commandpb.Command {
	t.Helper()
	attributes := &commandpb.ScheduleActivityTaskCommandAttributes{
		ActivityId: args["id"], ActivityType: &commonpb.ActivityType{Name: "Greet"},
		StartToCloseTimeout: duration(t, args["start-to-close"]), ScheduleToCloseTimeout: duration(t, args["schedule-to-close"]),
		ScheduleToStartTimeout: duration(t, args["schedule-to-start"]), HeartbeatTimeout: duration(t, args["heartbeat"]),
	}
	attributes.RetryPolicy, attributes.RequestEagerExecution = attempts(t, args["attempts"]), args["eager"] != ""
	attributes.UseWorkflowBuildId, attributes.Priority = args["compatible"] != "", priority(t, args["priority"])
	if args["queue"] != "" {
		attributes.TaskQueue = &taskqueuepb.TaskQueue{Name: args["queue"]}
	}
	return &commandpb.Command{CommandType: enumspb.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK, Attributes: &commandpb.Command_ScheduleActivityTaskCommandAttributes{
		ScheduleActivityTaskCommandAttributes: attributes,
	}}
}

// priority makes a priority of its key; nil if there is no text.
func priority(t tester, text string) *commonpb.Priority {
	t.Helper()
	if text == "" {
		return nil
	}
	p := &commonpb.Priority{}
	_, err := fmt.Sscan(text, &p.PriorityKey)
	require.NoError(t, err)
	return p
}

// attempts makes a retry policy of how many attempts it allows; nil if there is no text.
func attempts(t tester, text string) *commonpb.RetryPolicy {
	t.Helper()
	if text == "" {
		return nil
	}
	most := int32(0)
	_, err := fmt.Sscan(text, &most)
	require.NoError(t, err)
	return &commonpb.RetryPolicy{MaximumAttempts: most}
}

// activityInput makes the input of a worker, or of somebody else if there is an argument by-id, about an activity; nil if cmd is none.
func (s *story) activityInput(cmd string, arg func(string) string) Input {
	token := s.attempts[arg("id")]
	details := somePayloads(arg("details"))
	switch cmd {
	case "activity-completed":
		return CompleteActivity{token, &workflowservice.RespondActivityTaskCompletedRequest{Identity: "worker"}}
	case "activity-completed-by-id":
		return CompleteActivityByID{&workflowservice.RespondActivityTaskCompletedByIdRequest{ActivityId: arg("id"), Identity: "somebody"}}
	case "activity-failed":
		failure := &failurepb.Failure{Message: arg("message"), FailureInfo: &failurepb.Failure_ApplicationFailureInfo{
			ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{NonRetryable: arg("final") != "", NextRetryDelay: duration(s.t, arg("again"))},
		}}
		return FailActivity{token, &workflowservice.RespondActivityTaskFailedRequest{Failure: failure, Identity: "worker"}}
	case "activity-canceled":
		return CancelActivity{token, &workflowservice.RespondActivityTaskCanceledRequest{Identity: "worker"}}
	case "activity-failed-by-id":
		return FailActivityByID{&workflowservice.RespondActivityTaskFailedByIdRequest{
			ActivityId: arg("id"), Failure: &failurepb.Failure{Message: arg("message")}, LastHeartbeatDetails: details,
		}}
	case "activity-canceled-by-id":
		return CancelActivityByID{&workflowservice.RespondActivityTaskCanceledByIdRequest{ActivityId: arg("id")}}
	case "heartbeat-by-id":
		return BeatActivityByID{&workflowservice.RecordActivityTaskHeartbeatByIdRequest{ActivityId: arg("id"), Details: details}}
	case "heartbeat":
		return BeatActivity{token, &workflowservice.RecordActivityTaskHeartbeatRequest{Details: details}}
	}
	return s.operationInput(cmd, arg)
}

package execution

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
)

// TestModel drives one workflow ID by clients, workers and time in any order. The story checks at each step that the journal adds up to the
// state, and that a decision changes nothing but by its entry.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{story: newStory(t), signals: map[string]int{}}
		m.ended = func() { m.checkEnd(t) }
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			m.step(t)
		}
		m.drain(t)
		m.check(t)
	})
}

// model is a story whose next line is drawn.
type model struct {
	*story
	signal int
	// signals are those that the newest run has accepted, by their name.
	signals map[string]int
	names   int
}

func (m *model) step(t *rapid.T) {
	if m.state.Run == nil || !m.state.Run.Open() {
		what := rapid.IntRange(0, 5).Draw(t, "after the end")
		switch {
		case m.state.Run != nil && what == 0:
			m.rewind(t)
		case m.state.Run != nil && what == 1:
			m.remove(t)
		default:
			m.start(t)
		}
		return
	}
	switch rapid.SampledFrom([]string{"poll", "poll", "complete", "complete", "complete", "fail", "signal", "activity", "activity", "activity",
		"outcome", "outcome", "update", "update", "wait", "wait", "message", "cancel", "forget", "terminate", "delete", "start", "reset"}).Draw(t, "what") {
	case "poll":
		m.poll(t)
	case "complete":
		m.complete(t)
	case "fail":
		m.decide(FailWorkflowTask{m.task, &workflowservice.RespondWorkflowTaskFailedRequest{}})
	case "signal":
		m.sendSignal()
	case "activity":
		m.activity(t)
	case "outcome":
		m.outcome(t)
	case "update":
		m.names++
		of := &commonpb.WorkflowExecution{WorkflowId: "w"}
		id := fmt.Sprintf("u%d", rapid.IntRange(1, m.names).Draw(t, "update"))
		if rapid.IntRange(0, 4).Draw(t, "with start") > 0 {
			m.decide(UpdateWorkflow{updateRequest(of, id)})
		} else {
			start := m.startInput("start", func(name string) string { return map[string]string{"conflict": "UseExisting"}[name] }).(Start)
			m.decide(UpdateWithStart{start, UpdateWorkflow{updateRequest(of, id)}})
		}
	case "wait":
		m.now = m.now.Add(time.Duration(rapid.IntRange(0, 12_000).Draw(t, "ms")) * time.Millisecond)
		m.decide(TimerDue{})
		require.True(t, m.state.NextDeadline().IsZero() || m.state.NextDeadline().After(m.now), "something is still due")
	case "message":
		m.message(t)
	case "cancel":
		m.decide(RequestCancel{Request: &workflowservice.RequestCancelWorkflowExecutionRequest{}})
	case "reset":
		m.rewind(t)
	case "forget":
		m.decide(ResetSticky{&workflowservice.ResetStickyTaskQueueRequest{}})
	case "terminate":
		if rapid.IntRange(0, 5).Draw(t, "really") == 0 {
			m.decide(Terminate{&workflowservice.TerminateWorkflowExecutionRequest{}})
		}
	case "delete":
		m.remove(t)
	case "start":
		m.start(t)
	}
}

// remove deletes a run of the workflow ID, mostly an earlier one. It is not known any longer, and the others are.
func (m *model) remove(t *rapid.T) {
	run := m.state.Run
	id := rapid.SampledFrom(slices.Sorted(maps.Keys(m.histories))).Draw(t, "run")
	if id == run.ID && run.Open() && rapid.IntRange(0, 5).Draw(t, "really") > 0 {
		return
	}
	known := !run.Deleted(id)
	m.decide(Delete{id})
	require.Equal(t, known, m.err == nil)
	require.True(t, m.state.Run.Deleted(id))
	if id != run.ID {
		require.Equal(t, run.Open(), m.state.Run.Open())
	}
}

func (m *model) start(t *rapid.T) {
	args := map[string]string{
		"conflict":    rapid.SampledFrom([]string{"Fail", "UseExisting", "TerminateExisting"}).Draw(t, "conflict"),
		"delay":       rapid.SampledFrom([]string{"", "", "3s"}).Draw(t, "delay"),
		"run-timeout": rapid.SampledFrom([]string{"", "", "40s"}).Draw(t, "timeout"),
		"attempts":    rapid.SampledFrom([]string{"", "", "2", "0"}).Draw(t, "attempts"),
		"callback":    rapid.SampledFrom([]string{"", "schedule"}).Draw(t, "callback"),
	}
	if args["delay"] == "" {
		args["cron"] = rapid.SampledFrom([]string{"", "", "@every_7s", "*_*_*_*_*"}).Draw(t, "cron")
	}
	m.decide(m.startInput("start", func(name string) string { return args[name] }))
}

// message lets the next delayed message come, and those that came before it and have not been taken. The clock of NATS may differ.
func (m *model) message(t *rapid.T) {
	if len(m.messages) == 0 {
		return
	}
	came := slices.MinFunc(m.messages, time.Time.Compare).Add(time.Duration(rapid.IntRange(0, 2_000).Draw(t, "late ms")) * time.Millisecond)
	skew := time.Duration(rapid.IntRange(-3_000, 3_000).Draw(t, "skew ms")) * time.Millisecond
	if now := came.Add(skew); now.After(m.now) {
		m.now = now
	}
	m.decide(TimerDue{Came: came})
}

func (m *model) sendSignal() {
	m.signal++
	name := fmt.Sprintf("s%d", m.signal)
	request := &workflowservice.SignalWorkflowExecutionRequest{SignalName: name, RequestId: name}
	m.decide(Signal{Request: request})
	if m.err == nil {
		m.signals[name]++
		m.decide(Signal{Request: request}) // a repeat changes nothing
	}
}

func (m *model) poll(t *rapid.T) {
	for _, offer := range m.state.Waiting() {
		if rapid.Bool().Draw(t, "take") {
			m.take(offer)
		}
	}
}

func (m *model) take(offer Offer) {
	m.polls++
	request := fmt.Sprintf("poll-%d", m.polls)
	var in Input = StartWorkflowTask{RunID: offer.RunID, Event: offer.Event, Attempt: offer.Attempt, Queue: offer.Queue, RequestID: request}
	if offer.Activity {
		in = StartActivity{RunID: offer.RunID, Event: offer.Event, Attempt: offer.Attempt, Stamp: offer.Stamp, RequestID: request}
	}
	m.decide(in)
	require.NoError(m.t, m.err, "a task that is offered can be taken")
}

func (m *model) complete(t *rapid.T) {
	request := &workflowservice.RespondWorkflowTaskCompletedRequest{
		ReturnNewWorkflowTask:      rapid.Bool().Draw(t, "more"),
		ForceCreateNewWorkflowTask: rapid.IntRange(0, 9).Draw(t, "force") == 0,
	}
	if rapid.Bool().Draw(t, "sticky") {
		request.StickyAttributes = stickyAttributes()
	}
	m.answer(t, request)
	for range rapid.IntRange(0, 3).Draw(t, "commands") {
		request.Commands = append(request.Commands, m.command(t))
	}
	if rapid.IntRange(0, 9).Draw(t, "end") == 0 {
		request.Commands = append(request.Commands, command(t, []string{
			rapid.SampledFrom([]string{"complete", "fail", "cancel", "continue"}).Draw(t, "how"),
			"backoff=" + rapid.SampledFrom([]string{"0s", "5s"}).Draw(t, "backoff"),
		}))
	}
	m.polls++
	m.decide(CompleteWorkflowTask{m.task, request, fmt.Sprintf("poll-%d", m.polls)})
}

// answer answers some of the updates that came with the task, and completes others that were accepted before.
func (m *model) answer(t *rapid.T, request *workflowservice.RespondWorkflowTaskCompletedRequest) {
	say := func(what, id string) {
		message := updateMessage(t, []string{what, "id=" + id})
		request.Messages = append(request.Messages, message)
		if what != "reject" {
			request.Commands = append(request.Commands, command(t, []string{"message", "id=" + message.GetId()}))
		}
	}
	for _, id := range m.inbox {
		switch rapid.SampledFrom([]string{"accept", "accept", "both", "reject", "reject", "nothing"}).Draw(t, "answer") {
		case "accept":
			say("accept", id)
		case "both":
			say("accept", id)
			say("respond", id)
		case "reject":
			say("reject", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.state.Run.Updates)) {
		if update := m.state.Run.Updates[id]; update.Accepted > 0 && update.Completed == 0 && rapid.Bool().Draw(t, "respond") {
			say("respond", id)
		}
	}
}

func (m *model) command(t *rapid.T) *commandpb.Command {
	m.names++
	switch rapid.SampledFrom([]string{"activity", "activity", "timer", "cancel-activity", "cancel-timer", "marker", "nexus", "child", "external"}).Draw(t, "command") {
	case "activity":
		return command(t, []string{
			"activity", fmt.Sprintf("id=a%d", m.names), "start-to-close=5s",
			"heartbeat=" + rapid.SampledFrom([]string{"0s", "2s"}).Draw(t, "heartbeat"),
			"schedule-to-start=" + rapid.SampledFrom([]string{"0s", "3s"}).Draw(t, "schedule-to-start"),
			"attempts=" + rapid.SampledFrom([]string{"0", "1", "2"}).Draw(t, "attempts"),
			"eager=" + rapid.SampledFrom([]string{"", "yes"}).Draw(t, "eager"),
		})
	case "timer":
		return command(t, []string{"timer", fmt.Sprintf("id=t%d", m.names), "after=" + rapid.SampledFrom([]string{"1s", "4s"}).Draw(t, "after")})
	case "cancel-activity":
		return command(t, []string{"cancel-activity", fmt.Sprintf("scheduled=%d", m.someActivity(t))})
	case "cancel-timer":
		return command(t, []string{"cancel-timer", fmt.Sprintf("id=t%d", rapid.IntRange(1, m.names).Draw(t, "timer"))})
	case "marker":
		return command(t, []string{"marker", "name=m"})
	case "child":
		return command(t, []string{"child", fmt.Sprintf("id=c%d", m.names), "close=" + rapid.SampledFrom([]string{"", "Abandon", "RequestCancel"}).Draw(t, "close")})
	case "external":
		return command(t, []string{rapid.SampledFrom([]string{"signal-external", "cancel-external"}).Draw(t, "to"), "id=other", "name=s"})
	}
	if rapid.IntRange(0, 5).Draw(t, "broken") != 0 {
		return command(t, []string{"marker", "name=m"})
	}
	return command(t, []string{"nexus"})
}

// someActivity draws an activity of the history, or nothing.
func (m *model) someActivity(t *rapid.T) int64 {
	ids := []int64{1}
	for _, event := range m.history {
		if event.GetEventType() == enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED {
			ids = append(ids, event.GetEventId())
		}
	}
	return rapid.SampledFrom(ids).Draw(t, "activity")
}

// outcome tells the workflow about a child or another workflow, whatever is known of it.
func (m *model) outcome(t *rapid.T) {
	what := rapid.SampledFrom([]string{"child-started", "child-not-started", "child-ended", "external-done"}).Draw(t, "outcome")
	begun := []int64{999}
	for _, event := range m.history {
		if event.GetStartChildWorkflowExecutionInitiatedEventAttributes() != nil || m.state.Run.Outgoing[event.GetEventId()] != nil {
			begun = append(begun, event.GetEventId())
		}
	}
	args := map[string]string{
		"event": fmt.Sprint(rapid.SampledFrom(begun).Draw(t, "event")), "found": rapid.SampledFrom([]string{"yes", "no"}).Draw(t, "found"),
		"how": rapid.SampledFrom([]string{"completed", "failed", "canceled", "timed-out", "terminated"}).Draw(t, "how"),
	}
	in := m.outcomeInput(what, func(name string) string { return args[name] })
	m.decide(in)
	m.decide(in) // a repeat changes nothing
}

// activity is a worker that reports about one of the attempts that were ever given out, even if it is late.
func (m *model) activity(t *rapid.T) {
	ids := []string{"none"}
	for i := range m.names {
		if _, ok := m.attempts[fmt.Sprintf("a%d", i+1)]; ok {
			ids = append(ids, fmt.Sprintf("a%d", i+1))
		}
	}
	args := map[string]string{
		"id":       rapid.SampledFrom(ids).Draw(t, "id"),
		"details":  "d",
		"final":    rapid.SampledFrom([]string{"", "", "yes"}).Draw(t, "final"),
		"jitter":   rapid.SampledFrom([]string{"", "2s"}).Draw(t, "jitter"),
		"attempts": rapid.SampledFrom([]string{"", "yes"}).Draw(t, "attempts"), "keep": rapid.SampledFrom([]string{"", "yes"}).Draw(t, "keep"),
		"queue": rapid.SampledFrom([]string{"", "other"}).Draw(t, "queue"), "start-to-close": "3s",
	}
	how := rapid.SampledFrom([]string{"activity-completed", "activity-completed-by-id", "activity-failed", "activity-canceled", "heartbeat",
		"pause", "unpause", "reset-activity", "options"}).Draw(t, "how")
	m.decide(m.activityInput(how, func(name string) string { return args[name] }))
}

// drain lets a good worker take everything, until the workflow ends. It must come to an end soon.
func (m *model) drain(t *rapid.T) {
	for range 200 {
		if m.state.Run == nil || !m.state.Run.Open() {
			return
		}
		offers := m.state.Waiting()
		if len(offers) > 0 {
			m.work(offers[0])
			continue
		}
		if at := m.state.NextDeadline(); !at.IsZero() {
			m.now = at
			m.decide(TimerDue{})
			continue
		}
		m.sendSignal()
	}
	require.Fail(t, "the workflow does not end")
}

// work takes a task and does it well.
func (m *model) work(offer Offer) {
	activity, ok := m.state.Run.Activities[offer.Event]
	m.take(offer)
	if offer.Activity {
		require.True(m.t, ok)
		args := map[string]string{"id": activity.Attributes.GetActivityId()}
		m.decide(m.activityInput("activity-completed", func(name string) string { return args[name] }))
		return
	}
	m.decide(CompleteWorkflowTask{m.task, &workflowservice.RespondWorkflowTaskCompletedRequest{
		Commands: []*commandpb.Command{command(m.t, []string{"cancel"})}, // nothing follows on that
	}, "last"})
}

// checkEnd looks at a run that has just ended. The next one begins with nothing.
func (m *model) checkEnd(t *rapid.T) {
	found := m.checkHistory(t)
	require.Equal(t, m.signals, found, "a signal is lost or doubled")
	m.signals, m.task = map[string]int{}, Token{}
}

// check looks at the newest run.
func (m *model) check(t *rapid.T) {
	if m.state.Run == nil {
		return
	}
	m.checkHistory(t)
	if !m.state.Run.Open() {
		require.Empty(t, m.state.Run.Buffered)
		require.Empty(t, m.state.Waiting())
		require.Zero(t, m.state.NextDeadline())
	}
}

// checkHistory looks at the history of a run, and counts the signals in it by their names.
func (m *model) checkHistory(t *rapid.T) map[string]int {
	found := map[string]int{}
	results := map[int64]bool{}
	fired := map[int64]bool{}
	for i, event := range m.history {
		require.EqualValues(t, i+1, event.GetEventId())
		if name := event.GetWorkflowExecutionSignaledEventAttributes().GetSignalName(); name != "" {
			found[name]++
		}
		if of := resultOf(event); of != 0 {
			require.False(t, results[of], "event %d has two results", of)
			results[of] = true
			m.checkResult(t, event)
		}
		if a := event.GetWorkflowExecutionUpdateCompletedEventAttributes(); a != nil {
			accepted := m.history[a.GetAcceptedEventId()-1].GetWorkflowExecutionUpdateAcceptedEventAttributes()
			require.Equal(t, accepted.GetProtocolInstanceId(), a.GetMeta().GetUpdateId())
			require.False(t, results[a.GetAcceptedEventId()], "update %s is completed twice", a.GetMeta().GetUpdateId())
			results[a.GetAcceptedEventId()] = true
		}
		if timer := event.GetTimerFiredEventAttributes(); timer != nil {
			m.checkFired(t, event, timer, fired)
		}
		if i > 0 && m.history[i-1].GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED {
			require.Contains(t, []enumspb.EventType{
				enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
			}, event.GetEventType(), "event %d is within a workflow task", event.GetEventId())
		}
		if _, last := ends[event.GetEventType()]; last {
			require.Len(t, m.history, i+1, "there is something after the end")
		}
	}
	return found
}

// checkResult: the result of an activity or of a child that has started names the event which says so. There is one.
func (m *model) checkResult(t *rapid.T, event *historypb.HistoryEvent) {
	started := int64(0)
	for _, other := range m.history[:event.GetEventId()-1] {
		if startedBy(other) == resultOf(event) {
			require.Zero(t, started, "event %d", resultOf(event))
			started = other.GetEventId()
		}
	}
	if event.GetChildWorkflowExecutionCompletedEventAttributes() != nil {
		require.NotZero(t, started, "event %d", event.GetEventId())
	}
	text := startedOf(event)
	require.Equal(t, idOf("started", started), text, "event %d", event.GetEventId())
}

// checkFired: a timer fires once and never early.
func (m *model) checkFired(t *rapid.T, event *historypb.HistoryEvent, timer *historypb.TimerFiredEventAttributes, fired map[int64]bool) {
	require.False(t, fired[timer.GetStartedEventId()], "the timer of event %d fires twice", timer.GetStartedEventId())
	fired[timer.GetStartedEventId()] = true
	started := m.history[timer.GetStartedEventId()-1]
	due := started.GetEventTime().AsTime().Add(started.GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration())
	require.False(t, event.GetEventTime().AsTime().Before(due), "the timer of event %d fires early", timer.GetStartedEventId())
}

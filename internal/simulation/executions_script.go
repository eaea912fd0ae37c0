package simulation

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"

	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// script is the code of a workflow: steps, one after the other. It is the same for all runs of a workflow ID.
type script struct {
	steps []step
	// fails says that the workflow ends with a failure, and deaf that it does not heed a request to cancel it.
	fails, deaf bool
	// continues is how often the workflow continues as new.
	continues int
}

// step is one thing that a workflow waits for: activities that run at once, a timer, that there have been so many signals, a child, or what came of
// a signal to another workflow. With an activity or a child and a timer, the workflow cancels what has not ended when the other has.
type step struct {
	activities []activityPlan
	timer      time.Duration
	signals    int
	child      *childPlan
	sends      bool
}

// activityPlan is how an activity goes.
type activityPlan struct {
	// failures is how many attempts fail first; of these the first may be silent, so that it times out.
	failures int
	silent   bool
	// attempts is how many there may be; 0 for any number.
	attempts int32
	lasts    time.Duration
	beats    bool
	// eager says that the worker of the workflow may begin it at once.
	eager bool
}

// diceFor are numbers that depend on a text alone.
func diceFor(text string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return rand.New(rand.NewPCG(h.Sum64(), 1))
}

// scriptOf draws the script of a workflow ID.
func scriptOf(workflowID string) script {
	if hangs(workflowID) {
		return script{steps: []step{{signals: math.MaxInt}}}
	}
	dice := diceFor(workflowID)
	s := script{fails: dice.IntN(8) == 0, deaf: dice.IntN(4) == 0, continues: max(dice.IntN(6)-3, 0)}
	signals := 0
	for range 1 + dice.IntN(4) {
		kind := dice.IntN(9)
		if isChild(workflowID) && kind < 5 {
			kind += 4 // nobody sends it the signals that it waits for, and it has no children
		}
		switch kind {
		case 0:
			signals += 1 + dice.IntN(2)
			s.steps = append(s.steps, step{signals: signals})
		case 1:
			s.steps = append(s.steps, step{sends: true})
		case 2, 3:
			s.steps = append(s.steps, someChild(dice))
		case 4:
			s.steps = append(s.steps, step{timer: between(dice, 10*time.Millisecond, 15*time.Second)})
		case 5:
			race := someActivity(dice)
			race.beats = dice.IntN(4) > 0
			s.steps = append(s.steps, step{activities: []activityPlan{race}, timer: between(dice, 10*time.Millisecond, 3*time.Second)})
		default:
			var all []activityPlan
			for range 1 + dice.IntN(3) {
				all = append(all, someActivity(dice))
			}
			s.steps = append(s.steps, step{activities: all})
		}
	}
	return s
}

func someActivity(dice *rand.Rand) activityPlan {
	return activityPlan{
		failures: dice.IntN(4) / 2, silent: dice.IntN(6) == 0, attempts: int32(dice.IntN(3)),
		lasts: between(dice, 0, 3*time.Second), beats: dice.IntN(3) == 0, eager: dice.IntN(2) == 0,
	}
}

func activityID(step, number int) string { return fmt.Sprintf("a%d-%d", step, number) }
func timerID(step int) string            { return fmt.Sprintf("t%d", step) }

// planOf returns how the activity with an ID goes.
func (s script) planOf(id string) activityPlan {
	var at, number int
	if n, _ := fmt.Sscanf(id, "a%d-%d", &at, &number); n < 2 || at >= len(s.steps) || number >= len(s.steps[at].activities) {
		panic("simulation: no activity " + id)
	}
	return s.steps[at].activities[number]
}

// seen is what a history says to the code of a workflow.
type seen struct {
	begun   map[string]bool  // activities and timers, by their IDs
	events  map[string]int64 // that scheduled activities, by their IDs
	started map[string]bool  // children
	ends    map[string]bool  // the children that have been asked to end, by their workflow IDs
	round   int              // how often the workflow has continued as new
	attempt int32

	workflowID, runID string
	asked             map[int64]bool // the activities that have been asked to end, by these events
	outcomes          map[string]string
	signals           []string
	canceled          bool
}

func readHistory(events []*historypb.HistoryEvent) seen {
	s := seen{
		begun: map[string]bool{}, events: map[string]int64{}, asked: map[int64]bool{}, outcomes: map[string]string{}, ends: map[string]bool{},
		started: map[string]bool{},
	}
	scheduled := map[int64]string{}
	for _, e := range events {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			id := e.GetActivityTaskScheduledEventAttributes().GetActivityId()
			scheduled[e.GetEventId()], s.events[id], s.begun[id] = id, e.GetEventId(), true
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED:
			s.asked[e.GetActivityTaskCancelRequestedEventAttributes().GetScheduledEventId()] = true
		case enumspb.EVENT_TYPE_TIMER_CANCELED:
			s.outcomes[e.GetTimerCanceledEventAttributes().GetTimerId()] = "canceled"
		case enumspb.EVENT_TYPE_TIMER_STARTED:
			s.begun[e.GetTimerStartedEventAttributes().GetTimerId()] = true
		case enumspb.EVENT_TYPE_TIMER_FIRED:
			s.outcomes[e.GetTimerFiredEventAttributes().GetTimerId()] = "fired"
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
			s.signals = append(s.signals, e.GetWorkflowExecutionSignaledEventAttributes().GetSignalName())
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
			s.canceled = true
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
			a := e.GetWorkflowExecutionStartedEventAttributes()
			s.round, s.attempt = len(textOf(a.GetInput())), a.GetAttempt()
			s.workflowID, s.runID = a.GetWorkflowId(), a.GetOriginalExecutionRunId()
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
			if next := e.GetWorkflowTaskFailedEventAttributes().GetNewRunId(); next != "" {
				s.runID = next
			}
		default:
			s.readOthers(e, scheduled)
		}
		if activity, outcome := outcomeIn(e); activity > 0 {
			s.outcomes[scheduled[activity]] = outcome
		}
	}
	return s
}

// outcomeIn returns how an activity ended, if an event says so. The activity is the event that scheduled it; 0 for any other event.
func outcomeIn(e *historypb.HistoryEvent) (activity int64, outcome string) {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		a := e.GetActivityTaskCompletedEventAttributes()
		return a.GetScheduledEventId(), textOf(a.GetResult())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		a := e.GetActivityTaskFailedEventAttributes()
		return a.GetScheduledEventId(), "failed: " + a.GetFailure().GetMessage()
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		return e.GetActivityTaskCanceledEventAttributes().GetScheduledEventId(), "canceled"
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		return e.GetActivityTaskTimedOutEventAttributes().GetScheduledEventId(), "timed out"
	}
	return 0, ""
}

// result is what a workflow returns that has seen so much.
func (s *seen) result() *commonpb.Payloads {
	data, err := json.Marshal(map[string]any{"outcomes": s.outcomes, "signals": s.signals})
	if err != nil {
		panic(err)
	}
	return payloadOf(string(data))
}

func payloadOf(text string) *commonpb.Payloads {
	return &commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: []byte(text)}}}
}

func textOf(p *commonpb.Payloads) string {
	if len(p.GetPayloads()) == 0 {
		return ""
	}
	return string(p.GetPayloads()[0].GetData())
}

// signals is how many signals a run waits for.
func (s script) signals() (count int) {
	for _, next := range s.steps {
		count = max(count, next.signals)
	}
	return count
}

// decide runs the code of a workflow on its history, and returns the commands that it comes to.
func (s script) decide(events []*historypb.HistoryEvent) (all []*commandpb.Command) {
	is := readHistory(events)
	if is.canceled && !s.deaf {
		return []*commandpb.Command{cancelCommand(&is)}
	}
	for i, next := range s.steps {
		commands, waits := next.run(i, &is)
		if all = append(all, commands...); waits {
			return all
		}
	}
	switch {
	case is.round < s.continues:
		return append(all, continueCommand(is.round+1))
	case s.fails && is.attempt < 3:
		return append(all, failCommand(&is))
	}
	return append(all, completeCommand(&is))
}

// The commands that end a workflow say what it has seen.

func cancelCommand(is *seen) *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_CancelWorkflowExecutionCommandAttributes{
			CancelWorkflowExecutionCommandAttributes: &commandpb.CancelWorkflowExecutionCommandAttributes{Details: is.result()},
		},
	}
}

func failCommand(is *seen) *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_FailWorkflowExecutionCommandAttributes{
			FailWorkflowExecutionCommandAttributes: &commandpb.FailWorkflowExecutionCommandAttributes{
				Failure: &failurepb.Failure{Message: textOf(is.result())},
			},
		},
	}
}

func completeCommand(is *seen) *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_CompleteWorkflowExecutionCommandAttributes{
			CompleteWorkflowExecutionCommandAttributes: &commandpb.CompleteWorkflowExecutionCommandAttributes{Result: is.result()},
		},
	}
}

// run begins a step if it has not begun, and reports whether the workflow waits for it.
func (next step) run(i int, is *seen) (commands []*commandpb.Command, waits bool) {
	for number, plan := range next.activities {
		id := activityID(i, number)
		if !is.begun[id] {
			commands = append(commands, plan.command(id))
		}
		if _, ended := is.outcomes[id]; !ended {
			waits = true
		}
	}
	if next.child != nil {
		commands, waits = next.child.run(i, is)
	}
	if next.sends {
		commands, waits = signalOther(i, is)
	}
	id := timerID(i)
	if next.timer > 0 && !is.begun[id] {
		commands = append(commands, timerCommand(id, next.timer))
	} else if len(next.activities) > 0 || next.child != nil {
		commands = append(commands, next.settle(i, is)...)
	}
	waits = waits || next.timer > 0 && is.outcomes[id] == ""
	return commands, waits || len(is.signals) < next.signals
}

// settle cancels the activity or the timer if the other one has ended. The timer ends at once by that.
func (next step) settle(i int, is *seen) []*commandpb.Command {
	activity, timer := activityID(i, 0), timerID(i)
	if next.child != nil {
		activity = childID(i)
	}
	_, done := is.outcomes[activity]
	fired := is.outcomes[timer] != ""
	switch scheduled := is.events[activity]; {
	case next.timer == 0:
	case done && !fired:
		is.outcomes[timer] = "canceled"
		return []*commandpb.Command{{
			CommandType: enumspb.COMMAND_TYPE_CANCEL_TIMER,
			Attributes: &commandpb.Command_CancelTimerCommandAttributes{
				CancelTimerCommandAttributes: &commandpb.CancelTimerCommandAttributes{TimerId: timer},
			},
		}}
	case fired && !done && next.child != nil:
		return next.child.cancel(i, is)
	case fired && !done && !is.asked[scheduled]:
		return []*commandpb.Command{{
			CommandType: enumspb.COMMAND_TYPE_REQUEST_CANCEL_ACTIVITY_TASK,
			Attributes: &commandpb.Command_RequestCancelActivityTaskCommandAttributes{
				RequestCancelActivityTaskCommandAttributes: &commandpb.RequestCancelActivityTaskCommandAttributes{ScheduledEventId: scheduled},
			},
		}}
	}
	return nil
}

func timerCommand(id string, after time.Duration) *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_START_TIMER,
		Attributes: &commandpb.Command_StartTimerCommandAttributes{
			StartTimerCommandAttributes: &commandpb.StartTimerCommandAttributes{TimerId: id, StartToFireTimeout: durationpb.New(after)},
		},
	}
}

// attemptTime is how long an attempt of an activity may take, and beatTime how long it may be silent if it reports its progress.
const (
	attemptTime = 6 * time.Second
	beatTime    = 2 * time.Second
)

func (p activityPlan) command(id string) *commandpb.Command {
	a := &commandpb.ScheduleActivityTaskCommandAttributes{
		ActivityId: id, ActivityType: &commonpb.ActivityType{Name: "work"}, TaskQueue: &taskqueuepb.TaskQueue{Name: taskQueue},
		StartToCloseTimeout: durationpb.New(attemptTime), ScheduleToCloseTimeout: durationpb.New(10 * time.Minute), RequestEagerExecution: p.eager,
		RetryPolicy: &commonpb.RetryPolicy{
			InitialInterval: durationpb.New(300 * time.Millisecond), BackoffCoefficient: 2, MaximumAttempts: p.attempts,
			MaximumInterval: durationpb.New(3 * time.Second),
		},
	}
	if p.beats {
		a.HeartbeatTimeout = durationpb.New(beatTime)
	}
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
		Attributes:  &commandpb.Command_ScheduleActivityTaskCommandAttributes{ScheduleActivityTaskCommandAttributes: a},
	}
}

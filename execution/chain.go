package execution

import (
	"cmp"
	"strconv"
	"time"

	"github.com/google/uuid"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// A run that ends may be followed by another one: because its code asks for that, because it is tried again after a failure, or because it has a
// cron schedule. Together they are a chain. The entry that ends the one begins the other, so no crash comes between them. Whoever waits for the
// workflow is told how the last run of the chain ends.

// shortestRun is the time from one run of a chain to the next, at least: the code of a workflow must not begin runs without a pause.
const shortestRun = time.Second

// idSpace is the space of the IDs that follow from other IDs: those of later runs of a chain, of children, and of requests to other workflows. So a
// decision that is repeated comes to the same ID.
var idSpace = uuid.MustParse("5f0e2f2e-6f3c-4a4e-9d53-9c1f3c9e4d11")

// derivedID is the ID of what a run begins.
func derivedID(what, runID string) string {
	return uuid.NewSHA1(idSpace, []byte(what+" of "+runID)).String()
}

// derivedByEvent is the ID of what an event of a run begins.
func derivedByEvent(what string, event int64, runID string) string {
	return derivedID(what+" "+strconv.FormatInt(event, 10), runID)
}

// nextRunID is the ID of the run that follows on a run.
func nextRunID(runID string) string { return derivedID("next", runID) }

// successor is what the run that follows begins with.
type successor struct {
	attributes *historypb.WorkflowExecutionStartedEventAttributes
	pause      time.Duration
}

// successor returns the run that follows on the newest one, which is about to end with a result, or a failure; nil if none does. The state says
// why there is no further attempt.
func (tx *transition) successor(result *commonpb.Payloads, failure *failurepb.Failure) (*successor, enumspb.RetryState) {
	r := tx.run
	state := enumspb.RETRY_STATE_RETRY_POLICY_NOT_SET
	if policy := r.Attributes.GetRetryPolicy(); policy != nil && failure != nil {
		var pause time.Duration
		pause, state = nextAttempt(policy, r.Attributes.GetAttempt(), failure, tx.now, r.wholeExpires())
		if state == enumspb.RETRY_STATE_IN_PROGRESS {
			next := r.again(enumspb.CONTINUE_AS_NEW_INITIATOR_RETRY, pause)
			next.attributes.Attempt, next.attributes.ContinuedFailure = r.Attributes.GetAttempt()+1, failure
			return next, state
		}
	}
	pause, ok := cronPause(r.Attributes.GetCronSchedule(), r.executionTime(), tx.now)
	if !ok {
		return nil, state
	}
	next := r.again(enumspb.CONTINUE_AS_NEW_INITIATOR_CRON_SCHEDULE, pause)
	next.attributes.ContinuedFailure = failure
	if failure == nil {
		next.attributes.LastCompletionResult = result
	}
	return next, state
}

// again returns a run like this one.
func (r *Run) again(initiator enumspb.ContinueAsNewInitiator, pause time.Duration) *successor {
	attributes := proto.CloneOf(r.Attributes)
	attributes.Initiator, attributes.Attempt, attributes.Identity, attributes.EagerExecutionAccepted = initiator, 1, "", false
	return &successor{attributes, pause}
}

// executionTime is when the first workflow task of the run was to be scheduled.
func (r *Run) executionTime() time.Time {
	return r.Start.Add(r.Attributes.GetFirstWorkflowTaskBackoff().AsDuration())
}

// wholeExpires is when the chain of runs times out; zero if it does not.
func (r *Run) wholeExpires() time.Time {
	if at := r.Attributes.GetWorkflowExecutionExpirationTime(); at != nil {
		return at.AsTime()
	}
	return time.Time{}
}

// pauseBefore is the pause before the run that follows on a run, which is what was asked for or longer: see shortestRun.
func (r *Run) pauseBefore(asked time.Duration, now time.Time) time.Duration {
	life := now.Sub(r.executionTime())
	if life < 0 {
		life = max(now.Sub(r.Start), 0)
	}
	return max(asked, shortestRun-life)
}

// follow begins the run that follows on the one that has just ended. What belongs to the chain passes over to it.
func (tx *transition) follow(next *successor) {
	before := tx.run
	id, attributes, pause := nextRunID(before.ID), next.attributes, before.pauseBefore(next.pause, tx.now)
	attributes.ContinuedExecutionRunId, attributes.OriginalExecutionRunId = before.ID, id
	attributes.FirstWorkflowTaskBackoff = durationpb.New(pause)
	attributes.PrevAutoResetPoints = before.resetPoints()
	callback := before.Callback
	tx.continues = true
	tx.open(newRun(id))
	tx.carry(before)
	tx.run.Callback = callback
	tx.run.StartRequest, tx.part.StartRequest = before.StartRequest, before.StartRequest
	event := newEvent(attributes, tx.now)
	event.UserMetadata = before.UserMetadata
	tx.run.effect(event)
	tx.number(event)
	if pause > 0 {
		tx.setFirstTask(tx.now.Add(pause))
		return
	}
	tx.scheduleTask()
}

// endWith ends the run with an event of a command. next is the run that follows; nil if none does.
func (tx *transition) endWith(c commandContext, attributes proto.Message, next *successor) {
	tx.writeFor(c, attributes)
	tx.next = next
}

// newRunID is the ID that the last event of the run gives for the one that follows; empty if none does.
func (tx *transition) newRunID(next *successor) string {
	if next == nil {
		return ""
	}
	return nextRunID(tx.run.ID)
}

// followUp completes the end of a run: what other commands of the same task led to is dropped, since nobody will see it, and the run that
// follows begins.
func (tx *transition) followUp() {
	tx.run.Buffered = nil
	if next := tx.next; next != nil {
		tx.next = nil
		tx.follow(next)
	}
}

// continued fills in what the run that follows gets from a command that leaves it open.
func (r *Run) continued(
	asked *commandpb.ContinueAsNewWorkflowExecutionCommandAttributes,
) *historypb.WorkflowExecutionStartedEventAttributes {
	attributes := proto.CloneOf(r.Attributes)
	attributes.EagerExecutionAccepted = false
	if asked.GetWorkflowType().GetName() != "" {
		attributes.WorkflowType = asked.GetWorkflowType()
	}
	attributes.TaskQueue.Name = cmp.Or(asked.GetTaskQueue().GetName(), attributes.GetTaskQueue().GetName())
	run := cmp.Or(asked.GetWorkflowRunTimeout().AsDuration(), r.Attributes.GetWorkflowRunTimeout().AsDuration())
	run = shorter(run, r.Attributes.GetWorkflowExecutionTimeout().AsDuration())
	attributes.WorkflowRunTimeout = durationpb.New(run)
	attributes.WorkflowTaskTimeout = boundedTaskTimeout(asked.GetWorkflowTaskTimeout(), r.Attributes.GetWorkflowTaskTimeout().AsDuration(), run)
	return attributes
}

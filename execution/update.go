package execution

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	protocolpb "go.temporal.io/api/protocol/v1"
	"go.temporal.io/api/serviceerror"
	updatepb "go.temporal.io/api/update/v1"
	"google.golang.org/protobuf/types/known/anypb"
)

// An update that is admitted waits in the journal, but not in the history, until the code of the workflow accepts it. It goes to the worker as a
// message with a workflow task. If nothing but updates made the task due, the events of the task are not in the history either, until the
// code does something: of an update that the code rejects, nothing is left there.

// Update is an update of a run.
type Update struct {
	// Number is the place in the order in which the updates of the run were admitted, from 1.
	Number int64
	// Request is what was asked; nil once the code has accepted it.
	Request *updatepb.Request
	// Recorded says that an event of the history has the request, so the worker gets it with that. Only a reset writes such events.
	Recorded bool
	// Accepted and Completed are the IDs of the events that say so; zero if there is none yet.
	Accepted, Completed int64
}

// Rejection is an update that the code of the workflow has rejected. In an entry and in a state.
type Rejection struct {
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	// Failure is why, encoded as Temporal's Failure.
	Failure []byte `json:"failure"`
}

const (
	// maxUpdates is how many updates a run may have, and maxInFlight how many at once that are not completed.
	maxUpdates  = 2000
	maxInFlight = 10
	// rejectionTime is how long whoever asked can learn of a rejection. Whoever asks again, does so anew: the code may decide otherwise by then.
	// maxRejections of them are kept at most.
	rejectionTime = time.Minute
	maxRejections = 64
)

var (
	// ErrUpdateAborted says that a run has ended before its code accepted an update, and that no other run follows on it. It is a NotFound of Temporal's.
	ErrUpdateAborted error = serviceerror.NewNotFound("workflow update was aborted by closing workflow")

	unprocessed = &failurepb.Failure{
		Message: "Workflow Update is rejected because it wasn't processed by worker. Probably, Workflow Update is not supported by the worker.",
		Source:  "Server",
		FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{
			Type: "UnprocessedUpdate", NonRetryable: true,
		}},
	}
	ended = &failurepb.Failure{
		Message: "Workflow Update failed because the Workflow completed before the Update completed.", Source: "Server",
		FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{
			Type: "AcceptedUpdateCompletedWorkflow", NonRetryable: true,
		}},
	}
)

// admit adds an update.
func (r *Run) admit(request *updatepb.Request) {
	r.Admitted++
	id := request.GetMeta().GetUpdateId()
	r.Updates[id] = Update{Number: r.Admitted, Request: request}
	r.Rejected = slices.DeleteFunc(slices.Clone(r.Rejected), func(other Rejection) bool { return other.ID == id })
}

// reject forgets an update, and remembers for a time that it was rejected.
func (r *Run) reject(rejected Rejection) {
	delete(r.Updates, rejected.ID)
	kept := slices.DeleteFunc(slices.Clone(r.Rejected), func(other Rejection) bool {
		return other.ID == rejected.ID || rejected.Time.Sub(other.Time) > rejectionTime
	})
	kept = append(kept, rejected)
	r.Rejected = kept[max(len(kept)-maxRejections, 0):]
}

// setUpdate changes what is known of an update, if the run knows it.
func (r *Run) setUpdate(id string, change func(*Update)) {
	if update, ok := r.Updates[id]; ok {
		change(&update)
		r.Updates[id] = update
	}
}

// waiting returns the updates that the code has not accepted, in the order of their admission.
func (r *Run) waiting() (all []Update) {
	for _, update := range r.Updates {
		if update.Request != nil {
			all = append(all, update)
		}
	}
	slices.SortFunc(all, func(a, b Update) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// inFlight counts the updates that are not completed.
func (r *Run) inFlight() (count int) {
	for update := range maps.Values(r.Updates) {
		if update.Completed == 0 {
			count++
		}
	}
	return count
}

// unsent reports whether there are updates that came after the first sent ones.
func (r *Run) unsent(sent int64) bool {
	waiting := r.waiting()
	return len(waiting) > 0 && waiting[len(waiting)-1].Number > sent
}

// messages are the updates that a worker gets with the task in progress.
func (r *Run) messages() (all []*protocolpb.Message) {
	for _, update := range r.waiting() {
		if update.Number > r.Task.Updates {
			break
		}
		if update.Recorded {
			continue
		}
		body, err := anypb.New(update.Request)
		if err != nil {
			continue // it was decoded from the same form
		}
		id := update.Request.GetMeta().GetUpdateId()
		all = append(all, &protocolpb.Message{
			Id: requestMessage(id), ProtocolInstanceId: id, SequencingId: &protocolpb.Message_EventId{EventId: r.Task.Started - 1}, Body: body,
		})
	}
	return all
}

// requestMessage is the ID of the message that brings an update to a worker.
func requestMessage(updateID string) string { return updateID + "/request" }

// UpdateState is how far an update has come.
type UpdateState struct {
	Stage enumspb.UpdateWorkflowExecutionLifecycleStage
	// Outcome is that of a completed update; nil if an event has it.
	Outcome *updatepb.Outcome
	// Event is the ID of the event with the outcome; zero if there is none.
	Event int64
}

// FindUpdate returns how far an update of a run has come. The error is Temporal's NotFound if the run does not know it, or has ended before its
// code accepted it. If another run follows on it, the error is [ErrClosing] for a time: the update may be asked for again, and goes to that run. A
// rejection is known for a time.
func (r *Run) FindUpdate(id string, now time.Time) (UpdateState, error) {
	update, ok := r.Updates[id]
	switch {
	case !ok:
		if failure := r.rejection(id, now); failure != nil {
			return completedBy(failure), nil
		}
		return UpdateState{}, serviceerror.NewNotFound(fmt.Sprintf("update %q not found", id))
	case update.Completed > 0:
		return UpdateState{Stage: enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED, Event: update.Completed}, nil
	case update.Accepted > 0 && !r.Open():
		return completedBy(ended), nil
	case update.Accepted > 0:
		return UpdateState{Stage: enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED}, nil
	case r.Continues && now.Sub(r.Close) < rejectionTime:
		return UpdateState{}, ErrClosing
	case !r.Open():
		return UpdateState{}, ErrUpdateAborted
	}
	return UpdateState{Stage: enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ADMITTED}, nil
}

func completedBy(failure *failurepb.Failure) UpdateState {
	return UpdateState{
		Stage:   enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED,
		Outcome: &updatepb.Outcome{Value: &updatepb.Outcome_Failure{Failure: failure}},
	}
}

// rejection returns why an update has just been rejected; nil if it has not.
func (r *Run) rejection(id string, now time.Time) *failurepb.Failure {
	for _, rejected := range r.Rejected {
		var failure failurepb.Failure
		if rejected.ID == id && now.Sub(rejected.Time) < rejectionTime && unmarshal(rejected.Failure, &failure) == nil {
			return &failure
		}
	}
	return nil
}

// knowsUpdate reports whether the newest run has an update. A run that has ended has those that it accepted.
func (tx *transition) knowsUpdate(id string) bool {
	if tx.run == nil {
		return false
	}
	update, known := tx.run.Updates[id]
	return known && (tx.run.Open() || update.Accepted > 0)
}

// admitUpdate adds an update to the run in progress. A worker gets it with the next workflow task.
func (tx *transition) admitUpdate(request *updatepb.Request) error {
	r := tx.run
	switch {
	case r.Task.Attempt >= failing:
		return serviceerror.NewWorkflowNotReady("Unable to perform workflow execution update due to Workflow Task in failed state.")
	case r.Task.closing():
		return ErrClosing
	case r.inFlight() >= maxInFlight:
		return serviceerror.NewResourceExhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT,
			fmt.Sprintf("limit on number of concurrent in-flight updates has been reached (%d)", maxInFlight))
	case len(r.Updates) >= maxUpdates:
		return serviceerror.NewFailedPrecondition(
			fmt.Sprintf("The limit on the total number of distinct updates in this workflow has been reached (%d).", maxUpdates))
	}
	r.admit(request)
	tx.part.Admitted = append(tx.part.Admitted, request)
	if !tx.paused() && r.Task.Scheduled == 0 {
		tx.run.Task.Speculative = r.LastStarted > 0 || !r.FirstTask.IsZero()
		tx.scheduleTask()
	}
	return nil
}

// failing is from which attempt of a workflow task on updates are refused: the code of the workflow cannot handle them.
const failing = 3

func (tx *transition) rejectUpdate(id string, failure *failurepb.Failure) {
	rejected := Rejection{ID: id, Time: tx.now, Failure: mustMarshal(failure)}
	tx.run.reject(rejected)
	tx.part.Rejected = append(tx.part.Rejected, rejected)
}

// rejectUnprocessed rejects the updates that the worker has got and left alone.
func (tx *transition) rejectUnprocessed() {
	for _, update := range tx.run.waiting() {
		if update.Number <= tx.sent {
			tx.rejectUpdate(update.Request.GetMeta().GetUpdateId(), unprocessed)
		}
	}
}

// message does what a message of a worker says about an update.
func (tx *transition) message(message *protocolpb.Message) *failedCommand {
	bad := func(text string) *failedCommand {
		return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_UPDATE_WORKFLOW_EXECUTION_MESSAGE, text}
	}
	body, err := message.GetBody().UnmarshalNew()
	if err != nil {
		return bad("message " + message.GetId() + " cannot be read")
	}
	id := message.GetProtocolInstanceId()
	update, ok := tx.run.Updates[id]
	if _, rejects := body.(*updatepb.Rejection); !rejects && !tx.run.Open() {
		return bad("update " + id + " follows on the command that ends the workflow")
	}
	if !ok || update.Number > tx.sent {
		return bad("update " + id + " was not sent with the workflow task")
	}
	switch m := body.(type) {
	case *updatepb.Acceptance:
		if update.Request == nil {
			return bad("update " + id + " has been accepted before")
		}
		accepted := &historypb.WorkflowExecutionUpdateAcceptedEventAttributes{
			ProtocolInstanceId: id, AcceptedRequestMessageId: requestMessage(id), AcceptedRequestSequencingEventId: m.GetAcceptedRequestSequencingEventId(),
		}
		if !update.Recorded {
			accepted.AcceptedRequest = update.Request
		}
		tx.write(accepted)
	case *updatepb.Rejection:
		if update.Request == nil {
			return bad("update " + id + " has been accepted before")
		}
		tx.rejectUpdate(id, m.GetFailure())
	case *updatepb.Response:
		if update.Accepted == 0 || update.Completed != 0 {
			return bad("update " + id + " is not in progress")
		}
		tx.write(&historypb.WorkflowExecutionUpdateCompletedEventAttributes{
			Meta: &updatepb.Meta{UpdateId: id, Identity: m.GetMeta().GetIdentity()}, AcceptedEventId: update.Accepted, Outcome: m.GetOutcome(),
		})
	default:
		return bad(fmt.Sprintf("message %s has a body that is not known: %s", message.GetId(), message.GetBody().GetTypeUrl()))
	}
	return nil
}

// followMessage does what the message says that a command names. Messages without a command come after all commands.
func (tx *transition) followMessage(c commandContext) *failedCommand {
	id := c.GetProtocolMessageCommandAttributes().GetMessageId()
	for i, message := range tx.messages {
		if message.GetId() == id {
			tx.messages = slices.Delete(slices.Clone(tx.messages), i, i+1)
			return tx.message(message)
		}
	}
	return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_UPDATE_WORKFLOW_EXECUTION_MESSAGE, "there is no message " + id}
}

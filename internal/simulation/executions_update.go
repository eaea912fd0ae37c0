package simulation

import (
	"context"
	"strings"
	"time"

	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	protocolpb "go.temporal.io/api/protocol/v1"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/subjects"
)

// rejects says whether the code of workflows rejects an update; late that it completes it with a later task only.
func rejects(updateID string) bool { return diceFor("rejects "+updateID).IntN(3) == 0 }
func late(updateID string) bool    { return diceFor("late "+updateID).IntN(3) == 0 }

// answerUpdates is what the code of a workflow says about the updates of a task, and about those that it accepted before.
func answerUpdates(
	task *workflowservice.PollWorkflowTaskQueueResponse, events []*historypb.HistoryEvent,
) (messages []*protocolpb.Message, commands []*commandpb.Command) {
	say := func(id, name string, body proto.Message) {
		packed, err := anypb.New(body)
		if err != nil {
			panic(err)
		}
		message := &protocolpb.Message{Id: id + name, ProtocolInstanceId: id, Body: packed}
		messages = append(messages, message)
		if _, rejected := body.(*updatepb.Rejection); !rejected {
			commands = append(commands, &commandpb.Command{
				CommandType: enumspb.COMMAND_TYPE_PROTOCOL_MESSAGE,
				Attributes: &commandpb.Command_ProtocolMessageCommandAttributes{
					ProtocolMessageCommandAttributes: &commandpb.ProtocolMessageCommandAttributes{MessageId: message.GetId()},
				},
			})
		}
	}
	respond := func(id string) {
		say(id, "/complete", &updatepb.Response{
			Meta: &updatepb.Meta{UpdateId: id}, Outcome: &updatepb.Outcome{Value: &updatepb.Outcome_Success{Success: payloadOf("done " + id)}},
		})
	}
	for _, id := range openUpdates(events) {
		respond(id)
	}
	for _, id := range admittedUpdates(events) {
		say(id, "/accept", &updatepb.Acceptance{AcceptedRequestMessageId: id + "/request"})
		if !late(id) {
			respond(id)
		}
	}
	for _, message := range task.GetMessages() {
		id := message.GetProtocolInstanceId()
		if rejects(id) {
			say(id, "/reject", &updatepb.Rejection{RejectedRequestMessageId: message.GetId(), Failure: &failurepb.Failure{Message: "no " + id}})
			continue
		}
		say(id, "/accept", &updatepb.Acceptance{AcceptedRequestMessageId: message.GetId(), AcceptedRequestSequencingEventId: message.GetEventId()})
		if !late(id) {
			respond(id)
		}
	}
	return messages, commands
}

// admittedUpdates are the updates that a reset has admitted by events, and that the code has not accepted. The code accepts them: it has done so
// before.
func admittedUpdates(events []*historypb.HistoryEvent) (ids []string) {
	accepted := map[string]bool{}
	for _, e := range events {
		accepted[e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetProtocolInstanceId()] = true
	}
	for _, e := range events {
		if a := e.GetWorkflowExecutionUpdateAdmittedEventAttributes(); a != nil && !accepted[a.GetRequest().GetMeta().GetUpdateId()] {
			ids = append(ids, a.GetRequest().GetMeta().GetUpdateId())
		}
	}
	return ids
}

// openUpdates are the updates that the code has accepted and not completed.
func openUpdates(events []*historypb.HistoryEvent) (ids []string) {
	completed := map[string]bool{}
	for _, e := range events {
		completed[e.GetWorkflowExecutionUpdateCompletedEventAttributes().GetMeta().GetUpdateId()] = true
	}
	for _, e := range events {
		if a := e.GetWorkflowExecutionUpdateAcceptedEventAttributes(); a != nil && !completed[a.GetProtocolInstanceId()] {
			ids = append(ids, a.GetProtocolInstanceId())
		}
	}
	return ids
}

// update asks for an update until it is completed. The text is its outcome.
func (n *node) update(ctx context.Context, op *operation) (text string, err error) {
	request := &workflowservice.UpdateWorkflowExecutionRequest{
		Namespace: namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: op.id},
		Request: &updatepb.Request{Meta: &updatepb.Meta{UpdateId: op.name}, Input: &updatepb.Input{Name: "update"}},
	}
	admitted := &workflowservice.UpdateWorkflowExecutionResponse{}
	if err := n.insist(ctx, op.verb, op.id, request, admitted, drainLimit); err != nil {
		return "", err
	}
	stage, outcome := admitted.GetStage(), admitted.GetOutcome()
	for until := time.Now().Add(updatePatience); stage < enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED && time.Now().Before(until); {
		if err := sleep.For(ctx, 300*time.Millisecond); err != nil {
			return "", err
		}
		found, again, err := n.pollUpdate(ctx, op.id, admitted.GetUpdateRef())
		if again { // the run has ended, and the update goes to the one that follows
			admitted.Reset()
			err = n.insist(ctx, op.verb, op.id, request, admitted, drainLimit)
			stage, outcome = admitted.GetStage(), admitted.GetOutcome()
		} else {
			stage, outcome = found.GetStage(), found.GetOutcome()
		}
		if err != nil {
			return "", err
		}
	}
	op.run = admitted.GetUpdateRef().GetWorkflowExecution().GetRunId()
	switch {
	case outcome.GetFailure() != nil:
		return outcome.GetFailure().GetMessage(), nil
	case outcome != nil:
		return textOf(outcome.GetSuccess()), nil
	}
	return stage.String(), nil
}

// pollUpdate asks how far an update has come. It reports whether the update is to be asked for again.
func (n *node) pollUpdate(
	ctx context.Context, id string, ref *updatepb.UpdateRef,
) (found *workflowservice.PollWorkflowExecutionUpdateResponse, again bool, err error) {
	poll := &workflowservice.PollWorkflowExecutionUpdateRequest{Namespace: namespace, UpdateRef: ref}
	found = &workflowservice.PollWorkflowExecutionUpdateResponse{}
	err = n.persist(ctx, drainLimit, func(ctx context.Context) error {
		err := n.request(ctx, subjects.VerbPollUpdate, id, poll, found)
		if again = err != nil && err.Error() == execution.ErrClosing.Error(); again {
			return nil
		}
		return err
	})
	return found, again, err
}

// updatePatience is how long a client asks how far an update has come. One that is completed late waits for the workflow to do something.
const updatePatience = 20 * time.Second

// checkUpdate: what a client has heard of an update is what the history says.
func (e *executions) checkUpdate(op *operation, find func(kind, format string, args ...any)) {
	run := e.run(op.id, op.run)
	if run == nil {
		find("lost", "run %s has taken the update, and is in no journal", op.run)
		return
	}
	accepted, completed := run.countUpdate(op.name)
	switch {
	case accepted > 1 || completed > 1:
		find("update doubled", "it was accepted %d times and completed %d times", accepted, completed)
	case rejects(op.name) && (accepted > 0 || strings.HasPrefix(op.text, "done ")):
		find("update", "it was rejected, and is in the history")
	case strings.HasPrefix(op.text, "done ") && completed == 0:
		find("lost", "the update was completed, and that is in no history")
	case op.text == enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED.String() && accepted == 0:
		find("lost", "the update was accepted, and that is in no history")
	}
}

// countUpdate counts the events by which an update was accepted and completed.
func (run *executionRun) countUpdate(id string) (accepted, completed int) {
	for _, event := range run.events {
		if event.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetProtocolInstanceId() == id {
			accepted++
		}
		if event.GetWorkflowExecutionUpdateCompletedEventAttributes().GetMeta().GetUpdateId() == id {
			completed++
		}
	}
	return accepted, completed
}

package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	activitypb "go.temporal.io/api/activity/v1"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/subjects"
)

// People pause the activities of workflows, let them go on, reset them, and change their options.

// activityOperations arranges what people ask about activities. A child has nobody who lets them go on in the end.
func (w *world) activityOperations() {
	rng := rand.New(rand.NewPCG(w.seed, streamActivities))
	verbs := []string{
		subjects.VerbPauseActivity, subjects.VerbPauseActivity, subjects.VerbUnpauseActivity, subjects.VerbResetActivity, subjects.VerbUpdateActivityOptions,
	}
	for range w.plan.Requests / 4 {
		op := &operation{
			verb: verbs[rng.IntN(len(verbs))], id: fmt.Sprintf("w%d-%d", w.seed, rng.IntN(w.plan.Executions)), retried: rng.IntN(2) == 0,
		}
		w.operate(op, w.moment(between(rng, 0, w.plan.Duration)))
	}
}

// activityRequest is a request about the pending activities of the newest run of a workflow, and a message for the answer; nil if the verb is of
// another kind.
func (op *operation) activityRequest() (request, response proto.Message) {
	of := &commonpb.WorkflowExecution{WorkflowId: op.id}
	switch op.verb {
	case subjects.VerbPauseActivity:
		return &workflowservice.PauseActivityRequest{
			Namespace: namespace, Execution: of, Activity: &workflowservice.PauseActivityRequest_Type{Type: "work"}, RequestId: op.name,
		}, &workflowservice.PauseActivityResponse{}
	case subjects.VerbUnpauseActivity:
		return &workflowservice.UnpauseActivityRequest{
			Namespace: namespace, Execution: of, Activity: &workflowservice.UnpauseActivityRequest_UnpauseAll{UnpauseAll: true},
			ResetAttempts: op.retried,
		}, &workflowservice.UnpauseActivityResponse{}
	case subjects.VerbResetActivity:
		return &workflowservice.ResetActivityRequest{
			Namespace: namespace, Execution: of, Activity: &workflowservice.ResetActivityRequest_MatchAll{MatchAll: true},
			KeepPaused: op.retried, Jitter: durationpb.New(100 * time.Millisecond),
		}, &workflowservice.ResetActivityResponse{}
	case subjects.VerbUpdateActivityOptions:
		return &workflowservice.UpdateActivityOptionsRequest{
			Namespace: namespace, Execution: of, Activity: &workflowservice.UpdateActivityOptionsRequest_MatchAll{MatchAll: true},
			ActivityOptions: &activitypb.ActivityOptions{RetryPolicy: &commonpb.RetryPolicy{InitialInterval: durationpb.New(200 * time.Millisecond)}},
			UpdateMask:      &fieldmaskpb.FieldMask{Paths: []string{"retry_policy.initial_interval"}},
		}, &workflowservice.UpdateActivityOptionsResponse{}
	}
	return nil, nil
}

// checkPaused: no attempt of an activity starts while the activity is paused. The entry follows on the state.
func (e *executions) checkPaused(j *journaled, entry *execution.Entry, sequence uint64) {
	for i := range entry.Parts {
		if j.state.Run == nil || entry.Parts[i].RunID != j.state.Run.ID {
			continue
		}
		for _, record := range entry.Parts[i].Activities {
			before, ok := j.state.Run.Activities[record.Event]
			if ok && before.Started.IsZero() && !before.Pause.Since.IsZero() && !record.Started.IsZero() {
				e.world.ledger.find("paused", j.state.Key.WorkflowID, "entry %d starts attempt %d of activity %d, which is paused",
					sequence, record.Attempt, record.Event)
			}
		}
	}
}

// unpauseLate lets activities go on that a request has paused which was on its way for very long.
func (e *executions) unpauseLate(id string, entry *execution.Entry, now time.Time) {
	if e.finishing[id] && entry.Cause == "pause-activity" {
		e.world.operate(&operation{verb: subjects.VerbUnpauseActivity, id: id}, now)
	}
}

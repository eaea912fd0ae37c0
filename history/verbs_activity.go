package history

import (
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/subjects"
)

// activityVerbs are what people ask about pending activities.
func (s *Service) activityVerbs() map[string]verb {
	return map[string]verb{
		subjects.VerbPauseActivity: ofActivities(s, func(r *workflowservice.PauseActivityRequest) execution.Input {
			return execution.PauseActivity{Request: r}
		}),
		subjects.VerbUnpauseActivity: ofActivities(s, func(r *workflowservice.UnpauseActivityRequest) execution.Input {
			return execution.UnpauseActivity{Request: r}
		}),
		subjects.VerbResetActivity: ofActivities(s, func(r *workflowservice.ResetActivityRequest) execution.Input {
			return execution.ResetActivity{Request: r}
		}),
		subjects.VerbUpdateActivityOptions: ofActivities(s, func(r *workflowservice.UpdateActivityOptionsRequest) execution.Input {
			return execution.UpdateActivityOptions{Request: r}
		}),
	}
}

// ofActivities is change for a request about activities of the execution that it names.
func ofActivities[R any, M interface {
	message[R]
	GetExecution() *commonpb.WorkflowExecution
}](s *Service, input func(M) execution.Input) verb {
	return change(s, func(r M) (string, execution.Input, error) { return r.GetExecution().GetWorkflowId(), input(r), nil })
}

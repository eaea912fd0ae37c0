package pages

//lint:file-ignore SA1019 Temporal has marked it as deprecated, and what comes after it is about standalone activities as well

import (
	"context"
	"net/http"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
)

// activityActs are what the buttons of a pending activity ask for, by the last part of their address.
var activityActs = map[string]func(context.Context, *speaker.Speaker, *common.WorkflowExecution, string) error{
	"pause": func(ctx context.Context, asks *speaker.Speaker, of *common.WorkflowExecution, id string) error {
		_, err := asks.Workflows.PauseActivity(ctx, &workflowservice.PauseActivityRequest{
			Namespace: asks.Namespace(), Execution: of, Identity: asks.Identity, Activity: &workflowservice.PauseActivityRequest_Id{Id: id},
		})
		return err
	},
	"unpause": func(ctx context.Context, asks *speaker.Speaker, of *common.WorkflowExecution, id string) error {
		_, err := asks.Workflows.UnpauseActivity(ctx, &workflowservice.UnpauseActivityRequest{
			Namespace: asks.Namespace(), Execution: of, Identity: asks.Identity, Activity: &workflowservice.UnpauseActivityRequest_Id{Id: id},
		})
		return err
	},
	"reset": func(ctx context.Context, asks *speaker.Speaker, of *common.WorkflowExecution, id string) error {
		_, err := asks.Workflows.ResetActivity(ctx, &workflowservice.ResetActivityRequest{
			Namespace: asks.Namespace(), Execution: of, Identity: asks.Identity, Activity: &workflowservice.ResetActivityRequest_Id{Id: id},
		})
		return err
	},
}

// addActivityActs adds the buttons of pending activities. They lead back to the page of the execution.
func (p *Pages) addActivityActs() {
	for name, do := range activityActs {
		p.bounded("POST "+Base+"{namespace}/executions/{workflow}/{run}/activities/{activity}/"+name, func(r *http.Request, asks *speaker.Speaker) (*answer, error) {
			of := executionOf(r)
			err := do(r.Context(), asks, of, r.PathValue("activity"))
			return &answer{to: address(asks.Namespace(), "executions", of.WorkflowId, of.RunId) + "?said=" + name + "-activity"}, err
		})
	}
}

package frontend

import (
	"context"

	"github.com/carillon-scheduler/carillon/schedule"
)

// update replaces a schedule, and warns of times that may surprise and of an action that no worker has a handler for.
func (a *api) update(
	ctx context.Context, namespace string, req *schedule.UpdateRequest,
) (schedule.Description, error) {
	return a.withTypeWarning(ctx, namespace, &req.Action, func() (schedule.Description, error) {
		return a.updateNow(ctx, namespace, req)
	})
}

// updateNow puts another schedule in the place of the one there is, under the same name and with the same history.
func (a *api) updateNow(
	ctx context.Context, namespace string, req *schedule.UpdateRequest,
) (schedule.Description, error) {
	def, err := a.change(ctx, change{
		key:       schedule.Key{Namespace: namespace, ID: req.ID},
		requestID: req.RequestID, token: req.ConflictToken, spec: &req.Spec,
		edit: func(e *edit) error {
			e.replace(req.Schedule)
			return nil
		},
	})
	if err != nil {
		return schedule.Description{}, err
	}
	return a.answerStored(ctx, &def)
}

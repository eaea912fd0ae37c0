package frontend

import (
	"cmp"
	"context"

	"github.com/carillon-scheduler/carillon/schedule"
)

// patch does several things with one write of the definition, so that all of them are done or none. Triggers and backfills
// go into the definition for that; the generator makes records of them before it does anything else with this version, also
// when only the guard is left to wake it.
func (a *api) patch(ctx context.Context, namespace string, req *schedule.PatchRequest) (schedule.Description, error) {
	if err := checkTogether(req.Trigger != nil, len(req.Backfills)); err != nil {
		return schedule.Description{}, err
	}
	name := cmp.Or(req.RequestID, a.newID())
	def, err := a.change(ctx, change{
		key:       schedule.Key{Namespace: namespace, ID: req.ID},
		requestID: req.RequestID, token: req.ConflictToken,
		needsTimes:   req.Skip != nil,
		needsPending: req.Trigger != nil || len(req.Backfills) > 0,
		edit:         func(e *edit) error { return e.patch(req, name) },
	})
	if err != nil {
		return schedule.Description{}, err
	}
	return a.description(ctx, &def)
}

// patch makes all changes of a patch; name tells its triggers and backfills from those of other requests.
func (e *edit) patch(req *schedule.PatchRequest, name string) error {
	if req.Pause != nil {
		e.pause(*req.Pause)
	}
	if req.Unpause != nil {
		e.unpause(*req.Unpause)
	}
	if req.Unskip != nil {
		e.unskip(*req.Unskip)
	}
	if req.Skip != nil {
		if err := e.skip(*req.Skip); err != nil {
			return schedule.Prefix("skip", err)
		}
	}
	if req.Trigger == nil && len(req.Backfills) == 0 {
		return nil
	}
	return e.request(newRequests(e.next.Incarnation, name, req.Trigger, req.Backfills, e.from))
}

package frontend

import (
	"context"

	"github.com/carillon-scheduler/carillon/schedule"
)

// pause and unpause wake the generator alone: it stops or begins to hand over starts. The invoker reads the definition
// before it starts anything, and drops automated starts of a paused schedule then.

func (a *api) pause(ctx context.Context, namespace string, req *schedule.NoteRequest) (schedule.Empty, error) {
	return a.switchPaused(ctx, namespace, req, (*edit).pause)
}

func (a *api) unpause(ctx context.Context, namespace string, req *schedule.NoteRequest) (schedule.Empty, error) {
	return a.switchPaused(ctx, namespace, req, (*edit).unpause)
}

func (a *api) switchPaused(
	ctx context.Context, namespace string, req *schedule.NoteRequest, to func(*edit, schedule.Note),
) (schedule.Empty, error) {
	_, err := a.change(ctx, change{
		key: schedule.Key{Namespace: namespace, ID: req.ID}, requestID: req.RequestID,
		edit: func(e *edit) error {
			to(e, schedule.Note{Note: req.Note})
			return nil
		},
	})
	return schedule.Empty{}, err
}

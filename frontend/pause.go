package frontend

import (
	"context"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// pause and unpause wake the generator alone: it stops or begins to hand over starts. The invoker reads the definition
// before it starts anything, and drops automated starts of a paused schedule then.

func (a *api) pause(ctx context.Context, namespace string, req *schedule.NoteRequest) (schedule.Empty, error) {
	return a.switchPaused(ctx, namespace, req, true, schedule.ReasonPaused, schedule.EventPaused)
}

func (a *api) unpause(ctx context.Context, namespace string, req *schedule.NoteRequest) (schedule.Empty, error) {
	return a.switchPaused(ctx, namespace, req, false, schedule.ReasonUnpaused, schedule.EventUnpaused)
}

func (a *api) switchPaused(
	ctx context.Context, namespace string, req *schedule.NoteRequest,
	paused bool, reason schedule.Reason, kind schedule.EventKind,
) (schedule.Empty, error) {
	key := schedule.Key{Namespace: namespace, ID: req.ID}
	record, err := a.definition(ctx, key)
	if err != nil {
		return schedule.Empty{}, err
	}
	now := a.now()
	record, err = a.replace(ctx, record, func(ctx context.Context, current kv.Record[schedule.Definition]) error {
		next := setPaused(current.Value, paused, req.Note, now)
		_, err := kv.Put(ctx, a.store, kv.Definition(key), &next, current.Revision)
		return err
	})
	if err != nil {
		return schedule.Empty{}, err
	}
	def := setPaused(record.Value, paused, req.Note, now)
	a.follow(ctx, key,
		a.wakeGenerator(key, schedule.Wake{Incarnation: def.Incarnation, Version: def.Version, Reason: reason}),
		a.publishEvent(&def, kind, def.Version, req.Note),
	)
	return schedule.Empty{}, nil
}

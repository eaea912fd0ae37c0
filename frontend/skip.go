package frontend

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *api) skip(ctx context.Context, namespace string, req *schedule.SkipRequest) (schedule.SkipReply, error) {
	return a.changeSkips(ctx, change{
		key: schedule.Key{Namespace: namespace, ID: req.ID}, requestID: req.RequestID, needsTimes: true,
		edit: func(e *edit) error { return e.skip(req.Skip) },
	})
}

func (a *api) unskip(ctx context.Context, namespace string, req *schedule.UnskipRequest) (schedule.SkipReply, error) {
	return a.changeSkips(ctx, change{
		key: schedule.Key{Namespace: namespace, ID: req.ID}, requestID: req.RequestID,
		edit: func(e *edit) error {
			e.unskip(req.Unskip)
			return nil
		},
	})
}

// changeSkips answers with what is left to skip once the change is made. A time that has come due in the same moment, and
// that the generator has dealt with before it could see the change, is not among it.
func (a *api) changeSkips(ctx context.Context, c change) (schedule.SkipReply, error) {
	def, err := a.change(ctx, c)
	if err != nil {
		return schedule.SkipReply{}, err
	}
	reply := schedule.SkipReply{ID: c.key.ID, Skips: []time.Time{}}
	if len(def.Skips) == 0 {
		return reply, nil
	}
	generator, err := a.newestGenerator(ctx, c.key)
	if err != nil {
		return schedule.SkipReply{}, err
	}
	reply.Skips = append(reply.Skips, skipsToCome(&def, &generator)...)
	return reply, nil
}

package schedules

import (
	"context"
	"fmt"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// EndRun tells the invoker to end a run. Once this is stored it will happen: the invoker makes a control of it, and delivers that
// however many attempts it takes.
func (s *Service) EndRun(
	ctx context.Context, namespace string, kind schedule.ControlKind, req *schedule.EndRunRequest,
) (schedule.EndRunReply, error) {
	key := schedule.Key{Namespace: namespace, ID: req.ID}
	definition, err := s.newestDefinition(ctx, key)
	if schedule.CodeOf(err) == schedule.CodeNotFound {
		return s.endStray(ctx, key, kind, req, err)
	}
	if err != nil {
		return schedule.EndRunReply{}, err
	}
	invoker, err := kv.OrZero(kv.GetLeader(ctx, s.store, kv.Invoker(key)))
	if err != nil {
		return schedule.EndRunReply{}, err
	}
	run, err := runToEnd(&definition.Value, &invoker.Value, kind, req.Run)
	if schedule.CodeOf(err) == schedule.CodeNotFound {
		return s.endStray(ctx, key, kind, req, err)
	}
	if err != nil || run.Status != "" {
		return schedule.EndRunReply{Run: run}, err
	}
	return schedule.EndRunReply{Run: run}, task.Publish(ctx, s.bus, s.names.InvokeEnd(s.store.ShardOf(key), key, kind, run.RequestID),
		&wire.EndRun{
			Incarnation: definition.Value.Incarnation, Version: definition.Value.Version,
			Kind: kind, RequestID: run.RequestID, Reason: req.Reason, Identity: request.IdentityOf(ctx),
		})
}

// runToEnd finds the run that shall end. It looks in the invoker's record, which has all runs in progress and the last ones that
// ended. A run that has already ended in the wanted way is returned too, so that a request may be repeated. One that has ended
// otherwise is refused.
func runToEnd(
	def *wire.Definition, invoker *wire.InvokerState, kind schedule.ControlKind, name string,
) (schedule.Run, error) {
	trail := &runTrail{}
	if invoker.Incarnation == def.Incarnation {
		trail = newRunTrail(name, invoker.Runs())
	}
	if trail.own == nil {
		return schedule.Run{}, &schedule.Error{
			Code: schedule.CodeNotFound, Field: "run",
			Message: fmt.Sprintf("schedule %q has no run %q in progress", def.ID, name),
		}
	}
	run := *trail.own
	run.ScheduleID = def.ID
	return run, checkEnded(&run, kind, name)
}

// checkEnded refuses to end a run that has ended in another way.
func checkEnded(run *schedule.Run, kind schedule.ControlKind, name string) error {
	asWanted := run.Status == schedule.StatusTerminated || kind == schedule.ControlCancel && run.Status == schedule.StatusCanceled
	if run.Status == "" || asWanted {
		return nil
	}
	return &schedule.Error{
		Code: schedule.CodeFailedPrecondition, Field: "run",
		Message: fmt.Sprintf("%q has ended already, as %s", name, run.Status),
	}
}

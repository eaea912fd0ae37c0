package invoker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Departure is a run of a deleted schedule that the action stream may still have, with the decision about it.
type Departure struct {
	// Control names the run. Its kind is what a run that a worker has taken is asked for; empty if the run is left alone.
	Control wire.PendingControl
	// Withdraw says that the run is removed from its queue if no worker has taken it.
	Withdraw bool
	// Start is the start of the run. It is nil for an earlier run that the schedule has given up.
	Start *wire.BufferedStart
}

// Departures decides what becomes of the runs of a deleted schedule. It is a pure function. What a run was asked for before remains: a
// terminate stays, and a cancel stays unless the policy asks for more.
//
// A ready start counts as a run: a process may have published it and died before it recorded that.
func Departures(state *wire.InvokerState, policy schedule.RunsPolicy) []Departure {
	var all []Departure
	for i := range state.Starts {
		s := &state.Starts[i]
		if s.Phase != schedule.PhaseStarted && s.Phase != schedule.PhaseReady {
			continue
		}
		kind := policy.Ending()
		if kind == "" || s.Ending == schedule.ControlTerminate {
			kind = s.Ending
		}
		all = append(all, Departure{
			Control:  *controlOf(s, kind),
			Withdraw: kind != "" || policy != schedule.RunsLeave,
			Start:    s,
		})
	}
	for _, c := range state.Controls {
		if state.Start(c.RequestID) == nil {
			all = append(all, Departure{Control: c, Withdraw: true})
		}
	}
	return all
}

// depart carries out the decisions about the runs of a deleted schedule. It returns the events about the runs that are over as a result.
// The messages of the group may tell what the deletion said about them. Repeats are harmless: they find what remains.
func (p *Pool) depart(
	ctx context.Context, key schedule.Key, state *wire.InvokerState, group []loop.Message[Message],
) ([]schedule.Event, error) {
	if len(state.Starts) == 0 && len(state.Controls) == 0 {
		return nil, nil
	}
	policy, err := p.runsPolicy(ctx, key, state.Incarnation, group)
	if err != nil {
		return nil, err
	}
	all := Departures(state, policy.OrDefault())
	over := make([]bool, len(all))
	var ends errgroup.Group
	ends.SetLimit(startsAtOnce)
	for i := range all {
		ends.Go(func() (err error) {
			over[i], err = p.end(ctx, key, &all[i])
			return err
		})
	}
	err = ends.Wait()
	var events []schedule.Event
	for i := range all {
		// If the start was not known to have begun, another event says that it was given up.
		if start := all[i].Start; over[i] && start != nil && start.Phase == schedule.PhaseStarted {
			events = append(events, departed(key, state.Incarnation, start, policy.OrDefault(), p.config.Now()))
		}
	}
	return events, err
}

// runsPolicy returns what the deletion of an incarnation said about its runs. A message may tell. If none does, the store remembers it, also after
// another schedule has come in its place.
func (p *Pool) runsPolicy(
	ctx context.Context, key schedule.Key, incarnation string, group []loop.Message[Message],
) (schedule.RunsPolicy, error) {
	for i := range group {
		if wake := group[i].Body.Wake; wake != nil && wake.Incarnation == incarnation && wake.Runs != "" {
			return wake.Runs, nil
		}
	}
	last, err := kv.LastDeletion(ctx, p.config.Store, key)
	return last.RunsOf(incarnation), err
}

// departed returns the event that a run is over with its schedule. A repeat has the same ID.
func departed(
	key schedule.Key, incarnation string, s *wire.BufferedStart, policy schedule.RunsPolicy, now time.Time,
) schedule.Event {
	reason := "the schedule was deleted, which ends its runs by the policy " + string(policy)
	event := startEvent(schedule.EventCompleted, s, reason)
	event.ID = incarnation + "-departed-" + s.RequestID
	event.Time, event.Namespace, event.ScheduleID = now.UTC(), key.Namespace, key.ID
	event.Status, event.CloseTime = schedule.StatusTerminated, event.Time
	event.Failure = &schedule.Failure{Type: string(schedule.StatusTerminated), Message: reason}
	return event
}

// end ends one run that no record knows any more, as decided, and reports whether it is over now. If a run is not in the action stream, it
// is already over or was never published.
//
// A worker may take a run at the moment of its withdrawal. The run then continues, but if this worker dies, no other one gets it.
func (p *Pool) end(ctx context.Context, key schedule.Key, d *Departure) (over bool, err error) {
	c := &d.Control
	if c.ActionKind.IsWorkflow() {
		return p.endWorkflow(ctx, key, c)
	}
	sequence, err := p.find(ctx, key, c)
	if err != nil || sequence == 0 {
		return false, err
	}
	consumer := subjects.WorkerConsumerName(key.Namespace, c.TaskQueue)
	handedOut, err := p.config.Bus.Delivered(ctx, p.config.Names.ActionStream(), consumer)
	if err != nil {
		return false, fmt.Errorf("invoker: look at the workers of task queue %q: %w", c.TaskQueue, err)
	}
	queued := sequence > handedOut
	terminate := c.Kind == schedule.ControlTerminate
	if c.Kind != "" && (terminate || !queued) {
		if err := p.tell(ctx, key, c); err != nil {
			return false, err
		}
	}
	if !terminate && !(queued && d.Withdraw) {
		return false, nil
	}
	if err := p.config.Bus.Remove(ctx, p.config.Names.ActionStream(), sequence); err != nil {
		return false, err
	}
	return true, p.purgeTimeout(ctx, key, c.RequestID)
}

// find returns the sequence of a run in the action stream; 0 if it is not there.
func (p *Pool) find(ctx context.Context, key schedule.Key, c *wire.PendingControl) (uint64, error) {
	stored, err := p.queued(ctx, key.Namespace, c.TaskQueue, c.WorkflowID)
	switch {
	case errors.Is(err, bus.ErrNone):
		return 0, nil
	case err != nil:
		return 0, err
	case stored.Header.Get(jetstream.MsgIDHeader) != c.RequestID:
		return 0, nil
	}
	return stored.Sequence, nil
}

package generator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
)

// createdBy returns the message that reports the creation of a schedule, if it is the only message and brings the definition along.
func createdBy(group []loop.Message[wire.Wake]) *loop.Message[wire.Wake] {
	if len(group) != 1 || group[0].Held || group[0].Body.Created == nil {
		return nil
	}
	return &group[0]
}

// errBegun makes the next attempt ask the leader: the schedule already has a record, or the trace of one.
var errBegun = fmt.Errorf("%w: generator: the schedule is not new", kv.ErrUnconfirmed)

// begin makes the first transition of a schedule. It reads nothing first: the message brings the definition as it was created. The result
// done is false if that is not enough.
//
// It notices work of others when it inserts the record: the insert conflicts with another record, and with the trace of a record. A
// schedule that was deleted before it had a record has left such a trace, too. If the definition was changed meanwhile, that change has a
// wake of its own, which comes after the record. The transition hands over nothing, and stores no event.
func (p *Pool) begin(ctx context.Context, a *attempt) (holdUntil time.Time, done bool, err error) {
	d := a.created.Body.Created
	decision, err := p.decide(ctx, a, d, wire.GeneratorState{})
	if err != nil {
		return time.Time{}, false, err
	}
	if decision.HandOff != nil || decision.Close || len(decision.Requests) > 0 || len(decision.Events) > 0 {
		return time.Time{}, false, nil
	}
	holdUntil = p.holdUntil(decision)
	if holdUntil.IsZero() && !decision.WakeAt.IsZero() {
		if err := p.arm(ctx, a, d, decision); err != nil {
			return time.Time{}, false, err
		}
	}
	revision, err := kv.Insert(ctx, p.config.Store, kv.Generator(a.key), &decision.State)
	if errors.Is(err, kv.ErrConflict) {
		return time.Time{}, false, errBegun
	}
	if err == nil && p.config.Now().Sub(a.created.Stored) > kv.TraceAge {
		err = kv.StillThere(ctx, p.config.Store, d.Key(), d.Incarnation)
	}
	if err != nil {
		return time.Time{}, false, err
	}
	if !holdUntil.IsZero() {
		p.held.note(a.key, holdUntil)
	}
	p.records.Keep(a.key, kv.Record[wire.GeneratorState]{Value: decision.State, Revision: revision})
	return holdUntil, true, nil
}

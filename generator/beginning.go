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

// createdBy returns the message that a schedule has been created, if it is all that has come and brings the definition.
func createdBy(group []loop.Message[wire.Wake]) *loop.Message[wire.Wake] {
	if len(group) != 1 || group[0].Held || group[0].Body.Created == nil {
		return nil
	}
	return &group[0]
}

// errBegun asks the leader: the schedule has a record already, or a trace of one.
var errBegun = fmt.Errorf("%w: generator: the schedule is not new", kv.ErrUnconfirmed)

// begin makes the first transition of a schedule without a look at anything: by the definition as it was created. done is
// false where that is not enough.
//
// What has been done meanwhile shows when the record is inserted: it conflicts with another one, and with the trace of one,
// which is also what is left of a schedule that was deleted before it had any. A change of the definition that nobody has
// dealt with yet has a wake of its own, which comes after the record. Nothing is handed over, and nothing told.
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

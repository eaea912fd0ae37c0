package kv

import (
	"context"
	"errors"
	"time"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/wire"
)

// The operations that are told apart.
const (
	opGet       = "get"
	opGetLeader = "get_leader"
	opPut       = "put"
	opDelete    = "delete"
)

// stopwatch measures one operation on a record.
type stopwatch struct {
	operation string
	begin     time.Time
}

// begin starts to measure, if somebody collects that. It is not a clock of a simulation: a duration says how NATS is.
func begin(ctx context.Context, operation string) stopwatch {
	if !metrics.StateOperation.Enabled(ctx) {
		return stopwatch{}
	}
	return stopwatch{operation, time.Now()}
}

func (s stopwatch) end(ctx context.Context, err error) {
	if s.begin.IsZero() {
		return
	}
	metrics.StateOperation.RecordTime(ctx, time.Since(s.begin), s.operation, outcomeOf(err))
}

func outcomeOf(err error) string {
	switch {
	case err == nil:
		return metrics.OutcomeOK
	case errors.Is(err, ErrConflict):
		return metrics.OutcomeConflict
	case errors.Is(err, ErrNotFound):
		return metrics.OutcomeNotFound
	}
	return metrics.OutcomeError
}

// written counts what came of a write of a record, and its size; 0 for a record that was removed.
func written[T any](ctx context.Context, s stopwatch, size int, err error) {
	s.end(ctx, err)
	switch {
	case errors.Is(err, ErrConflict):
		metrics.StateConflicts.Add(ctx, 1, kindOf[T]())
	case err == nil && size > 0:
		metrics.StateRecordSize.Record(ctx, float64(size), kindOf[T]())
	}
}

// kindOf names the records of a type.
func kindOf[T any]() string {
	switch any((*T)(nil)).(type) {
	case *wire.Definition:
		return "definition"
	case *wire.GeneratorState:
		return "generator"
	case *wire.InvokerState:
		return "invoker"
	case *wire.BackfillState:
		return "backfill"
	case *wire.Result:
		return "result"
	case *wire.StartRate:
		return "rate"
	}
	return "other"
}

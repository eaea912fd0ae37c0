package kv

import (
	"context"
	"errors"
	"time"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/wire"
)

// The operations that the metrics distinguish.
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

// begin starts to measure if anybody collects the metric. It uses the real clock even in a simulation: the duration describes NATS.
func begin(ctx context.Context, operation string) stopwatch {
	if !metrics.StateOperation.Enabled(ctx) {
		return stopwatch{}
	}
	return stopwatch{operation, time.Now()} //permit:time.Now it measures NATS
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

// written counts the outcome of a write and the size of the record; the size is 0 for a removed record.
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

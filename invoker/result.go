package invoker

import (
	"context"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Fold brings the last result up to date with completions, in order (docs/semantics.md §7): a success replaces success and
// failure, a failure or time-out sets the failure and keeps the last success, any other ending changes nothing. It
// reports whether the record must be written. A completion older than what is recorded is passed over.
func Fold(result wire.Result, incarnation string, ended []schedule.Completion) (wire.Result, bool) {
	changed := false
	if result.Incarnation != incarnation {
		result = wire.Result{Incarnation: incarnation}
	}
	newest := result.CloseTime
	for _, c := range ended {
		if c.CloseTime.Before(newest) {
			continue
		}
		switch c.Status {
		case schedule.StatusCompleted:
			if len(c.Result) == 0 && len(result.Success) == 0 && result.Failure == nil {
				newest = c.CloseTime // nothing to write
				continue
			}
			result.Success, result.Failure = c.Result, nil
		case schedule.StatusFailed, schedule.StatusTimedOut:
			result.Failure = c.Failure
		default:
			continue
		}
		newest, result.CloseTime = c.CloseTime, c.CloseTime
		changed = true
	}
	return result, changed
}

// lastResult is what the next runs are told about the earlier ones, as a session has read it for the record of a revision.
type lastResult struct {
	wire.Result
	err      error
	known    bool
	revision uint64
}

// readAhead begins to read the last result for the starts of a new record while that is written, and returns what waits for it.
// Whoever writes a last result writes the record next, over the one that this session goes by. Of two such records one is stored,
// so what is read now is as true as what would be read afterwards.
func (s *session) readAhead(ctx context.Context, state *wire.InvokerState, now time.Time) (wait func() lastResult) {
	starts := state.HasResult && slices.ContainsFunc(state.Starts, func(b wire.BufferedStart) bool { return executable(&b, now) })
	if !starts {
		return func() lastResult { return lastResult{} }
	}
	read := make(chan lastResult, 1)
	go func() {
		result, err := s.readResult(ctx)
		read <- lastResult{Result: result, err: err, known: true}
	}()
	return func() lastResult { return <-read }
}

// lastResultFor returns what the runs of some work are told about the earlier ones.
func (s *session) lastResultFor(ctx context.Context, work Work) (wire.Result, error) {
	switch {
	case len(work.Starts) == 0 || !s.record.Value.HasResult:
		return wire.Result{}, nil
	case s.last.known && s.last.err == nil && s.last.revision == s.record.Revision:
		return s.last.Result, nil
	}
	return s.readResult(ctx)
}

// readResult reads the last result of the schedule; from the leader, since it may have been written a moment ago.
func (s *session) readResult(ctx context.Context) (wire.Result, error) {
	record, err := kv.OrZero(kv.GetLeader(ctx, s.config.Store, kv.Result(s.key)))
	if err != nil || record.Value.Incarnation != s.definition.Value.Incarnation {
		return wire.Result{}, err
	}
	return record.Value, nil
}

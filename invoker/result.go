package invoker

import (
	"context"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Fold updates the last result with completions, in order (docs/semantics.md §7):
//
//   - a success replaces success and failure;
//   - a failure or timeout sets the failure and keeps the last success;
//   - any other ending changes nothing.
//
// It ignores a completion that is older than the recorded one. It reports whether the record must be written.
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

// lastResult is what the next runs are told about earlier runs, as a session has read it for a revision of the record.
type lastResult struct {
	wire.Result
	err      error
	known    bool
	revision uint64
}

// readAhead begins to read the last result for the starts of a new record while the record is being written, and returns a function that
// waits for it. This is as correct as reading after the write: whoever writes a last result then writes the record over the same revision
// that this session uses, and only one of the two records is stored.
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

// lastResultFor returns what the runs of the given work are told about earlier runs.
func (s *session) lastResultFor(ctx context.Context, work Work) (wire.Result, error) {
	switch {
	case len(work.Starts) == 0 || !s.record.Value.HasResult:
		return wire.Result{}, nil
	case s.last.known && s.last.err == nil && s.last.revision == s.record.Revision:
		return s.last.Result, nil
	}
	return s.readResult(ctx)
}

// readResult reads the last result of the schedule. It asks the leader, because the result may have been written a moment ago.
func (s *session) readResult(ctx context.Context) (wire.Result, error) {
	record, err := kv.OrZero(kv.GetLeader(ctx, s.config.Store, kv.Result(s.key)))
	if err != nil || record.Value.Incarnation != s.definition.Value.Incarnation {
		return wire.Result{}, err
	}
	return record.Value, nil
}

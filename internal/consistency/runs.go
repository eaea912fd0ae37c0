package consistency

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// maxQuestions is for how many runs of one schedule the reader asks the workers at once. A question without an answer takes
// seconds.
const maxQuestions = 256

// runs finds out where the runs are that count as running.
//
// The order matters:
//
//   - A worker has a run until it has reported, and acknowledges its request only then.
//   - A completion stays in the task stream until the invoker has recorded it.
//   - A message that cannot be processed goes to the dead letters before it leaves its stream.
//
// So runs asks the worker first, then looks for the completion, then among the dead letters, and then reads the record again. In
// this order it cannot miss a run that moves on meanwhile. For executions of workflows, history stands in the place of the worker.
func (r *reader) runs(ctx context.Context, shard int, s *Snapshot) error {
	s.Runs = map[string]Run{}
	if !s.Invoker.legible() || !s.Definition.legible() || s.Invoker.Value.Incarnation != s.Definition.Value.Incarnation {
		return nil
	}
	var running []*wire.BufferedStart
	for i := range s.Invoker.Value.Starts {
		if start := &s.Invoker.Value.Starts[i]; start.Running() {
			running = append(running, start)
		}
	}
	runs, executions := split(running)
	missing, err := r.missingRuns(ctx, shard, s, runs)
	if err != nil {
		return err
	}
	over, err := r.missingExecutions(ctx, shard, s, executions)
	if missing = append(missing, over...); err != nil || len(missing) == 0 {
		return err
	}
	if err := r.deadRuns(ctx, shard, s, missing); err != nil {
		return err
	}
	return read(ctx, r.buckets.GetLeader, s.Bucket, kv.Invoker(s.Key).String(), &s.Invoker)
}

// missingRuns returns the runs that neither a stream nor a worker has, and marks the others as known.
func (r *reader) missingRuns(
	ctx context.Context, shard int, s *Snapshot, runs []*wire.BufferedStart,
) (missing []*wire.BufferedStart, err error) {
	if missing, err = r.missing(ctx, shard, s, runs); err != nil || len(missing) == 0 {
		return nil, err
	}
	if missing, err = r.withoutWorker(ctx, s, missing); err != nil {
		return nil, err
	}
	return r.missing(ctx, shard, s, missing)
}

// missing returns the runs that no stream has, and marks the others as known.
func (r *reader) missing(
	ctx context.Context, shard int, s *Snapshot, starts []*wire.BufferedStart,
) (missing []*wire.BufferedStart, err error) {
	for _, start := range starts {
		known, err := r.known(ctx, shard, s.Key, start)
		if err != nil {
			return nil, err
		}
		s.Runs[start.RequestID] = Run{Known: known}
		if !known {
			missing = append(missing, start)
		}
	}
	return missing, nil
}

// withoutWorker returns the runs that no worker says it has, and marks the others as known.
func (r *reader) withoutWorker(
	ctx context.Context, s *Snapshot, starts []*wire.BufferedStart,
) (missing []*wire.BufferedStart, err error) {
	has := make([]bool, len(starts))
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(maxQuestions)
	for i, start := range starts {
		group.Go(func() (err error) {
			_, has[i], err = AskWorkers(asking, r.streams, r.names, s.Key.Namespace, start.TaskQueue, start.RunID)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err() // the workers had no time to answer
	}
	for i, start := range starts {
		s.Runs[start.RequestID] = Run{Known: has[i]}
		if !has[i] {
			missing = append(missing, start)
		}
	}
	return missing, nil
}

// known looks for a run in its queue, then for its completion.
func (r *reader) known(ctx context.Context, shard int, key schedule.Key, start *wire.BufferedStart) (bool, error) {
	subject := r.names.Action(key.Namespace, start.TaskQueue, start.WorkflowID)
	stored, err := r.bus.Last(ctx, r.names.ActionStream(), subject)
	switch {
	case err == nil && stored.Header.Get(nats.MsgIdHdr) == start.RequestID:
		return true, nil
	case err != nil && !errors.Is(err, bus.ErrNone):
		return false, err
	}
	for _, at := range []struct{ stream, subject string }{
		{r.names.CallbackStream(shard), r.names.Callback(shard, key, start.TaskQueue, start.RequestID)},
		{r.names.TaskStream(shard), r.names.Timeout(shard, key, start.RequestID)},
	} {
		_, err := r.bus.Last(ctx, at.stream, at.subject)
		if !errors.Is(err, bus.ErrNone) {
			return err == nil, err
		}
	}
	return false, nil
}

// deadRuns looks for the completions and requests of runs among the dead letters.
func (r *reader) deadRuns(ctx context.Context, shard int, s *Snapshot, missing []*wire.BufferedStart) error {
	letters, err := r.letters.List(ctx, deadletter.Filter{})
	if err != nil {
		return err
	}
	for _, start := range missing {
		callback := r.names.Callback(shard, s.Key, start.TaskQueue, start.RequestID)
		request := r.names.Action(s.Key.Namespace, start.TaskQueue, start.WorkflowID)
		run := s.Runs[start.RequestID]
		for i := range letters {
			if letters[i].Foreign {
				continue // from another sender, and forged
			}
			switch letters[i].Origin.Subject {
			case callback:
				run.Callback = letters[i].Number
			case request:
				is, err := r.isRequestOf(ctx, letters[i].Number, start)
				if err != nil {
					return err
				}
				if is {
					run.Request = letters[i].Number
				}
			}
		}
		s.Runs[start.RequestID] = run
	}
	return nil
}

// isRequestOf reports whether a letter about a workflow ID is about one run of it. A letter that does not name its run is about
// this run if it has come since the run began.
func (r *reader) isRequestOf(ctx context.Context, letter deadletter.Number, start *wire.BufferedStart) (bool, error) {
	message, err := r.letters.Get(ctx, letter)
	if schedule.CodeOf(err) == schedule.CodeNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var request struct {
		RequestID string `json:"requestId"`
	}
	if json.Unmarshal(message.Data, &request) != nil || request.RequestID == "" {
		return message.Time.After(start.StartTime), nil
	}
	return request.RequestID == start.RequestID, nil
}

// Package builtin holds the actions every Carillon worker offers, so that a schedule can be tried out, and a pipeline
// padded, without writing code:
//
//   - "noop" returns its input as its result;
//   - "sleep" waits as long as its input says, "90s" or {"duration": "90s"}, or until the run is canceled;
//   - "log" logs its input.
//
// An input that does not fit ends the run as failed, of type [worker.TypeInvalidInput], and is not retried.
package builtin

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// The names of the built-in action types.
const (
	Noop  = "noop"
	Sleep = "sleep"
	Log   = "log"
)

// Register adds the built-in actions to a worker. The log action writes to the given logger; nil means slog.Default().
// It panics if one of the names is taken, as [worker.Worker.Register] does.
func Register(w *worker.Worker, logger *slog.Logger) {
	if logger == nil {
		logger = slog.Default()
	}
	w.Register(Noop, noop)
	w.Register(Sleep, sleep)
	w.Register(Log, logAction(logger))
}

func noop(_ context.Context, run *worker.Run) (any, error) {
	if len(run.Input) == 0 {
		return nil, nil
	}
	return run.Input, nil
}

func sleep(ctx context.Context, run *worker.Run) (any, error) {
	d, err := parseSleep(run.Input)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// parseSleep reads "90s" or {"duration": "90s"}.
func parseSleep(input json.RawMessage) (time.Duration, error) {
	const hint = `sleep needs an input such as "90s" or {"duration": "90s"}`
	if len(input) == 0 {
		return 0, worker.InvalidInput(hint)
	}
	var object struct {
		Duration *schedule.Duration `json:"duration"`
	}
	var err error
	if input[0] == '"' {
		err = json.Unmarshal(input, &object.Duration)
	} else {
		err = json.Unmarshal(input, &object)
	}
	switch {
	case err != nil:
		return 0, worker.InvalidInput("%s: %v", hint, err)
	case object.Duration == nil:
		return 0, worker.InvalidInput(hint)
	case *object.Duration < 0:
		return 0, worker.InvalidInput("%s, not less than zero", hint)
	}
	return object.Duration.Std(), nil
}

func logAction(logger *slog.Logger) worker.Handler {
	return func(ctx context.Context, run *worker.Run) (any, error) {
		logger.InfoContext(ctx, "log action",
			"namespace", run.Namespace, "schedule_id", run.ScheduleID, "workflow_id", run.WorkflowID,
			"nominal_time", run.NominalTime, "input", string(run.Input))
		return nil, nil
	}
}

package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

func noop(_ context.Context, run *worker.Run) (any, error) {
	if len(run.Input) == 0 {
		return nil, nil
	}
	return run.Input, nil
}

func sleepHandler(ctx context.Context, run *worker.Run) (any, error) {
	d, err := parseSleep(run.Input)
	if err != nil {
		return nil, err
	}
	if sleep.For(ctx, d) != nil {
		return nil, context.Cause(ctx)
	}
	return nil, nil
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
	var wrongType *json.UnmarshalTypeError
	if input[0] == '"' {
		err = json.Unmarshal(input, &object.Duration)
	} else {
		err = json.Unmarshal(input, &object)
	}
	switch {
	case errors.As(err, &wrongType):
		return 0, worker.InvalidInput(hint)
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

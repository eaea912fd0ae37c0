package workertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Result is what becomes of a run.
type Result struct {
	// Status is how the run ends. It is empty if the worker reports nothing: the run was terminated, or goes to another worker because this
	// one stops.
	Status schedule.Status
	// Output is the result as JSON if the run completes; nil if there is none.
	Output json.RawMessage
	// Failure is set if the run ends otherwise.
	Failure *schedule.Failure
	// Attempts are all attempts, in order.
	Attempts []Attempt
}

// Attempt is one call of the handler, or stands for it if the run ends before the call.
type Attempt struct {
	// Number counts the attempts of the run, from 1.
	Number int
	// Heartbeats are the details of each heartbeat, as JSON; nil for a heartbeat without details.
	Heartbeats []json.RawMessage
	// Failure is how the attempt ended; nil if it succeeded, or if the run was terminated or given back.
	Failure *schedule.Failure
	// Delay is how long the worker would have waited before the next attempt. It is zero for the last attempt.
	Delay time.Duration
}

// Decode decodes the output into a value. It returns an error if the run has not completed or has no output.
func (r Result) Decode(into any) error {
	switch {
	case r.Status != schedule.StatusCompleted:
		return fmt.Errorf("the run has not completed but %s", r.ending())
	case len(r.Output) == 0:
		return errors.New("the run has no output")
	}
	return json.Unmarshal(r.Output, into)
}

func (r Result) ending() string {
	switch {
	case r.Status == "":
		return "was terminated or given back"
	case r.Failure == nil:
		return string(r.Status)
	}
	return fmt.Sprintf("%s: %s (%s)", r.Status, r.Failure.Message, r.Failure.Type)
}

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
	// Status is how the run ends. It is empty where the worker reports nothing: the run was terminated, or goes to another
	// worker since this one stops.
	Status schedule.Status
	// Output is the result as JSON, if the run completes; nil if there is none.
	Output json.RawMessage
	// Failure is set where the run ends otherwise.
	Failure *schedule.Failure
	// Attempts are all that were made, in order.
	Attempts []Attempt
}

// Attempt is one call of the handler, or what stands for it where the run ends before.
type Attempt struct {
	// Number counts the attempts of the run, from 1.
	Number int
	// Heartbeats are the details of each heartbeat, as JSON; nil for one without.
	Heartbeats []json.RawMessage
	// Failure is how it ended; nil if it succeeded, or the run was terminated or given back.
	Failure *schedule.Failure
	// Delay is how long the worker would have waited before the next attempt. Zero for the last.
	Delay time.Duration
}

// Decode reads the output into a value. It is an error if the run has not completed, or has no output.
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

package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/schedule"
)

// updateFlags are the flags of schedule update: those of create that are about the schedule itself.
type updateFlags struct{ createFlags }

// whenFlags are the flags that replace all times of a spec together.
var whenFlags = []string{"every", "cron", "calendar", "at"}

// updateFile is what a file may hold: the request of update, or the answer of describe, which has more.
type updateFile struct {
	schedule.UpdateRequest
	Namespace string          `json:"namespace,omitempty"`
	Info      json.RawMessage `json:"info,omitempty"`
}

func (f *updateFlags) define(cmd *cobra.Command) {
	f.defineSchedule(cmd, "pause it, or with --paused=false let it go on")
	f.defineFile(cmd, ", which replaces all of it")
}

// over returns what the flags make of the schedule there is.
func (f *updateFlags) over(cmd *cobra.Command, current schedule.Schedule) (schedule.Schedule, error) {
	if anyChanged(cmd.Flags(), whenFlags) {
		spec := &current.Spec
		spec.Intervals, spec.Cron, spec.Calendars, spec.StructuredCalendars, spec.At = nil, nil, nil, nil, nil
	}
	f.request.Schedule = current
	err := f.fill(cmd.Flags())
	return f.request.Schedule, err
}

// fromFile returns the request of a file, with what flags replace in it.
func (f *updateFlags) fromFile(cmd *cobra.Command, namespace, id string) (schedule.UpdateRequest, error) {
	var file updateFile
	if err := f.readFile(&file); err != nil {
		return schedule.UpdateRequest{}, err
	}
	if file.Namespace != "" && file.Namespace != namespace {
		return schedule.UpdateRequest{}, usagef("--file %s: it is about namespace %s: say --namespace %s if that is meant",
			f.file, file.Namespace, file.Namespace)
	}
	request := file.UpdateRequest
	if id != "" {
		request.ID = id
	}
	f.request.Schedule = request.Schedule
	err := f.fill(cmd.Flags())
	request.Schedule = f.request.Schedule
	return request, err
}

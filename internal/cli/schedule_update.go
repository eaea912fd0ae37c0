package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) updateCommand() *cobra.Command {
	flags := updateFlags{createFlags{env: a.env}}
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "update ID [flags]",
		Short: "Change parts of a schedule, or replace it by a file",
		Long: `Changes what the flags name and leaves the rest of a schedule as it is. Flags that
say when it is due replace all times together: intervals, crontab expressions,
calendars and one-off times. With --file the whole schedule is replaced; a file
that bears a conflictToken, as the answer of describe does, is refused if the
schedule has been changed since. What no flag can take away, "carillon schedule
edit" can.`,
		Example: `  carillon schedule update report --cron "0 8 * * mon-fri"
  carillon schedule update report --input @input.json --run-timeout 10m
  carillon schedule update report --file schedule.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if flags.file != "" && len(args) == 0 {
				return nil // the file may name it
			}
			return exactly("ID")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.file == "" {
				return a.changeSchedule(cmd, output, args[0], &flags)
			}
			request, err := flags.fromFile(cmd, a.global.namespace, append(args, "")[0])
			if err != nil {
				return err
			}
			return a.replaceSchedule(cmd.Context(), output, request)
		},
	}
	flags.define(cmd)
	output.define(cmd)
	return cmd
}

// replaceSchedule replaces a stored schedule with the one in a file.
func (a *app) replaceSchedule(ctx context.Context, output outputFlag, request schedule.UpdateRequest) error {
	if err := request.Validate(); err != nil {
		return err
	}
	return a.callAPI(ctx, request.ID, func(ctx context.Context, api *client.Client) error {
		updated, err := api.Update(ctx, request)
		if err != nil {
			return err
		}
		return a.printPlanned(output, "updated", updated)
	})
}

// maxUpdates is how often a change by flags is attempted if others change the schedule at the same time.
const maxUpdates = 2

// changeSchedule changes the fields that the flags name. If somebody else has changed the schedule in the meantime, it reads the schedule
// again and repeats the change. The other change survives, except in the fields that the flags name, which are this user's to set.
func (a *app) changeSchedule(cmd *cobra.Command, output outputFlag, id string, flags *updateFlags) error {
	if !flags.given() {
		return withHint(usagef("nothing to change: give a flag, or --file"),
			"carillon schedule edit %s opens the schedule in an editor", id)
	}
	return a.callAPI(cmd.Context(), id, func(ctx context.Context, api *client.Client) error {
		for attempt := 1; ; attempt++ {
			updated, err := changeOnce(ctx, api, cmd, id, flags)
			if fieldOf(err) == fieldToken && attempt < maxUpdates {
				continue
			}
			if err != nil {
				return err
			}
			return a.printPlanned(output, "updated", updated)
		}
	})
}

func changeOnce(
	ctx context.Context, api *client.Client, cmd *cobra.Command, id string, flags *updateFlags,
) (schedule.Description, error) {
	current, err := api.Describe(ctx, id)
	if err != nil {
		return schedule.Description{}, err
	}
	request := schedule.UpdateRequest{ID: id, ConflictToken: current.ConflictToken}
	if request.Schedule, err = flags.over(cmd, current.Schedule); err != nil {
		return schedule.Description{}, err
	}
	if err := request.Validate(); err != nil {
		return schedule.Description{}, err
	}
	return api.Update(ctx, request)
}

// updateFlags are the flags of schedule update: the flags of create that describe the schedule itself.
type updateFlags struct{ createFlags }

// whenFlags are the flags that together replace all times of a spec.
var whenFlags = []string{"every", "cron", "calendar", "at"}

// updateFile is what a file may hold: the request of update, or the answer of describe, which has more fields.
type updateFile struct {
	schedule.UpdateRequest
	Namespace string          `json:"namespace,omitempty"`
	Info      json.RawMessage `json:"info,omitempty"`
}

func (f *updateFlags) define(cmd *cobra.Command) {
	f.defineSchedule(cmd, "pause it, or with --paused=false let it go on")
	f.defineFile(cmd, ", which replaces all of it")
}

// over returns the stored schedule with the changes that the flags ask for.
func (f *updateFlags) over(cmd *cobra.Command, current schedule.Schedule) (schedule.Schedule, error) {
	if anyChanged(cmd.Flags(), whenFlags) {
		spec := &current.Spec
		spec.Intervals, spec.Cron, spec.Calendars, spec.StructuredCalendars, spec.At = nil, nil, nil, nil, nil
	}
	f.request.Schedule = current
	err := f.fill(cmd.Flags())
	return f.request.Schedule, err
}

// fromFile returns the request in a file, with the changes that the flags ask for.
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

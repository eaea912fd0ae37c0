package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// namedCalendarFlags are the flags that say what a calendar holds.
type namedCalendarFlags struct {
	env      Env
	file     string
	calendar schedule.NamedCalendar
	binder
}

// calendarFile is what a file may hold: the request of create or update, or the answer of describe, which has more fields.
type calendarFile struct {
	schedule.UpdateCalendarRequest
	Namespace string          `json:"namespace,omitempty"`
	Info      json.RawMessage `json:"info,omitempty"`
}

func (f *namedCalendarFlags) define(cmd *cobra.Command) {
	addFlags(cmd, "What it holds", func(flags *pflag.FlagSet) {
		f.flags = flags
		repeated(&f.binder, "date", "`DATE` to leave out, 2026-12-25, or 2026-12-24/2026-12-26 for several; repeatable",
			&f.calendar.Dates, func(s string) (schedule.DateRange, error) { return schedule.DateRange(s), nil })
		repeated(&f.binder, "window", "stretch of time to leave out, `FROM/TO` in RFC 3339, the latter not included; repeatable",
			&f.calendar.Windows, parseBlackout)
	})
	addFlags(cmd, "From a file", func(flags *pflag.FlagSet) {
		flags.StringVarP(&f.file, "file", "f", "",
			"YAML or JSON `FILE` with dates and windows, - for standard input; other flags replace what it sets")
	})
}

// request returns the calendar that a command line asks for, given what the calendar holds now.
func (f *namedCalendarFlags) request(namespace, name string, current schedule.NamedCalendar) (
	request schedule.UpdateCalendarRequest, err error,
) {
	f.calendar = current
	if f.file != "" {
		file, err := f.read(namespace)
		if err != nil {
			return request, err
		}
		f.calendar, request.ConflictToken = file.NamedCalendar, file.ConflictToken
	}
	if err := f.apply(); err != nil {
		return request, err
	}
	request.NamedCalendar = f.calendar
	if name != "" {
		request.Name = name
	}
	return request, request.Validate()
}

func (f *namedCalendarFlags) read(namespace string) (file calendarFile, err error) {
	data, err := f.env.readInput(f.file)
	if err == nil {
		err = apitext.DecodeYAML(data, &file)
	}
	if err != nil {
		return file, usagef("--file %s: %w", f.file, err)
	}
	if file.Namespace != "" && file.Namespace != namespace {
		return file, usagef("--file %s: it is about namespace %s: say --namespace %s if that is meant",
			f.file, file.Namespace, file.Namespace)
	}
	return file, nil
}

// named checks the arguments. The name may be missing if there is a file, which can hold it.
func (f *namedCalendarFlags) named(cmd *cobra.Command, args []string) error {
	if f.file != "" && len(args) == 0 {
		return nil
	}
	return exactly("NAME")(cmd, args)
}

func (a *app) calendarCreateCommand() *cobra.Command {
	flags := namedCalendarFlags{env: a.env}
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "create NAME [flags]",
		Short: "Create a calendar",
		Example: `  carillon calendar create germany --date 2026-12-25/2026-12-26 --date 2027-01-01
  carillon calendar create freeze --window 2026-12-23T18:00:00Z/2027-01-04T06:00:00Z
  carillon calendar create --file germany.yaml`,
		Args: flags.named,
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := flags.request(a.global.namespace, append(args, "")[0], schedule.NamedCalendar{})
			if err != nil {
				return err
			}
			return a.callCalendars(cmd.Context(), request.Name, func(ctx context.Context, api *client.Client) error {
				created, err := api.CreateCalendar(ctx, schedule.CreateCalendarRequest{NamedCalendar: request.NamedCalendar})
				if err != nil {
					return err
				}
				return a.printCalendarDone(output, "created", created)
			})
		},
	}
	flags.define(cmd)
	output.define(cmd)
	return cmd
}

func (a *app) calendarUpdateCommand() *cobra.Command {
	flags := namedCalendarFlags{env: a.env}
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "update NAME [flags]",
		Short: "Change what a calendar holds, for all schedules that use it",
		Long: `Replaces the dates of a calendar by those of --date, and the windows by those of
--window; what is not given stays as it is. With --file all of it is replaced; a
file that bears a conflictToken, as the answer of describe does, is refused if the
calendar has been changed since. The schedules that use the calendar are planned
anew in the background; "carillon calendar describe" shows how far that has come.`,
		Example: `  carillon calendar update germany --date 2026-12-25/2026-12-26 --date 2027-01-01
  carillon calendar describe germany -o yaml > germany.yaml
  carillon calendar update --file germany.yaml`,
		Args: flags.named,
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.file == "" && !flags.given() {
				return usagef("nothing to change: give --date, --window or --file")
			}
			return a.callCalendars(cmd.Context(), append(args, "")[0], func(ctx context.Context, api *client.Client) error {
				updated, err := a.updateCalendar(ctx, api, &flags, append(args, "")[0])
				if err != nil {
					return err
				}
				return a.printCalendarDone(output, "updated", updated)
			})
		},
	}
	flags.define(cmd)
	output.define(cmd)
	return cmd
}

// updateCalendar changes what the flags name in the stored calendar, or replaces the calendar with a file.
func (a *app) updateCalendar(
	ctx context.Context, api *client.Client, flags *namedCalendarFlags, name string,
) (schedule.CalendarDescription, error) {
	var current schedule.CalendarDescription
	if flags.file == "" {
		var err error
		if current, err = api.DescribeCalendar(ctx, name); err != nil {
			return current, err
		}
	}
	request, err := flags.request(a.global.namespace, name, current.NamedCalendar)
	if err != nil {
		return current, err
	}
	if flags.file == "" {
		request.ConflictToken = current.ConflictToken
	}
	return api.UpdateCalendar(ctx, request)
}

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/ical"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	defaultImportYears = 5
	maxImportYears     = 20
)

// calendarImportFlags are the flags of calendar import.
type calendarImportFlags struct {
	name, zone string
	years      int
	dryRun     bool
}

func (a *app) calendarImportCommand() *cobra.Command {
	flags := calendarImportFlags{years: defaultImportYears}
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "import FILE [flags]",
		Short: "Make a calendar of an iCalendar file, or bring one up to date",
		Long: `Makes a calendar of an iCalendar file (.ics), or replaces what one holds. Events of
whole days become dates, others stretches of time; cancelled ones are left out.
Events that repeat are followed from the beginning of this year on, for --years
years: import the file again now and then. A file that says the same changes
nothing.`,
		Example: `  carillon calendar import holidays.ics --name germany --dry-run
  curl -s https://example.org/freezes.ics | carillon calendar import - --name freezes --zone Europe/Berlin`,
		Args: exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			calendar, err := a.readICal(args[0], &flags)
			if err != nil {
				return err
			}
			return a.callCalendars(cmd.Context(), flags.name, func(ctx context.Context, api *client.Client) error {
				return a.importCalendar(ctx, api, output, calendar, flags.dryRun)
			})
		},
	}
	addFlags(cmd, otherGroup, func(f *pflag.FlagSet) {
		f.StringVar(&flags.name, "name", "", "`NAME` of the calendar")
		f.StringVar(&flags.zone, "zone", "", "IANA `ZONE` of times that have none in the file, such as Europe/Berlin")
		f.IntVar(&flags.years, "years", flags.years, "read `N` years, this one included, at most 20")
		f.BoolVar(&flags.dryRun, "dry-run", false, "show what would be done, and do nothing")
	})
	output.define(cmd)
	return cmd
}

// readICal reads the calendar that a file holds.
func (a *app) readICal(path string, flags *calendarImportFlags) (calendar schedule.NamedCalendar, err error) {
	if flags.years < 1 || flags.years > maxImportYears {
		return calendar, usagef("--years: %d is out of range: use 1 to %d", flags.years, maxImportYears)
	}
	if err := schedule.ValidateID("name", flags.name); err != nil {
		return calendar, usagef("--name: %w", err)
	}
	from := time.Date(a.env.Now().UTC().Year(), time.January, 1, 0, 0, 0, 0, time.UTC)
	options := ical.Options{From: from, To: from.AddDate(flags.years, 0, 0)}
	if flags.zone != "" {
		if options.Zone, err = (schedule.Spec{TimeZone: flags.zone}).Location(); err != nil {
			return calendar, usagef("--zone: %w", err)
		}
	}
	data, err := a.env.readInput(path)
	if err != nil {
		return calendar, usagef("%s: %w", path, err)
	}
	contents, err := ical.Read(bytes.NewReader(data), options)
	if err != nil {
		return calendar, usagef("%s: %w", path, err)
	}
	return schedule.NamedCalendar{Name: flags.name, Dates: contents.Dates, Windows: contents.Windows}, nil
}

// importCalendar creates or updates a calendar, or only shows what it would do.
func (a *app) importCalendar(
	ctx context.Context, api *client.Client, output outputFlag, calendar schedule.NamedCalendar, dryRun bool,
) error {
	current, err := api.DescribeCalendar(ctx, calendar.Name)
	exists := err == nil
	switch {
	case err != nil && (schedule.CodeOf(err) != schedule.CodeNotFound || fieldOf(err) == "namespace"):
		return err
	case dryRun:
		return a.print(output, calendar, func(w io.Writer) error {
			return render.CalendarChange(w, exists, current.NamedCalendar, calendar)
		})
	case !exists:
		created, err := api.CreateCalendar(ctx, schedule.CreateCalendarRequest{NamedCalendar: calendar})
		if err != nil {
			return err
		}
		return a.printCalendarDone(output, "created", created)
	case current.SameEntries(calendar):
		return a.print(output, current, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "calendar %s is up to date\n", calendar.Name)
			return err
		})
	}
	updated, err := api.UpdateCalendar(ctx, schedule.UpdateCalendarRequest{
		NamedCalendar: calendar, ConflictToken: current.ConflictToken,
	})
	if err != nil {
		return err
	}
	return a.printCalendarDone(output, "updated", updated)
}

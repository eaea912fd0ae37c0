package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) calendarCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "calendar",
		Short: "Keep the dates that many schedules leave out, such as holidays",
		Long: `Keeps named calendars: dates and stretches of time that schedules of a namespace
leave out, such as holidays and freezes. A schedule names the calendars it uses
(--exclude-calendar-named); when one changes, all of them are planned anew.
docs/calendars.md says more.`,
		Example: `  carillon calendar create germany --date 2026-12-25/2026-12-26 --date 2027-01-01
  carillon calendar import holidays.ics --name germany
  carillon schedule create report --cron "0 9 * * mon-fri" --type report \
      --exclude-calendar-named germany`,
	}
	makeParent(cmd)
	update, describe, remove := a.calendarUpdateCommand(), a.calendarDescribeCommand(), a.calendarDeleteCommand()
	for _, one := range []*cobra.Command{update, describe, remove} {
		one.ValidArgsFunction = a.calendarsFor
	}
	cmd.AddCommand(a.calendarCreateCommand(), update, describe, a.calendarListCommand(), remove, a.calendarImportCommand())
	return cmd
}

// calendarsFor lets the shell complete the name of a calendar. It is idsFor for calendars.
func (a *app) calendarsFor(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if a.applySettings(cmd, args) != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	var names []string
	err := a.callCalendars(ctx, "", func(ctx context.Context, api *client.Client) error {
		page, err := api.ListCalendars(ctx, schedule.ListRequest{PageSize: completions, Prefix: typed})
		for _, c := range page.Calendars {
			names = append(names, c.Name+"\t"+render.CalendarSize(c.Dates, c.Windows))
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// callCalendars connects to NATS, makes a call about a calendar and closes the connection.
func (a *app) callCalendars(ctx context.Context, name string, call func(context.Context, *client.Client) error) error {
	conn, err := a.connectClient()
	if err != nil {
		return err
	}
	defer conn.Close()
	api, err := a.newClient(conn)
	if err != nil {
		return err
	}
	return a.explainCalendar(name, call(ctx, api))
}

// explainCalendar adds to an API error a hint at what to do.
func (a *app) explainCalendar(name string, err error) error {
	code, field := schedule.CodeOf(err), fieldOf(err)
	switch {
	case code == schedule.CodeNotFound && field == "namespace":
		return withHint(err, "carillon namespace list shows the namespaces")
	case code == schedule.CodeNotFound:
		return withHint(err, "carillon calendar list shows the calendars of namespace %s; --namespace chooses another",
			a.global.namespace)
	case code == schedule.CodeAlreadyExists:
		return withHint(err, "look at it with: carillon calendar describe %s; or change it with: carillon calendar update", name)
	case field == fieldToken:
		return withHint(err, "look at it with: carillon calendar describe %s", name)
	}
	return err
}

// printCalendarDone says what was done to a calendar.
func (a *app) printCalendarDone(output outputFlag, done string, d schedule.CalendarDescription) error {
	return a.print(output, d, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s calendar %s: %s\n", done, d.Name, render.CalendarSize(len(d.Dates), len(d.Windows)))
		return err
	})
}

func (a *app) calendarDescribeCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "describe NAME [flags]",
		Short: "Show a calendar, and how far its last change has come",
		Example: `  carillon calendar describe germany
  carillon calendar describe germany -o json | jq .info.replan`,
		Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.callCalendars(cmd.Context(), args[0], func(ctx context.Context, api *client.Client) error {
				d, err := api.DescribeCalendar(ctx, args[0])
				if err != nil {
					return err
				}
				return a.print(output, d, func(w io.Writer) error { return render.Calendar(w, &d, a.view()) })
			})
		},
	}
	output.define(cmd)
	return cmd
}

func (a *app) calendarListCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:     "list [flags]",
		Short:   "List the calendars of a namespace by name",
		Example: "  carillon calendar list",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.callCalendars(cmd.Context(), "", func(ctx context.Context, api *client.Client) error {
				name := func(c *schedule.CalendarSummary) string { return c.Name }
				return printAll(a, output, api.AllCalendars(ctx, ""), name, render.Calendars)
			})
		},
	}
	output.defineList(cmd)
	return cmd
}

func (a *app) calendarDeleteCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:     "delete NAME [flags]",
		Short:   "Delete a calendar that no schedule uses",
		Example: "  carillon calendar delete germany",
		Args:    exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.callCalendars(cmd.Context(), args[0], func(ctx context.Context, api *client.Client) error {
				if err := api.DeleteCalendar(ctx, args[0]); err != nil {
					return err
				}
				return a.print(output, schedule.Empty{}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "deleted calendar %s\n", args[0])
					return err
				})
			})
		},
	}
	output.define(cmd)
	return cmd
}

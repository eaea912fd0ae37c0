package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/audit"
	"github.com/carillon-scheduler/carillon/schedule"
)

// errAudit ends an audit that has found something. The output says what.
var errAudit = errors.New("not everything is explained")

type auditFlags struct {
	all      bool
	from, to time.Time
	binder
}

func (a *app) auditCommand() *cobra.Command {
	var output outputFlag
	var flags auditFlags
	cmd := &cobra.Command{
		Use:   "audit ID|--all [flags]",
		Short: "Compare what should have happened with what did, action by action",
		Long: `Goes through every time that the spec of a schedule gives and looks in the event
history for what became of it, and through everything that people have asked for.
What nothing explains, what was started twice, and what was started though nothing
asks for it is listed, and the command fails.

An audit begins with the last update of the spec at the earliest, and leaves out
the last 15 seconds, in which things may be under way.`,
		Example: `  carillon schedule audit report
  carillon schedule audit --all --from -24h`,
		Args: func(cmd *cobra.Command, args []string) error {
			if flags.all {
				return exactly()(cmd, args)
			}
			return exactly("ID")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.apply(); err != nil {
				return err
			}
			return a.callAPI(cmd.Context(), optional(args), func(ctx context.Context, api *client.Client) error {
				return a.audit(ctx, api, output, optional(args), &flags)
			})
		},
	}
	addFlags(cmd, otherGroup, func(set *pflag.FlagSet) {
		flags.flags = set
		at := timeParser(a.env.Now)
		set.BoolVar(&flags.all, "all", false, "all schedules of the namespace")
		parsed(&flags.binder, "from", "times from `TIME` on, -24h for a day ago; since the last update if not given", &flags.from, at)
		parsed(&flags.binder, "to", "times up to `TIME`; now if not given", &flags.to, at)
	})
	output.define(cmd)
	return cmd
}

func (a *app) audit(ctx context.Context, api *client.Client, output outputFlag, id string, flags *auditFlags) error {
	ids := []string{id}
	if flags.all {
		ids = ids[:0]
		for listed, err := range api.All(ctx, "") {
			if err != nil {
				return err
			}
			ids = append(ids, listed.ID)
		}
	}
	reports := make([]audit.Report, 0, len(ids))
	findings := 0
	for _, id := range ids {
		report, err := a.auditOne(ctx, api, id, flags)
		if schedule.CodeOf(err) == schedule.CodeNotFound && flags.all {
			continue // somebody has deleted it since it was listed
		}
		if err != nil {
			return err
		}
		reports = append(reports, report)
		findings += report.Found()
	}
	if err := a.print(output, reports, func(w io.Writer) error { return printAudits(w, reports) }); err != nil {
		return err
	}
	if findings > 0 {
		return errAudit
	}
	return nil
}

func (a *app) auditOne(ctx context.Context, api *client.Client, id string, flags *auditFlags) (audit.Report, error) {
	// Read the events first. The description then covers what happens between the two reads, and the audit allows for it.
	in := audit.Input{From: flags.from, To: flags.to, Now: a.env.Now(), Slack: audit.DefaultSlack}
	if in.To.IsZero() {
		in.To = in.Now
	}
	for event, err := range api.Events(ctx, schedule.HistoryRequest{ID: id, PageSize: schedule.MaxPageSize}) {
		if err != nil {
			return audit.Report{}, err
		}
		in.Events = append(in.Events, event)
	}
	description, err := api.Describe(ctx, id)
	if err != nil {
		return audit.Report{}, err
	}
	in.Description = &description
	if in.Calendars, err = api.CalendarsOf(ctx, &description); err != nil {
		return audit.Report{}, err
	}
	return audit.Run(ctx, in)
}

func printAudits(w io.Writer, reports []audit.Report) error {
	for i := range reports {
		r := &reports[i]
		verdict := "all explained"
		if r.Found() > 0 {
			verdict = plural(r.Found(), "finding")
		}
		if _, err := fmt.Fprintf(w, "%s: %s%s%s\n", r.ID, verdict, tally(", ", r.Fates), tally("; on request: ", r.Manual)); err != nil {
			return err
		}
		for _, f := range r.Findings {
			what := ""
			if !f.Nominal.IsZero() {
				what = " " + f.Nominal.UTC().Format(time.RFC3339)
			}
			if _, err := fmt.Fprintf(w, "  %s%s (%s): %s\n", f.Kind, what, f.Source, f.Text); err != nil {
				return err
			}
		}
		if r.MoreFindings > 0 {
			if _, err := fmt.Fprintf(w, "  and %d more\n", r.MoreFindings); err != nil {
				return err
			}
		}
	}
	return nil
}

// tally counts the times by their fate.
func tally(before string, fates map[audit.Fate]int) string {
	var parts []string
	for _, fate := range slices.Sorted(maps.Keys(fates)) {
		parts = append(parts, fmt.Sprintf("%s %d", strings.ReplaceAll(string(fate), "_", " "), fates[fate]))
	}
	if len(parts) == 0 {
		return ""
	}
	return before + strings.Join(parts, ", ")
}

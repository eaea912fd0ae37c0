package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/topology"
)

// clusterCheck holds the flags of cluster check.
type clusterCheck struct {
	repair bool
	pause  time.Duration
}

func (a *app) clusterCheckCommand() *cobra.Command {
	var output outputFlag
	var check clusterCheck
	cmd := &cobra.Command{
		Use:   "check [flags]",
		Short: "Find and repair inconsistencies of schedules and workflows, their timers, tasks and runs",
		Long: `Compares what is stored about each schedule: its definition, the records of the
pools, timers, tasks and runs; and about each workflow: its journal, its delayed
messages, and its tasks in the backlog. It names what does not fit together and
what --repair does about it, and exits with 1 if anything is left. It checks each
finding again after a pause, since schedules and workflows go on meanwhile. It asks
the workers before it calls a run lost. It looks at all namespaces, unless
--namespace is given. docs/consistency.md says more.`,
		Example: `  carillon cluster check
  carillon cluster check --repair
  carillon cluster check -o json | jq -r '.findings[].kind'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if check.pause <= 0 {
				return usagef("--confirm-after: %s is not more than 0s", check.pause)
			}
			namespace := ""
			if cmd.Flags().Changed("namespace") {
				namespace = a.global.namespace
			}
			report, err := a.checkCluster(cmd.Context(), check, namespace)
			if err != nil {
				return err
			}
			if err := a.print(output, report, func(w io.Writer) error { return writeReport(w, &report, check.repair) }); err != nil {
				return err
			}
			return leftOver(&report, check.repair)
		},
	}
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		flags.BoolVar(&check.repair, "repair", false, "repair what can be repaired, then look again")
		flags.DurationVar(&check.pause, "confirm-after", consistency.DefaultPause, "count what is still inconsistent after `DURATION`")
	})
	output.define(cmd)
	return cmd
}

func (a *app) checkCluster(ctx context.Context, check clusterCheck, namespace string) (report consistency.Report, err error) {
	conn, _, err := a.connectToChange(ctx) // a standby lacks all that a check looks for
	if err != nil {
		return report, err
	}
	conn.Close()
	err = a.callCluster(ctx, func(ctx context.Context, js jetstream.JetStream, facts topology.Facts) error {
		checker, err := consistency.New(ctx, consistency.Config{
			JS: js, Names: a.global.names, Shards: facts.Shards, Pause: check.pause, Identity: a.identity(), Now: a.env.Now,
		})
		if err != nil {
			return err
		}
		defer checker.Close()
		report, err = checker.Check(ctx, namespace, check.repair)
		return err
	})
	return report, err
}

// writeReport writes one line for each inconsistency, and a summary line.
func writeReport(w io.Writer, report *consistency.Report, repair bool) error {
	if len(report.Findings) > 0 {
		rows := [][]string{{"SCHEDULE OR WORKFLOW", "KIND", "WHAT"}}
		for i := range report.Findings {
			f := &report.Findings[i]
			rows = append(rows, []string{
				render.Printable(nameOf(f)), string(f.Kind), render.Printable(f.What + "; " + repairText(f)),
			})
		}
		if err := render.Table(w, rows); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s and %s looked at: %s\n", plural(report.Schedules, "schedule"), plural(report.Workflows, "workflow"),
		verdict(report, repair))
	return err
}

// nameOf names what a finding is about.
func nameOf(f *consistency.Finding) string {
	if f.WorkflowID != "" {
		return f.Namespace + "/" + f.WorkflowID + " (workflow)"
	}
	return f.Namespace + "/" + f.ScheduleID
}

func verdict(report *consistency.Report, repair bool) string {
	found := countFindings(len(report.Findings))
	switch {
	case len(report.Findings) == 0:
		return "consistent"
	case repair:
		return fmt.Sprintf("%s, %d repaired", found, len(report.Findings)-report.Open())
	}
	return found
}

// repairText says what --repair would do, has done, or could not do about a finding.
func repairText(f *consistency.Finding) string {
	switch {
	case f.Repaired:
		return "repaired: " + f.Repair
	case f.Problem != "":
		return "not repaired: " + f.Problem
	case !f.Repairable:
		return "by hand: " + f.Repair
	}
	return "--repair: " + f.Repair
}

// leftOver returns an error if the check leaves an inconsistency.
func leftOver(report *consistency.Report, repair bool) error {
	open, repairable := report.Open(), 0
	for i := range report.Findings {
		if f := &report.Findings[i]; f.Repairable && !f.Repaired {
			repairable++
		}
	}
	switch {
	case open == 0:
		return nil
	case repair || repairable == 0:
		return fmt.Errorf("%s left", countFindings(open))
	}
	return withHint(fmt.Errorf("%s left", countFindings(open)), "carillon cluster check --repair repairs %d", repairable)
}

// countFindings writes "1 inconsistency" or "5 inconsistencies".
func countFindings(n int) string {
	if n == 1 {
		return "1 inconsistency"
	}
	return fmt.Sprintf("%d inconsistencies", n)
}

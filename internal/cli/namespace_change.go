package cli

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

// namespaceFlags are the settings of a namespace.
type namespaceFlags struct {
	description string
	limits      schedule.NamespaceLimits
	output      outputFlag
	binder
}

func (f *namespaceFlags) define(cmd *cobra.Command) {
	addFlags(cmd, "Settings", func(flags *pflag.FlagSet) {
		f.flags = flags
		f.string("description", "`TEXT` for people", &f.description)
		f.float("requests-per-second", "answer `N` requests in a second, over all frontends; 0 for no limit", &f.limits.RequestsPerSecond)
		f.int("request-burst", "answer `N` requests at once; 0 for as many as in a second", &f.limits.RequestBurst)
		f.float("actions-per-second", "start `N` runs in a second, over all schedules; 0 for no limit", &f.limits.ActionsPerSecond)
		f.int("max-schedules", "`N` schedules; 0 for 1,000,000", &f.limits.MaxSchedules)
		f.int("max-schedule-bytes", "`N` bytes for a schedule with its input, as it is stored; 0 for no limit", &f.limits.MaxScheduleBytes)
		f.int("max-pending-runs", "`N` runs queued or in progress; 0 for no limit", &f.limits.MaxPendingRuns)
		f.float("workflow-requests-per-second", "let each gateway answer `N` requests of Temporal's clients in a second; 0 for 10,000",
			&f.limits.WorkflowRequestsPerSecond)
		f.float("workflow-lists-per-second", "let each gateway answer `N` lists and counts in a second; 0 for 500", &f.limits.WorkflowListsPerSecond)
		f.int("max-workflow-polls", "let `N` polls and other requests wait at each gateway; 0 for 10,000", &f.limits.MaxWorkflowPolls)
		f.duration("event-retention", "keep events for `DURATION`, such as 72h; 0s for 30 days", &f.limits.EventRetention)
		f.duration("workflow-retention", "keep runs of workflows for `DURATION` after their end, such as 24h; 0s for 72h", &f.limits.WorkflowRetention)
		f.string("archive", "write runs of workflows to the bucket `URL` before they are removed, such as file:///var/lib/archive; jetstream:// for "+
			"the one of the installation; empty for nowhere", &f.limits.Archive)
	})
	f.output.define(cmd)
}

func (a *app) namespaceCreateCommand() *cobra.Command {
	var flags namespaceFlags
	cmd := &cobra.Command{
		Use:   "create NAME [flags]",
		Short: "Create a namespace",
		Long: `Creates a namespace, which can be used at once. Its name has 1 to 63 of a-z, 0-9
and "-".`,
		Example: `  carillon namespace create billing --description "invoices and reminders"
  carillon namespace create trial --max-schedules 100 --requests-per-second 5`,
		Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.apply(); err != nil {
				return err
			}
			return a.callAPI(cmd.Context(), "", func(ctx context.Context, api *client.Client) error {
				d, err := api.CreateNamespace(ctx, args[0], schedule.CreateNamespaceRequest{
					Description: flags.description, Limits: flags.limits,
				})
				if err != nil {
					return explainNamespace(err, args[0])
				}
				return a.printNamespace(flags.output, &d)
			})
		},
	}
	flags.define(cmd)
	return cmd
}

func (a *app) namespaceUpdateCommand() *cobra.Command {
	var flags namespaceFlags
	cmd := &cobra.Command{
		Use:   "update NAME [flags]",
		Short: "Change the description and limits of a namespace",
		Long: `Changes those settings of a namespace that are given, and leaves the others as they
are.`,
		Example: `  carillon namespace update billing --actions-per-second 50
  carillon namespace update billing --actions-per-second 0      without a limit again`,
		Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !flags.given() {
				return withHint(usagef("nothing to change: give at least one of the settings"), "usage: %s", cmd.UseLine())
			}
			return a.callAPI(cmd.Context(), "", func(ctx context.Context, api *client.Client) error {
				d, err := flags.update(ctx, api, args[0])
				if err != nil {
					return explainNamespace(err, args[0])
				}
				return a.printNamespace(flags.output, &d)
			})
		},
	}
	flags.define(cmd)
	return cmd
}

// update changes the settings that were given. If somebody else changes the namespace at the same time, update starts over.
func (f *namespaceFlags) update(ctx context.Context, api *client.Client, name string) (schedule.NamespaceDescription, error) {
	const attempts = 5
	for attempt := 1; ; attempt++ {
		d, err := api.DescribeNamespace(ctx, name)
		if err != nil {
			return d, err
		}
		f.description, f.limits = d.Description, d.Limits
		if err := f.apply(); err != nil {
			return d, err
		}
		d, err = api.UpdateNamespace(ctx, name, schedule.UpdateNamespaceRequest{
			Description: f.description, Limits: f.limits, ConflictToken: d.ConflictToken,
		})
		if attempt == attempts || fieldOf(err) != fieldToken {
			return d, err
		}
	}
}

// explainNamespace adds to an error about a namespace a hint at what to do.
func explainNamespace(err error, name string) error {
	switch schedule.CodeOf(err) {
	case schedule.CodeAlreadyExists:
		return withHint(err, "look at it with: carillon namespace describe %s; change it with: carillon namespace update %s", name, name)
	case schedule.CodeFailedPrecondition:
		return withHint(err, "look at it with: carillon namespace describe %s", name)
	}
	return err
}

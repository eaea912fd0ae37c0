package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) bulkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bulk",
		Short: "Change many schedules at once, in the background",
		Long: `Pauses, unpauses, triggers, deletes or labels all schedules that a query, a
beginning of their IDs or a list of IDs selects. The work goes on in the frontends,
at a bounded rate, also when this command has ended or one of them dies.`,
	}
	cmd.AddCommand(a.bulkStartCommands()...)
	cmd.AddCommand(a.bulkListCommand(), a.bulkDescribeCommand(), a.bulkWatchCommand(), a.bulkCancelCommand())
	makeParent(cmd)
	return cmd
}

func (a *app) bulkListCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the bulk operations of the namespace, the newest first",
		Long: `Lists the bulk operations of the namespace, the newest first. Those that have ended
are kept for seven days.`,
		Example: "  carillon bulk list",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.callAPI(cmd.Context(), "", func(ctx context.Context, api *client.Client) error {
				id := func(d *schedule.BulkDescription) string { return d.JobID }
				return printAll(a, output, api.AllBulk(ctx), id, render.BulkList)
			})
		},
	}
	output.defineList(cmd)
	return cmd
}

func (a *app) bulkDescribeCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "describe JOB [flags]",
		Short: "Show how far a bulk operation has come",
		Long: `Shows how far a bulk operation has come, with the newest of its failures. "carillon
bulk watch" shows each schedule, and so all failures.`,
		Example: "  carillon bulk describe 3f0c9a3e-6d0b-5e57-9a8e-2f6b1c7d4e93",
		Args:    exactly("JOB"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.callAPI(cmd.Context(), "", func(ctx context.Context, api *client.Client) error {
				operation, err := api.DescribeBulk(ctx, args[0])
				if err != nil {
					return err
				}
				return a.print(output, operation, func(w io.Writer) error { return render.Bulk(w, &operation, a.view()) })
			})
		},
	}
	output.define(cmd)
	return cmd
}

func (a *app) bulkCancelCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "cancel JOB [flags]",
		Short: "End a bulk operation",
		Long: `Ends a bulk operation. What it has done stays done, and a few schedules that it is
at may still follow.`,
		Example: "  carillon bulk cancel 3f0c9a3e-6d0b-5e57-9a8e-2f6b1c7d4e93",
		Args:    exactly("JOB"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.callAPI(cmd.Context(), "", func(ctx context.Context, api *client.Client) error {
				operation, err := api.CancelBulk(ctx, args[0])
				if err != nil {
					return err
				}
				return a.print(output, operation, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "canceled %s: %s\n", operation.JobID, render.BulkProgress(&operation))
					return err
				})
			})
		},
	}
	output.define(cmd)
	return cmd
}

// selectionFlags say which schedules are meant.
type selectionFlags struct{ schedule.Selection }

func (s *selectionFlags) define(cmd *cobra.Command) {
	addFlags(cmd, "Which schedules", func(flags *pflag.FlagSet) {
		flags.StringVar(&s.Query, "query", "", "those that match `QUERY`, such as \"paused = true and taskQueue = 'billing'\"")
		flags.StringVar(&s.Prefix, "id-prefix", "", "those whose IDs begin with `TEXT`")
		flags.BoolVar(&s.All, "all", false, "all schedules of the namespace")
	})
}

// check takes the arguments as schedule IDs. It requires exactly one way of selecting schedules.
func (s *selectionFlags) check(cmd *cobra.Command, args []string) error {
	s.IDs = args
	err := alternatives{"query", "id-prefix", "all"}.choose(cmd.ErrOrStderr(), cmd.Flags(), args...)
	if err == nil && s.Query == "" && s.Prefix == "" && !s.All && len(args) == 0 {
		err = usagef("say which schedules are meant: by ID, --query, --id-prefix or --all")
	}
	if err != nil {
		return withHint(err, "usage: %s", cmd.UseLine())
	}
	return nil
}

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

func (a *app) listCommand() *cobra.Command {
	var output outputFlag
	var search searchFlags
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the schedules of a namespace by ID, or those that a query finds",
		Example: `  carillon schedule list
  carillon schedule list --id-prefix report- -o json | jq -r '.[].id'
  carillon schedule list --query "paused = true and taskQueue = 'billing'"
  carillon schedule list --query "nextTime < '2027-01-01' order by nextTime"
  carillon schedule list --query "attr.customer in ('acme', 'globex') and lastStatus = 'failed'"`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.callAPI(cmd.Context(), "", func(ctx context.Context, api *client.Client) error {
				schedules, err := a.collectFound(ctx, api, search)
				if err != nil {
					return err
				}
				id := func(d *schedule.Description) string { return d.ID }
				return printList(a, output, schedules, id, func(w io.Writer) error {
					return render.List(w, schedules, a.view())
				})
			})
		},
	}
	addFlags(cmd, "Filter", func(flags *pflag.FlagSet) {
		search.define(flags, "list")
	})
	output.defineList(cmd)
	return cmd
}

func (a *app) countCommand() *cobra.Command {
	var output outputFlag
	var search searchFlags
	cmd := &cobra.Command{
		Use:   "count [flags]",
		Short: "Count the schedules of a namespace, or those that a query finds",
		Example: `  carillon schedule count
  carillon schedule count --id-prefix report-
  carillon schedule count --query 'running > 0 or waiting > 0'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.callAPI(cmd.Context(), "", func(ctx context.Context, api *client.Client) error {
				reply, err := api.CountMatching(ctx, schedule.CountRequest{Prefix: search.prefix, Query: search.query})
				if err != nil {
					return explainQuery(search.query, err)
				}
				a.sayIfStale(reply.IndexedUpTo, reply.IndexBehind)
				return a.print(output, reply, func(w io.Writer) error {
					_, err := fmt.Fprintln(w, reply.Count)
					return err
				})
			})
		},
	}
	addFlags(cmd, "Filter", func(flags *pflag.FlagSet) {
		search.define(flags, "count")
	})
	output.define(cmd)
	return cmd
}

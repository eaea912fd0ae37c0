package cli

import (
	"context"
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

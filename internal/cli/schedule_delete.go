package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) deleteCommand() *cobra.Command {
	var output outputFlag
	var request schedule.DeleteRequest
	var b binder
	cmd := &cobra.Command{
		Use:   "delete ID [flags]",
		Short: "Delete a schedule",
		Long: `Deletes a schedule and drops what is waiting to start. Runs that no worker has taken
yet are withdrawn from their task queue, and runs in progress go on; --runs-policy says
otherwise. carillon run list, cancel and terminate also know the runs that go on.`,
		Example: "  carillon schedule delete tick\n  carillon schedule delete tick --runs-policy terminate",
		Args:    exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			request.ID = args[0]
			if err := b.apply(); err != nil {
				return err
			}
			return a.callAPI(cmd.Context(), args[0], func(ctx context.Context, api *client.Client) error {
				if err := api.DeleteVersion(ctx, request); err != nil {
					return err
				}
				return a.print(output, schedule.Empty{}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "deleted %s\n", args[0])
					return err
				})
			})
		},
	}
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		b.flags = flags
		b.runs(&request.Runs, schedule.RunsPolicies()...)
	})
	output.define(cmd)
	return cmd
}

// runs defines the flag that decides what happens to the runs of a deleted schedule or namespace.
func (b *binder) runs(to *schedule.RunsPolicy, accepted ...schedule.RunsPolicy) {
	oneOf(b, "runs-policy", "`POLICY` for its runs, withdraw if not given", to, accepted...)
}

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

func (a *app) countCommand() *cobra.Command {
	var output outputFlag
	var prefix string
	cmd := &cobra.Command{
		Use:   "count [flags]",
		Short: "Count the schedules of a namespace",
		Example: `  carillon schedule count
  carillon schedule count --id-prefix report-`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.callAPI(cmd.Context(), "", func(ctx context.Context, api *client.Client) error {
				count, err := api.Count(ctx, prefix)
				if err != nil {
					return err
				}
				return a.print(output, schedule.CountReply{Count: count}, func(w io.Writer) error {
					_, err := fmt.Fprintln(w, count)
					return err
				})
			})
		},
	}
	addFlags(cmd, "Filter", func(flags *pflag.FlagSet) {
		flags.StringVar(&prefix, "id-prefix", "", "count the IDs that begin with `TEXT`")
	})
	output.define(cmd)
	return cmd
}

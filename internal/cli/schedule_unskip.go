package cli

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) unskipCommand() *cobra.Command {
	var output outputFlag
	var request schedule.UnskipRequest
	var b binder
	cmd := &cobra.Command{
		Use:   "unskip ID [flags]",
		Short: "Take back what was to be skipped",
		Long: `Takes back what "carillon schedule skip" has asked for: the times of --at, or all.
It prints the times that will still be skipped.`,
		Example: `  carillon schedule unskip report
  carillon schedule unskip report --at 2030-12-24T09:00:00+01:00`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			request.ID = args[0]
			if err := b.apply(); err != nil {
				return err
			}
			return a.changeSkips(cmd.Context(), output, request.ID,
				func(ctx context.Context, api *client.Client) (schedule.SkipReply, error) {
					return api.Unskip(ctx, request)
				})
		},
	}
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		b.flags = flags
		repeated(&b, "at", "do not skip `TIME` any more; repeatable", &request.Times, timeParser(a.env.Now))
	})
	output.define(cmd)
	return cmd
}

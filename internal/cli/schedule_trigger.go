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

func (a *app) triggerCommand() *cobra.Command {
	var output outputFlag
	var request schedule.TriggerRequest
	var b binder
	cmd := &cobra.Command{
		Use:   "trigger ID [flags]",
		Short: "Start one run of a schedule now",
		Long: `Starts one run of a schedule now, paused or not. The overlap policy decides what
happens when another run is in progress.`,
		Example: `  carillon schedule trigger report
  carillon schedule trigger report --overlap allow_all --note "asked for by finance"`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			request.ID = args[0]
			if err := b.apply(); err != nil {
				return err
			}
			return a.trigger(cmd.Context(), output, request)
		},
	}
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		b.flags = flags
		b.string("note", "`TEXT` for the event history", &request.Note)
		b.overlap(&request.Overlap, "`POLICY` for this run; that of the schedule if not given")
	})
	output.define(cmd)
	return cmd
}

func (a *app) trigger(ctx context.Context, output outputFlag, request schedule.TriggerRequest) error {
	return a.callAPI(ctx, request.ID, func(ctx context.Context, api *client.Client) error {
		reply, err := api.Trigger(ctx, request)
		if err != nil {
			return err
		}
		return a.print(output, reply, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "triggered %s as %s\n", reply.ID, reply.TriggerID)
			return err
		})
	})
}

package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) deleteCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:     "delete ID [flags]",
		Short:   "Delete a schedule",
		Long:    "Deletes a schedule and drops what is waiting to start. Runs in progress go on.",
		Example: "  carillon schedule delete tick",
		Args:    exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.callAPI(cmd.Context(), args[0], func(ctx context.Context, api *client.Client) error {
				if err := api.Delete(ctx, args[0]); err != nil {
					return err
				}
				return a.print(output, schedule.Empty{}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "deleted %s\n", args[0])
					return err
				})
			})
		},
	}
	output.define(cmd)
	return cmd
}

package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) cancelBackfillCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "cancel-backfill ID BACKFILL_ID [flags]",
		Short: "End a backfill, or take back a trigger that waits",
		Long: `Ends a backfill: what waits of it is dropped, its runs in progress go on. A trigger
is taken back as long as its run has not been started. "carillon schedule
describe" shows the backfills and triggers in progress.`,
		Example: "  carillon schedule cancel-backfill report 8f14e45f-ceea-467f-a0e6-0b8d1c2f7a11",
		Args:    exactly("ID", "BACKFILL_ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			request := schedule.CancelBackfillRequest{ID: args[0], BackfillID: args[1]}
			return a.callAPI(cmd.Context(), args[0], func(ctx context.Context, api *client.Client) error {
				if err := api.CancelBackfill(ctx, request); err != nil {
					return err
				}
				return a.print(output, schedule.Empty{}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "canceled %s of %s\n", request.BackfillID, request.ID)
					return err
				})
			})
		},
	}
	output.define(cmd)
	return cmd
}

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/client"
)

func (a *app) deleteCommand() *cobra.Command {
	return &cobra.Command{
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
				_, err := fmt.Fprintf(a.env.Stdout, "deleted %s\n", args[0])
				return err
			})
		},
	}
}

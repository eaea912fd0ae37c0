package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
)

func (a *app) describeCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "describe ID [flags]",
		Short: "Show a schedule, its next times and its recent actions",
		Example: `  carillon schedule describe tick
  carillon schedule describe tick -o json | jq .info.actionCount`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.callAPI(cmd.Context(), args[0], func(ctx context.Context, api *client.Client) error {
				d, err := api.Describe(ctx, args[0])
				if err != nil {
					return err
				}
				return a.print(output, d, func(w io.Writer) error { return render.Describe(w, &d, a.view()) })
			})
		},
	}
	output.define(cmd)
	return cmd
}

// view is how to show things on standard output.
func (a *app) view() render.View {
	return render.View{Now: a.env.Now(), Zone: a.env.Zone, Color: a.env.Color, Width: a.env.Width()}
}

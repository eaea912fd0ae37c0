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
	var prefix string
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the schedules of a namespace by ID",
		Example: `  carillon schedule list
  carillon schedule list --id-prefix report- -o json | jq -r '.[].id'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.callAPI(cmd.Context(), "", func(ctx context.Context, api *client.Client) error {
				schedules, err := collect(ctx, api, prefix)
				if err != nil {
					return err
				}
				return a.print(output, schedules, func(w io.Writer) error { return render.List(w, schedules, a.view()) })
			})
		},
	}
	addFlags(cmd, "Filter", func(flags *pflag.FlagSet) {
		flags.StringVar(&prefix, "id-prefix", "", "list the IDs that begin with `TEXT`")
	})
	output.define(cmd)
	return cmd
}

// collect returns all schedules, never nil: an empty list is a list.
func collect(ctx context.Context, api *client.Client, prefix string) ([]schedule.Description, error) {
	schedules := []schedule.Description{}
	for d, err := range api.All(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		schedules = append(schedules, d)
	}
	return schedules, nil
}

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) exportCommand() *cobra.Command {
	var prefix string
	cmd := &cobra.Command{
		Use:   "export [ID...] [flags]",
		Short: "Write schedules as files for apply",
		Long: `Writes schedules as YAML to standard output, separated by "---": those named, or
all of the namespace. "carillon schedule apply" makes them again, here or
elsewhere. What is going on is not part of it: runs, backfills and counters stay
behind.`,
		Example: `  carillon schedule export > schedules.yaml
  carillon schedule export nightly weekly`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.callAPI(cmd.Context(), "", func(ctx context.Context, api *client.Client) error {
				if len(args) == 0 {
					return a.exportAll(ctx, api, prefix)
				}
				for _, id := range args {
					description, err := api.Describe(ctx, id)
					if err != nil {
						return err
					}
					if err := a.export(&description); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	addFlags(cmd, "Which", func(flags *pflag.FlagSet) {
		flags.StringVar(&prefix, "id-prefix", "", "only those whose ID begins with `TEXT`")
	})
	return cmd
}

func (a *app) exportAll(ctx context.Context, api *client.Client, prefix string) error {
	for description, err := range api.All(ctx, prefix) {
		if err != nil {
			return err
		}
		if err := a.export(&description); err != nil {
			return err
		}
	}
	return nil
}

// export writes one schedule as a document.
func (a *app) export(d *schedule.Description) error {
	text, err := apitext.EncodeYAML(manifest{ID: d.ID, Schedule: d.Schedule})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.env.Stdout, "---\n%s", text)
	return err
}

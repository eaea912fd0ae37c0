package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
)

func (a *app) clusterInfoCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "info [flags]",
		Short: "Show what an installation consists of",
		Long: `Shows what an installation consists of: the NATS servers, the facts that all processes
agree on, its streams and buckets with their sizes and leaders, the frontends and
processes that answer with the time zone data that each has, and its task queues.`,
		Example: `  carillon cluster info
  carillon cluster info -o json | jq '.streams[] | {name, bytes, leader}'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			facts, err := a.gatherFacts(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(output, facts, func(w io.Writer) error { return render.Cluster(w, facts, a.env.Zone, a.view()) })
		},
	}
	output.define(cmd)
	return cmd
}

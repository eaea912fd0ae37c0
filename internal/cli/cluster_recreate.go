package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) clusterRecreateCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "recreate NAME... [flags]",
		Short: "Make streams and buckets anew, empty, that somebody has deleted",
		Long: `Makes streams and buckets of the installation anew, empty, with their consumers, if
they are missing; one that is there stays as it is. What they held is not brought
back: "cluster restore" does that. Without the event stream only history is lost. What
the streams of tasks, actions and controls held, "cluster check --repair" makes anew
afterwards. With a bucket of records the schedules of its shard are lost, which is why
no process makes one anew by itself.`,
		Example: `  carillon cluster recreate CARILLON_EVENTS
  carillon cluster recreate CARILLON_TASKS_0 && carillon cluster check --repair`,
		Args: atLeastOne("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.callCluster(cmd.Context(), func(ctx context.Context, js jetstream.JetStream, facts topology.Facts) error {
				if err := topology.Recreate(ctx, js, a.global.names, facts, args); err != nil {
					return err
				}
				return a.print(output, schedule.Empty{}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "there now: %s\n", strings.Join(args, ", "))
					return err
				})
			})
		},
	}
	output.define(cmd)
	return cmd
}

// atLeastOne demands one argument or more.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return exactly(name)(cmd, args)
		}
		return nil
	}
}

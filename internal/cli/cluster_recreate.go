package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) clusterRecreateCommand() *cobra.Command {
	var output outputFlag
	var data string
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
  carillon cluster recreate CARILLON_TASKS_0 && carillon cluster check --repair
  carillon cluster recreate carillon-state-2 --data /var/lib/carillon`,
		Args: atLeastOne("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := a.dataFolder(cmd, data)
			if err != nil {
				return err
			}
			if err := a.recreate(cmd.Context(), data, args); err != nil {
				return err
			}
			return a.print(output, schedule.Empty{}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "there now: %s\n", strings.Join(args, ", "))
				return err
			})
		},
	}
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		flags.StringVar(&data, "data", "", "do it in the data folder `DIR` of carillon server, which does not run meanwhile")
	})
	output.define(cmd)
	return cmd
}

// recreate makes streams and buckets again: in the data folder if one is given, otherwise in NATS.
func (a *app) recreate(ctx context.Context, data string, wanted []string) error {
	js, done, err := a.connectRestore(ctx, data)
	if err != nil {
		return err
	}
	defer done()
	facts, err := a.clusterFacts(ctx, js)
	if err != nil {
		return err
	}
	return topology.Recreate(ctx, js, a.global.names, facts, wanted)
}

// atLeastOne requires one or more arguments.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return exactly(name)(cmd, args)
		}
		return nil
	}
}

package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

// runKinds are the kinds of event that tell of a run.
var runKinds = []schedule.EventKind{
	schedule.EventStarted, schedule.EventNoWorker, schedule.EventCancelRequested, schedule.EventTerminated, schedule.EventCompleted,
}

func (a *app) runWatchCommand() *cobra.Command {
	var output eventOutput
	cmd := &cobra.Command{
		Use:   "watch [ID] [flags]",
		Short: "Show runs as they begin and end",
		Long: `Shows the runs of a schedule, or without an ID of all schedules of the namespace, as
they begin and end, until it is stopped. "carillon schedule watch" also shows what
leads to no run.`,
		Example: `  carillon run watch
  carillon run watch report -o jsonl | jq -r 'select(.status == "failed") | .failure.message'`,
		Args: atMostOne("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := optional(args)
			return a.callAPI(cmd.Context(), id, func(ctx context.Context, api *client.Client) error {
				return a.watch(ctx, api, output, id, func(e *schedule.Event) bool { return slices.Contains(runKinds, e.Kind) })
			})
		},
	}
	output.define(cmd)
	return cmd
}

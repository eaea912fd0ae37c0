package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) watchCommand() *cobra.Command {
	var output eventOutput
	cmd := &cobra.Command{
		Use:   "watch [ID] [flags]",
		Short: "Show what happens to a schedule, or to all of them, as it happens",
		Long: `Shows what happens to a schedule, or without an ID to all schedules of the
namespace, as it happens, until it is stopped. A schedule that does not exist yet
can be watched as well.`,
		Example: `  carillon schedule watch
  carillon schedule watch report -o json | jq -r 'select(.kind == "completed") | .worker'`,
		Args: atMostOne("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := optional(args)
			return a.callAPI(cmd.Context(), id, func(ctx context.Context, api *client.Client) error {
				return a.watch(ctx, api, output, id, func(*schedule.Event) bool { return true })
			})
		},
	}
	output.define(cmd)
	return cmd
}

// watch prints the wanted events until ctx ends. Ending ctx is how a user stops it, so that is no error.
func (a *app) watch(
	ctx context.Context, api *client.Client, output eventOutput, id string, wanted func(*schedule.Event) bool,
) error {
	events, err := api.Watch(ctx, id)
	if err != nil {
		return err
	}
	printer := a.eventPrinter(a.env.Stdout, output, render.EventClock, id == "")
	if err := printer.line(printer.lines.Header(a.env.Now())); err != nil {
		return err
	}
	for event, err := range events {
		if err != nil {
			return err
		}
		if !wanted(&event) {
			continue
		}
		if err := printer.event(&event); err != nil {
			return err
		}
	}
	return nil
}

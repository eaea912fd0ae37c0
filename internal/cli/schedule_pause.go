package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) pauseCommand() *cobra.Command {
	return a.noteCommand("pause", "Stop the automatic actions of a schedule",
		`Stops the automatic actions of a schedule. Runs in progress go on, and manual
requests are still carried out.`, "paused", (*client.Client).Pause)
}

func (a *app) unpauseCommand() *cobra.Command {
	return a.noteCommand("unpause", "Let the automatic actions of a schedule go on",
		`Lets the automatic actions of a schedule go on. What was due while it was paused
is not made up for.`, "unpaused", (*client.Client).Unpause)
}

func (a *app) noteCommand(
	verb, short, long, done string, call func(*client.Client, context.Context, string, string) error,
) *cobra.Command {
	var note string
	var output outputFlag
	cmd := &cobra.Command{
		Use:     verb + " ID [flags]",
		Short:   short,
		Long:    long,
		Example: fmt.Sprintf("  carillon schedule %s tick --note \"see ticket 4711\"", verb),
		Args:    exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.callAPI(cmd.Context(), args[0], func(ctx context.Context, api *client.Client) error {
				if err := call(api, ctx, args[0], note); err != nil {
					return err
				}
				return a.print(output, schedule.Empty{}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "%s %s\n", done, args[0])
					return err
				})
			})
		},
	}
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		flags.StringVar(&note, "note", "", "replace the notes of the schedule by `TEXT`")
	})
	output.define(cmd)
	return cmd
}

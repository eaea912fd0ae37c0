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

func (a *app) runCancelCommand() *cobra.Command {
	return a.runEndCommand("cancel", "Ask a run in progress to stop",
		`Asks the code of a run in progress to stop. The run ends when that has, with whatever
status it reports. A run that no worker has yet is canceled when one takes it, or at
once if its schedule is gone. RUN is its run ID, workflow ID or request ID.`, "asked to cancel", (*client.Client).CancelRun)
}

func (a *app) runTerminateCommand() *cobra.Command {
	return a.runEndCommand("terminate", "End a run in progress at once",
		`Ends a run in progress at once: it is over for its schedule, and what waits for it
goes ahead, whatever its code still does. A run that no worker has yet never starts.
RUN is its run ID, workflow ID or request ID.`, "terminating", (*client.Client).TerminateRun)
}

// endRun is a client method that ends a run in a certain way.
type endRun func(*client.Client, context.Context, schedule.EndRunRequest) (schedule.EndRunReply, error)

func (a *app) runEndCommand(verb, short, long, done string, end endRun) *cobra.Command {
	var output outputFlag
	var reason string
	cmd := &cobra.Command{
		Use:     verb + " ID RUN [flags]",
		Short:   short,
		Long:    long,
		Example: fmt.Sprintf("  carillon run %s report report-2030-01-31T08:00:00Z --reason \"the input was wrong\"", verb),
		Args:    exactly("ID", "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			request := schedule.EndRunRequest{ID: args[0], Run: args[1], Reason: reason}
			return a.callAPI(cmd.Context(), request.ID, func(ctx context.Context, api *client.Client) error {
				reply, err := end(api, ctx, request)
				if err != nil {
					return err
				}
				return a.print(output, reply, func(w io.Writer) error { return printEnding(w, done, &reply.Run) })
			})
		},
	}
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		flags.StringVar(&reason, "reason", "", "`TEXT` for the event history that says why")
	})
	output.define(cmd)
	return cmd
}

// printEnding says what will happen to a run, or that the run has already ended.
func printEnding(w io.Writer, done string, run *schedule.Run) error {
	if run.Status != "" {
		done = "has ended already, as " + string(run.Status) + ":"
	}
	_, err := fmt.Fprintf(w, "%s %s of %s\n", done, run.RunID, run.ScheduleID)
	return err
}

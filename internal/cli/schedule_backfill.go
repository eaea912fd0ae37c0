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

// backfillFlags are the flags of schedule backfill.
type backfillFlags struct {
	request schedule.BackfillRequest
	wait    bool
	binder
}

func (a *app) backfillCommand() *cobra.Command {
	var output outputFlag
	var flags backfillFlags
	cmd := &cobra.Command{
		Use:   "backfill ID --from TIME --to TIME [flags]",
		Short: "Start the runs of past times of a schedule",
		Long: `Starts a run for every time that the schedule gives between two times, both
included. The overlap policy decides what happens when another run is in
progress. With --wait it shows how far that has come, waits until the runs have
ended, and says how. It fails unless all of them have completed, also if the
overlap policy skips some or somebody cancels it.`,
		Example: `  carillon schedule backfill report --from 2026-03-01T00:00:00Z --to 2026-03-31T23:59:59Z
  carillon schedule backfill report --from -24h --to -1h --overlap buffer_all --wait`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.request.ID = args[0]
			if err := flags.check(cmd); err != nil {
				return err
			}
			return a.backfill(cmd.Context(), output, &flags)
		},
	}
	addFlags(cmd, otherGroup, func(set *pflag.FlagSet) {
		flags.flags = set
		at := timeParser(a.env.Now)
		parsed(&flags.binder, "from", "first `TIME`, in RFC 3339, or before now as -24h", &flags.request.Start, at)
		parsed(&flags.binder, "to", "last `TIME`, in RFC 3339, or before now as -1h", &flags.request.End, at)
		flags.overlap(&flags.request.Overlap, "`POLICY` for these runs; that of the schedule if not given")
		flags.string("note", "`TEXT` for the event history", &flags.request.Note)
		set.BoolVar(&flags.wait, "wait", false, "show the progress until all runs have ended")
	})
	output.define(cmd)
	return cmd
}

// check refuses what the API would refuse, in the words of the flags.
func (f *backfillFlags) check(cmd *cobra.Command) error {
	if err := f.apply(); err != nil {
		return err
	}
	switch {
	case f.request.Start.IsZero():
		return withHint(usagef("--from is missing"), "usage: %s", cmd.UseLine())
	case f.request.End.IsZero():
		return withHint(usagef("--to is missing"), "usage: %s", cmd.UseLine())
	case f.request.End.Before(f.request.Start):
		return usagef("--to lies before --from: both are part of the range, from the first to the last time")
	}
	return f.request.Validate()
}

func (a *app) backfill(ctx context.Context, output outputFlag, flags *backfillFlags) error {
	return a.callAPI(ctx, flags.request.ID, func(ctx context.Context, api *client.Client) error {
		since := a.env.Now().Add(-clockSkew)
		reply, err := api.Backfill(ctx, flags.request)
		if err != nil {
			return err
		}
		if err := a.print(output, reply, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "backfilling %s as %s\n", reply.ID, reply.BackfillID)
			return err
		}); err != nil || !flags.wait {
			return err
		}
		return a.waitForBackfill(ctx, api, output, reply, since)
	})
}

func (a *app) cancelBackfillCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "cancel-backfill ID BACKFILL_ID [flags]",
		Short: "End a backfill, or take back a trigger that waits",
		Long: `Ends a backfill: what waits of it is dropped, its runs in progress go on. A trigger
is taken back as long as its run has not been started. "carillon schedule
describe" shows the backfills and triggers in progress.`,
		Example: "  carillon schedule cancel-backfill report 8f14e45f-ceea-467f-a0e6-0b8d1c2f7a11",
		Args:    exactly("ID", "BACKFILL_ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			request := schedule.CancelBackfillRequest{ID: args[0], BackfillID: args[1]}
			return a.callAPI(cmd.Context(), args[0], func(ctx context.Context, api *client.Client) error {
				if err := api.CancelBackfill(ctx, request); err != nil {
					return err
				}
				return a.print(output, schedule.Empty{}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "canceled %s of %s\n", request.BackfillID, request.ID)
					return err
				})
			})
		},
	}
	output.define(cmd)
	return cmd
}

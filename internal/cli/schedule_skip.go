package cli

import (
	"context"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) skipCommand() *cobra.Command {
	var output outputFlag
	var request schedule.SkipRequest
	var b binder
	cmd := &cobra.Command{
		Use:   "skip ID [N] [flags]",
		Short: "Pass over the next times of a schedule",
		Long: `Passes over the next N times of a schedule that are not to be skipped already, 1 if
N is not given, or over those of --at. It prints all times that will be skipped.`,
		Example: `  carillon schedule skip report
  carillon schedule skip report 3 --note "month end is done by hand"
  carillon schedule skip report --at 2030-12-24T09:00:00+01:00`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return exactly("ID")(cmd, args)
			}
			return exactly("ID", "N")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			request.ID = args[0]
			if err := (alternatives{"at"}).choose(a.env.Stderr, b.flags, args[1:]...); err != nil {
				return err
			}
			if err := b.apply(); err != nil {
				return err
			}
			if err := countSkips(&request.Skip, args[1:]); err != nil {
				return err
			}
			return a.changeSkips(cmd.Context(), output, request.ID,
				func(ctx context.Context, api *client.Client) (schedule.SkipReply, error) {
					return api.Skip(ctx, request)
				})
		},
	}
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		b.flags = flags
		repeated(&b, "at", "pass over `TIME`, one of those that the spec gives; repeatable", &request.Times, timeParser(a.env.Now))
		b.string("note", "`TEXT` for the event history", &request.Note)
	})
	output.define(cmd)
	return cmd
}

// countSkips reads the number of times to skip, unless the times are given one by one.
func countSkips(skip *schedule.Skip, args []string) error {
	switch {
	case len(skip.Times) > 0:
		return nil
	case len(args) == 0:
		skip.Count = 1
		return nil
	}
	count, err := strconv.Atoi(args[0])
	if err != nil || count < 1 || count > schedule.MaxSkips {
		return usagef("%q is not a number of times: use 1 to %d", args[0], schedule.MaxSkips)
	}
	skip.Count = count
	return nil
}

// changeSkips makes a call, and then shows which times will be skipped.
func (a *app) changeSkips(
	ctx context.Context, output outputFlag, id string,
	call func(context.Context, *client.Client) (schedule.SkipReply, error),
) error {
	return a.callAPI(ctx, id, func(ctx context.Context, api *client.Client) error {
		reply, err := call(ctx, api)
		if err != nil {
			return err
		}
		return a.print(output, reply, func(w io.Writer) error {
			zone := time.UTC
			if len(reply.Skips) > 0 {
				description, err := api.Describe(ctx, id) // the change is done; without the zone, show it all the same
				if err == nil {
					zone = zoneOf(description.Spec)
				}
			}
			return render.Skips(w, id, reply.Skips, zone, a.env.Now())
		})
	})
}

func (a *app) unskipCommand() *cobra.Command {
	var output outputFlag
	var request schedule.UnskipRequest
	var b binder
	cmd := &cobra.Command{
		Use:   "unskip ID [flags]",
		Short: "Take back what was to be skipped",
		Long: `Takes back what "carillon schedule skip" has asked for: the times of --at, or all.
It prints the times that will still be skipped.`,
		Example: `  carillon schedule unskip report
  carillon schedule unskip report --at 2030-12-24T09:00:00+01:00`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			request.ID = args[0]
			if err := b.apply(); err != nil {
				return err
			}
			return a.changeSkips(cmd.Context(), output, request.ID,
				func(ctx context.Context, api *client.Client) (schedule.SkipReply, error) {
					return api.Unskip(ctx, request)
				})
		},
	}
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		b.flags = flags
		repeated(&b, "at", "do not skip `TIME` any more; repeatable", &request.Times, timeParser(a.env.Now))
	})
	output.define(cmd)
	return cmd
}

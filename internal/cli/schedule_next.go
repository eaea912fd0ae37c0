package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

// endOfTime is after every time that a spec can give.
var endOfTime = time.Date(schedule.MaxYear+1, 1, 1, 0, 0, 0, 0, time.UTC)

// timesFlags are the flags of schedule next.
type timesFlags struct {
	count    int
	from, to time.Time
	output   outputFlag
	binder
}

func (a *app) nextCommand() *cobra.Command {
	flags := timesFlags{count: defaultSpecTimes}
	cmd := &cobra.Command{
		Use:   "next ID [flags]",
		Short: "Show the next times of a schedule, or those of a range",
		Long: `Shows the next times of a schedule in its own zone, with those that will start
nothing marked. With --from and --to it shows the times of a range, which may be
past: those that the spec gives as it is now, whatever has become of them.
"carillon schedule history" knows what has.`,
		Example: `  carillon schedule next report
  carillon schedule next report --count 100 -o json | jq -r '.times[].dueTime'
  carillon schedule next report --from -168h --to +0s`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(cmd.Flags().Changed("count")); err != nil {
				return err
			}
			return a.nextTimes(cmd.Context(), args[0], &flags)
		},
	}
	addFlags(cmd, "Which times", func(set *pflag.FlagSet) {
		flags.flags = set
		at := timeParser(a.env.Now)
		set.IntVar(&flags.count, "count", flags.count, "show `N` times at most")
		parsed(&flags.binder, "from", "show times from `TIME` on, -1h for an hour ago; now if not given", &flags.from, at)
		parsed(&flags.binder, "to", "show times up to `TIME`, all of them unless --count is given", &flags.to, at)
	})
	flags.output.define(cmd)
	return cmd
}

// check completes the flags. A range with an end needs no count.
func (f *timesFlags) check(counted bool) error {
	if err := f.apply(); err != nil {
		return err
	}
	if f.count < 1 || f.count > schedule.MaxPageSize {
		return usagef("--count: %d is out of range: use 1 to %d", f.count, schedule.MaxPageSize)
	}
	if !f.to.IsZero() && !counted {
		f.count = schedule.MaxPageSize
	}
	return nil
}

// nextTimes shows the times of a stored schedule. The description gives their zone, and says which times will start nothing.
func (a *app) nextTimes(ctx context.Context, id string, flags *timesFlags) error {
	return a.callAPI(ctx, id, func(ctx context.Context, api *client.Client) error {
		description, err := api.Describe(ctx, id)
		if err != nil {
			return err
		}
		reply, err := api.MatchingTimes(ctx, flags.request(&description, a.env.Now()))
		if err != nil {
			return err
		}
		if flags.from.IsZero() {
			reply.Times = dueAfter(reply.Times, a.env.Now())
		}
		if len(reply.Times) > flags.count {
			reply.Times, reply.More = reply.Times[:flags.count], true
		}
		return a.print(flags.output, reply, func(w io.Writer) error {
			if err := render.Times(w, &description, reply.Times, a.view()); err != nil || !reply.More || flags.to.IsZero() {
				return err
			}
			_, err := fmt.Fprintln(w, "more times follow in this range")
			return err
		})
	})
}

// request asks for nominal times. With jitter, a time that is still due may have a nominal time in the past, so the range begins earlier by
// the jitter.
func (f *timesFlags) request(d *schedule.Description, now time.Time) schedule.MatchingTimesRequest {
	request := schedule.MatchingTimesRequest{ID: d.ID, From: f.from, To: f.to}
	if request.From.IsZero() {
		request.From = now.Add(-d.Spec.Jitter.Std())
	}
	if request.To.IsZero() {
		request.To = endOfTime
	}
	return request
}

// dueAfter drops the times that are already past.
func dueAfter(times []schedule.DueTime, now time.Time) []schedule.DueTime {
	later := []schedule.DueTime{}
	for _, t := range times {
		if t.DueTime.After(now) {
			later = append(later, t)
		}
	}
	return later
}

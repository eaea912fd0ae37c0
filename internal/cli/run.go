package cli

import (
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Show runs of schedules and what came of them, and end them",
		Example: `  carillon run list report
  carillon run describe report report-2030-01-31T08:00:00Z
  carillon run cancel report report-2030-01-31T08:00:00Z`,
	}
	makeParent(cmd)
	cmd.AddCommand(
		a.runListCommand(), a.runDescribeCommand(), a.runWatchCommand(), a.runCancelCommand(), a.runTerminateCommand(),
	)
	return cmd
}

func (a *app) runListCommand() *cobra.Command {
	var output outputFlag
	var request schedule.RunsRequest
	var b binder
	cmd := &cobra.Command{
		Use:   "list [ID] [flags]",
		Short: "List the runs of a schedule, or of all of them, the newest first",
		Example: `  carillon run list report
  carillon run list --status running
  carillon run list --status failed --from -24h
  carillon run list report -o json | jq -r '.[].result'`,
		Args: atMostOne("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			request.ID = optional(args)
			if err := b.apply(); err != nil {
				return err
			}
			if request.PageSize < 0 || request.PageSize > schedule.MaxPageSize {
				return usagef("--limit: %d is out of range: use 1 to %d", request.PageSize, schedule.MaxPageSize)
			}
			return a.callAPI(cmd.Context(), request.ID, func(ctx context.Context, api *client.Client) error {
				runs, err := newestRuns(ctx, api, request)
				if err != nil {
					return err
				}
				return printList(a, output, runs, func(r *schedule.Run) string { return r.RunID }, func(w io.Writer) error {
					return render.Runs(w, runs, request.ID == "", a.env.Zone, a.view())
				})
			})
		},
	}
	addFlags(cmd, "Filter", func(flags *pflag.FlagSet) {
		b.flags = flags
		oneOf(&b, "status", "runs that ended as `STATUS`, or have not", &request.Status,
			append([]schedule.Status{schedule.StatusRunning}, schedule.Statuses()...)...)
		at := timeParser(a.env.Now)
		parsed(&b, "from", "runs that began at `TIME` or later, -1h for an hour ago", &request.From, at)
		parsed(&b, "to", "runs that began at `TIME` or earlier", &request.To, at)
		b.int("limit", "the newest `N` only; 20 if not given", &request.PageSize)
	})
	output.defineList(cmd)
	return cmd
}

// runsListed is how many runs a list has if nobody says.
const runsListed = 20

// newestRuns reads runs until it has as many as asked for, on as many pages as that takes.
func newestRuns(ctx context.Context, api *client.Client, request schedule.RunsRequest) ([]schedule.Run, error) {
	limit := cmp.Or(request.PageSize, runsListed)
	runs := []schedule.Run{}
	for run, err := range api.AllRuns(ctx, request) {
		if err != nil {
			return nil, err
		}
		if runs = append(runs, run); len(runs) == limit {
			break
		}
	}
	return runs, nil
}

func (a *app) runDescribeCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "describe ID RUN [flags]",
		Short: "Show a run of a schedule, its result or failure, and what happened to it",
		Long: `Shows a run of a schedule, its result or failure, and what happened to it. RUN is
its run ID, workflow ID or request ID; of several runs of one workflow ID it means
the newest.`,
		Example: `  carillon run describe report report-2030-01-31T08:00:00Z
  carillon run describe report report-2030-01-31T08:00:00Z -o json | jq .result`,
		Args: exactly("ID", "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.callAPI(cmd.Context(), args[0], func(ctx context.Context, api *client.Client) error {
				reply, err := api.Run(ctx, args[0], args[1])
				if err != nil {
					return err
				}
				return a.print(output, reply, func(w io.Writer) error {
					return render.Run(w, &reply, a.zoneOfSchedule(ctx, api, args[0]), a.view())
				})
			})
		},
	}
	output.define(cmd)
	return cmd
}

// zoneOfSchedule returns the zone of a schedule, in which describe shows its runs. A run may outlive its schedule; then it returns the
// user's zone.
func (a *app) zoneOfSchedule(ctx context.Context, api *client.Client, id string) *time.Location {
	description, err := api.Describe(ctx, id)
	if err != nil {
		return a.env.Zone
	}
	return zoneOf(description.Spec)
}

// runKinds are the kinds of event about a run.
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

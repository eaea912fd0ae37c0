package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

// patchFlags are the flags of schedule patch.
type patchFlags struct {
	pause, unpause, trigger, unskip bool
	note                            string
	overlap                         schedule.OverlapPolicy
	backfills                       []schedule.BackfillRange
	skip                            int
	skipAt, unskipAt                []time.Time
	binder
}

func (a *app) patchCommand() *cobra.Command {
	var output outputFlag
	var flags patchFlags
	cmd := &cobra.Command{
		Use:   "patch ID [flags]",
		Short: "Do several things to a schedule: all of them, or none",
		Long: `Pauses or unpauses a schedule, starts runs now or for times of the past, and skips
times to come: all that the flags say in one step, or nothing.`,
		Example: `  carillon schedule patch report --unpause --trigger --note "the outage is over"
  carillon schedule patch report --skip 2 --backfill 2026-03-01T00:00:00Z/2026-03-31T23:59:59Z`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := flags.build(args[0])
			if err != nil {
				return err
			}
			return a.patch(cmd.Context(), output, request)
		},
	}
	flags.define(cmd, a.env)
	output.define(cmd)
	return cmd
}

func (f *patchFlags) define(cmd *cobra.Command, env Env) {
	at := timeParser(env.Now)
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		f.flags = flags
		f.exclusive(env.Stderr, "pause", "unpause")
		f.exclusive(env.Stderr, "skip", "skip-at")
		f.exclusive(env.Stderr, "unskip", "unskip-at")
		f.bool("pause", "stop the automatic actions", &f.pause)
		f.bool("unpause", "let the automatic actions go on", &f.unpause)
		f.bool("trigger", "start one run now", &f.trigger)
		repeated(&f.binder, "backfill", "start the runs of the past times in `FROM/TO`, both included; repeatable",
			&f.backfills, parseRange(at))
		f.binder.overlap(&f.overlap, "`POLICY` for the runs of --trigger and --backfill; that of the schedule if not given")
		f.int("skip", "pass over the next `N` times", &f.skip)
		repeated(&f.binder, "skip-at", "pass over `TIME`, one of those that the spec gives; repeatable", &f.skipAt, at)
		f.bool("unskip", "do not skip any more what was to be skipped", &f.unskip)
		repeated(&f.binder, "unskip-at", "do not skip `TIME` any more; repeatable", &f.unskipAt, at)
		f.string("note", "`TEXT` for the event history, and with --pause or --unpause the notes of the schedule", &f.note)
	})
}

// build returns the request that the flags ask for.
func (f *patchFlags) build(id string) (schedule.PatchRequest, error) {
	request := schedule.PatchRequest{ID: id}
	if err := f.apply(); err != nil {
		return request, err
	}
	if err := f.check(); err != nil {
		return request, err
	}
	if f.pause {
		request.Pause = &schedule.Note{Note: f.note}
	}
	if f.unpause {
		request.Unpause = &schedule.Note{Note: f.note}
	}
	if f.trigger {
		request.Trigger = &schedule.Trigger{Overlap: f.overlap, Note: f.note}
	}
	for _, r := range f.backfills {
		r.Overlap, r.Note = f.overlap, f.note
		request.Backfills = append(request.Backfills, r)
	}
	if f.skip != 0 || len(f.skipAt) > 0 {
		request.Skip = &schedule.Skip{Count: f.skip, Times: f.skipAt, Note: f.note}
	}
	if f.unskip || len(f.unskipAt) > 0 {
		request.Unskip = &schedule.Unskip{Times: f.unskipAt}
	}
	return request, nil
}

// check refuses what the API would refuse, in the words of the flags.
func (f *patchFlags) check() error {
	backfill := len(f.backfills) > 0
	skip, unskip := f.skip != 0 || len(f.skipAt) > 0, f.unskip || len(f.unskipAt) > 0
	switch {
	case f.overlap != "" && !f.trigger && !backfill:
		return usagef("--overlap needs --trigger or --backfill")
	case !f.pause && !f.unpause && !f.trigger && !backfill && !skip && !unskip:
		return usagef("nothing to do: use --pause, --unpause, --trigger, --backfill, --skip, --skip-at, --unskip or --unskip-at")
	}
	return nil
}

func (a *app) patch(ctx context.Context, output outputFlag, request schedule.PatchRequest) error {
	if err := request.Validate(); err != nil {
		return err
	}
	return a.callAPI(ctx, request.ID, func(ctx context.Context, api *client.Client) error {
		patched, err := api.Patch(ctx, request)
		if err != nil {
			return err
		}
		return a.print(output, patched, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "patched %s: %s%s\n", patched.ID, strings.Join(patchWords(request), ", "), a.nextText(patched))
			return err
		})
	})
}

// patchWords says what a patch has done, in the order of its effects: it cancels old skips before it adds new ones.
func patchWords(request schedule.PatchRequest) []string {
	var words []string
	add := func(done bool, text string) {
		if done {
			words = append(words, text)
		}
	}
	add(request.Pause != nil, "paused")
	add(request.Unpause != nil, "unpaused")
	add(request.Trigger != nil, "triggered")
	add(len(request.Backfills) > 0, plural(len(request.Backfills), "backfill"))
	if unskip := request.Unskip; unskip != nil {
		add(len(unskip.Times) == 0, "took back all skips")
		add(len(unskip.Times) > 0, "took back "+plural(len(unskip.Times), "skip"))
	}
	if skip := request.Skip; skip != nil {
		add(true, "skips "+plural(skip.Count+len(skip.Times), "time"))
	}
	return words
}

package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

// historyFlags are the flags of schedule history.
type historyFlags struct {
	request       schedule.HistoryRequest
	limit, newest int
	output        eventOutput
	binder
}

func (a *app) historyCommand() *cobra.Command {
	var flags historyFlags
	cmd := &cobra.Command{
		Use:   "history [ID] [flags]",
		Short: "Show what happened to a schedule, or to all of them",
		Long: `Shows what happened to a schedule, the oldest first: what was due and what became
of it, and who asked for what. The history outlives the schedule. Without an ID it
is that of all schedules of the namespace.`,
		Example: `  carillon schedule history report --newest 20
  carillon schedule history report --kind skipped --kind missed --kind dropped --from -24h
  carillon schedule history -o json | jq -r 'select(.status == "failed") | .failure.message'`,
		Args: atMostOne("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.request.ID = optional(args)
			if err := flags.check(); err != nil {
				return err
			}
			return a.callAPI(cmd.Context(), flags.request.ID, func(ctx context.Context, api *client.Client) error {
				return a.history(ctx, api, &flags)
			})
		},
	}
	flags.define(cmd, a.env)
	return cmd
}

func (f *historyFlags) define(cmd *cobra.Command, env Env) {
	addFlags(cmd, "Filter", func(flags *pflag.FlagSet) {
		f.flags = flags
		at := timeParser(env.Now)
		f.exclusive(env.Stderr, "newest", "limit")
		repeated(&f.binder, "kind", "events of `KIND`, such as skipped; repeatable", &f.request.Kinds, parseEventKind)
		parsed(&f.binder, "from", "events from `TIME` on, -1h for an hour ago", &f.request.From, at)
		parsed(&f.binder, "to", "events up to `TIME`", &f.request.To, at)
		flags.IntVar(&f.newest, "newest", 0, "the last `N` events only; 0 shows all")
		flags.IntVar(&f.limit, "limit", 0, "the first `N` events only; 0 shows all")
	})
	f.output.define(cmd)
}

// check completes the request.
func (f *historyFlags) check() error {
	if err := f.apply(); err != nil {
		return err
	}
	switch {
	case f.newest < 0 || f.newest > schedule.MaxPageSize:
		return usagef("--newest: %d is out of range: use 1 to %d", f.newest, schedule.MaxPageSize)
	case f.limit < 0:
		return usagef("--limit: %d is less than 0", f.limit)
	}
	f.request.Newest = f.newest > 0
	f.request.PageSize = cmp.Or(f.newest, min(f.limit, schedule.MaxPageSize), schedule.MaxPageSize)
	return nil
}

func parseEventKind(text string) (schedule.EventKind, error) {
	var known []string
	for _, kind := range schedule.EventKinds() {
		known = append(known, string(kind))
	}
	if !slices.Contains(known, text) {
		return "", fmt.Errorf("%q is not a kind of event%s; use one of %s", text, flagconf.Suggest(text, known, ""),
			strings.Join(known, ", "))
	}
	return schedule.EventKind(text), nil
}

// history prints events page by page, so that a long history needs no more memory than a short one.
func (a *app) history(ctx context.Context, api *client.Client, flags *historyFlags) error {
	out := bufio.NewWriter(a.env.Stdout)
	printer := a.eventPrinter(out, flags.output, render.EventMoment, flags.request.ID == "")
	err := printHistory(ctx, api, flags, printer, printer.lines.Header(a.env.Now()))
	return cmp.Or(out.Flush(), err)
}

func printHistory(
	ctx context.Context, api *client.Client, flags *historyFlags, printer eventPrinter, header string,
) error {
	count := 0
	for event, err := range api.Events(ctx, flags.request) {
		if err != nil {
			return err
		}
		if count == 0 {
			if err := printer.line(header); err != nil {
				return err
			}
		}
		if err := printer.event(&event); err != nil {
			return err
		}
		if count++; count == flags.limit {
			break
		}
	}
	if count == 0 {
		return printer.line("no events")
	}
	return nil
}

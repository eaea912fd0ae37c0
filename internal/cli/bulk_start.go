package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

// bulkFlags are the flags of the commands that start a bulk operation.
type bulkFlags struct {
	request           schedule.StartBulkRequest
	selection         selectionFlags
	dryRun, yes, wait bool
	// label and remove name the label of set-label.
	label, remove string
	output        outputFlag
	binder
}

// bulkStartCommands are the commands that start bulk operations.
func (a *app) bulkStartCommands() []*cobra.Command {
	return []*cobra.Command{
		a.bulkStartCommand(schedule.BulkPause, cobra.Command{
			Use:     "pause ID...|--query QUERY|--id-prefix TEXT|--all [flags]",
			Short:   "Stop the automatic actions of many schedules",
			Example: "  carillon bulk pause --id-prefix report- --note \"see ticket 4711\"\n  carillon bulk pause --all --yes --wait",
		}),
		a.bulkStartCommand(schedule.BulkUnpause, cobra.Command{
			Use:     "unpause ID...|--query QUERY|--id-prefix TEXT|--all [flags]",
			Short:   "Let the automatic actions of many schedules go on",
			Example: "  carillon bulk unpause --query \"paused = true and taskQueue = 'billing'\"",
		}),
		a.bulkStartCommand(schedule.BulkTrigger, cobra.Command{
			Use:     "trigger ID...|--query QUERY|--id-prefix TEXT|--all [flags]",
			Short:   "Start one run of each of many schedules",
			Example: "  carillon bulk trigger --id-prefix report- --overlap buffer_one --rate 5",
		}),
		a.bulkStartCommand(schedule.BulkDelete, cobra.Command{
			Use:     "delete ID...|--query QUERY|--id-prefix TEXT|--all [flags]",
			Short:   "Delete many schedules",
			Example: "  carillon bulk delete --id-prefix test- --dry-run\n  carillon bulk delete --id-prefix test- --yes --wait",
		}),
		a.bulkStartCommand(schedule.BulkSetLabel, cobra.Command{
			Use:   "set-label ID...|--query QUERY|--id-prefix TEXT|--all [flags]",
			Short: "Set or remove an entry of the memo of many schedules",
			Example: "  carillon bulk set-label --id-prefix report- --label team=finance\n" +
				"  carillon bulk set-label --all --remove-label team",
		}),
	}
}

func (a *app) bulkStartCommand(operation schedule.BulkOperation, cmd cobra.Command) *cobra.Command {
	var flags bulkFlags
	cmd.Long = cmd.Short + `, in the background.

It shows how many they are and asks before it begins. With --wait it shows the
progress, and fails if a schedule could not be dealt with.`
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		flags.request.Operation = operation
		if err := flags.check(cmd, args); err != nil {
			return err
		}
		return a.bulk(cmd.Context(), &flags)
	}
	flags.define(&cmd, a.env, operation)
	return &cmd
}

func (f *bulkFlags) define(cmd *cobra.Command, env Env, operation schedule.BulkOperation) {
	f.selection.define(cmd)
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		f.flags = flags
		f.exclusive(env.Stderr, "label", "remove-label")
		switch operation {
		case schedule.BulkPause, schedule.BulkUnpause:
			f.string("note", "replace the notes of each schedule by `TEXT`", &f.request.Note)
		case schedule.BulkTrigger:
			f.string("note", "`TEXT` for the event history", &f.request.Note)
			f.overlap(&f.request.Overlap, "`POLICY` for these runs; that of each schedule if not given")
		case schedule.BulkDelete:
			f.runs(&f.request.Runs, schedule.RunsPolicies()...)
		case schedule.BulkSetLabel:
			flags.StringVar(&f.label, "label", "", "set the label by `NAME=TEXT`")
			flags.StringVar(&f.remove, "remove-label", "", "remove the label `NAME`")
		}
		flags.IntVar(&f.request.Rate, "rate", schedule.DefaultBulkRate, "deal with `N` schedules in a second")
		flags.BoolVar(&f.dryRun, "dry-run", false, "show what would be done, and do nothing")
		flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
		flags.BoolVar(&f.wait, "wait", false, "show the progress until all schedules have been dealt with")
	})
	f.output.define(cmd)
}

func (f *bulkFlags) check(cmd *cobra.Command, args []string) error {
	if err := f.selection.check(cmd, args); err != nil {
		return err
	}
	if err := f.apply(); err != nil {
		return err
	}
	f.request.Selection = f.selection.Selection
	if f.request.Operation == schedule.BulkSetLabel {
		label, err := f.labelFlag()
		if err != nil {
			return err
		}
		f.request.Label = label
	}
	if f.request.Rate < 1 {
		return usagef("--rate: %d is out of range: use 1 to %d", f.request.Rate, schedule.MaxBulkRate)
	}
	return f.request.Validate()
}

func (f *bulkFlags) labelFlag() (*schedule.Label, error) {
	name, value, ok := strings.Cut(f.label, "=")
	switch {
	case f.label == "" && f.remove == "":
		return nil, usagef("use one of --label NAME=TEXT and --remove-label NAME")
	case f.remove != "":
		return &schedule.Label{Name: f.remove}, nil
	case !ok || name == "":
		return nil, usagef("--label: %q is not NAME=TEXT; --remove-label removes a label", f.label)
	}
	return &schedule.Label{Name: name, Value: &value}, nil
}

// bulk shows what will be done, asks for confirmation, starts the operation, and waits for its end if a flag says so.
func (a *app) bulk(ctx context.Context, flags *bulkFlags) error {
	return a.callAPI(ctx, "", func(ctx context.Context, api *client.Client) error {
		preview := flags.request
		preview.DryRun = true
		selected, err := api.StartBulk(ctx, preview)
		if err != nil {
			return err
		}
		if flags.dryRun || selected.Count == 0 {
			return a.print(flags.output, selected, func(w io.Writer) error {
				return render.BulkPreview(w, &flags.request.BulkTask, &selected)
			})
		}
		if err := a.confirmBulk(flags, &selected); err != nil {
			return err
		}
		started, err := api.StartBulk(ctx, flags.request)
		if err != nil {
			return err
		}
		if flags.wait {
			return a.waitForBulk(ctx, api, flags.output, started)
		}
		return a.print(flags.output, started, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "started %s: %s %s\n\"carillon bulk watch %s\" follows it\n", started.JobID,
				render.BulkTask(&flags.request.BulkTask), plural(started.Count, "schedule"), started.JobID)
			return err
		})
	})
}

// confirmBulk asks whether to go ahead.
func (a *app) confirmBulk(flags *bulkFlags, selected *schedule.StartBulkReply) error {
	if flags.yes {
		return nil
	}
	if !a.canAsk() {
		return usagef("there is nobody to ask whether to %s %s: give --yes to go ahead, or --dry-run to look",
			render.BulkTask(&flags.request.BulkTask), plural(selected.Count, "schedule"))
	}
	if err := render.BulkPreview(a.env.Stderr, &flags.request.BulkTask, selected); err != nil {
		return err
	}
	return a.ask("Do it?")
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

// applyFlags are the flags of apply and diff.
type applyFlags struct {
	file, set          string
	prune, yes, dryRun bool
	output             outputFlag
}

func (a *app) applyCommand() *cobra.Command {
	var flags applyFlags
	cmd := &cobra.Command{
		Use:   "apply --file FILE|DIR [flags]",
		Short: "Make the schedules what files say",
		Long: `Creates the schedules of files that are not there, updates those that differ, and
leaves alone those that are as they should be, so that it can be repeated. It
shows the differences and asks before it changes anything. A file holds one or
more schedules as YAML, separated by "---", as "carillon schedule export" writes
them; a folder stands for all files in it.

What a file says counts, also where it says the default, such as "paused: false".
Whether a schedule is paused, and how many actions it has left, stays as it is where a
file names no field of "state". What "carillon schedule describe" prints can be
applied as well: what it computes is left out then.

All files are read first: if anything is wrong with one, all of that is named and
nothing is changed. With --set the schedules are marked as
belonging together, and --prune deletes those of the set that no file names any
more. One that fails does not keep the others from being tried; the exit code is
1 then.`,
		Example: `  carillon schedule apply --file schedules/
  carillon schedule apply --file schedules/ --set billing --prune --yes
  carillon schedule export | ssh other carillon schedule apply --yes --file -`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.apply(cmd.Context(), &flags) },
	}
	flags.define(cmd)
	addFlags(cmd, "Changes", func(f *pflag.FlagSet) {
		f.BoolVarP(&flags.yes, "yes", "y", false, "do not ask")
		f.BoolVar(&flags.dryRun, "dry-run", false, "show what would be done, and do nothing")
	})
	return cmd
}

func (a *app) diffCommand() *cobra.Command {
	var flags applyFlags
	cmd := &cobra.Command{
		Use:   "diff --file FILE|DIR [flags]",
		Short: "Show how the schedules differ from what files say",
		Long: `Shows what "carillon schedule apply" would change. The exit code is 0 if there is
nothing, and 1 if there is.`,
		Example: "  carillon schedule diff --file schedules/",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags.dryRun = true
			return a.diff(cmd.Context(), &flags)
		},
	}
	flags.define(cmd)
	return cmd
}

func (f *applyFlags) define(cmd *cobra.Command) {
	addFlags(cmd, "Files", func(flags *pflag.FlagSet) {
		flags.StringVarP(&f.file, "file", "f", "", "read schedules from `FILE`, a folder, or - for standard input")
		flags.StringVar(&f.set, "set", "", "mark the schedules as of the set `NAME`, in the memo of their action")
		flags.BoolVar(&f.prune, "prune", false, "delete the schedules of the set that no file names")
	})
	f.output.define(cmd)
}

func (f *applyFlags) check() error {
	switch {
	case f.file == "":
		return usagef("--file is missing: name a file or a folder with schedules")
	case f.prune && f.set == "":
		return usagef("--prune needs --set: it deletes the schedules of that set only")
	}
	return nil
}

// errApply says that some schedules are not in the wanted state. The output says which.
var errApply = errors.New("not all schedules could be applied")

func (a *app) apply(ctx context.Context, flags *applyFlags) error {
	return a.withPlan(ctx, flags, func(ctx context.Context, api *client.Client, steps []applyStep) error {
		if flags.dryRun || !changes(steps) {
			return a.printSteps(flags.output, steps, true)
		}
		if err := a.confirm(flags, steps); err != nil {
			return err
		}
		failed := false
		for i := range steps {
			if err := carryOut(ctx, api, &steps[i]); err != nil {
				steps[i].Error, failed = err.Error(), true
			}
		}
		if err := a.printSteps(flags.output, steps, false); err != nil {
			return err
		}
		if failed {
			return errApply
		}
		return nil
	})
}

func (a *app) diff(ctx context.Context, flags *applyFlags) error {
	return a.withPlan(ctx, flags, func(_ context.Context, _ *client.Client, steps []applyStep) error {
		if err := a.printSteps(flags.output, steps, true); err != nil || !changes(steps) {
			return err
		}
		return errors.New("the schedules differ: " + summaryOf(steps))
	})
}

// withPlan reads the files, makes a plan, and calls a function with it.
func (a *app) withPlan(
	ctx context.Context, flags *applyFlags, do func(context.Context, *client.Client, []applyStep) error,
) error {
	if err := flags.check(); err != nil {
		return err
	}
	wanted, err := a.env.readManifests(flags.file, a.global.namespace)
	if err != nil {
		return err
	}
	if flags.set != "" {
		if err := mark(wanted, flags.set); err != nil {
			return err
		}
	}
	return a.callAPI(ctx, "", func(ctx context.Context, api *client.Client) error {
		current, err := currentOf(ctx, api, wanted, flags)
		if err != nil {
			return err
		}
		steps, err := planApply(wanted, current)
		if err != nil {
			return err
		}
		a.foresee(steps)
		return do(ctx, api, steps)
	})
}

// foresee adds warnings about the times of the schedules that are to be created or updated.
func (a *app) foresee(steps []applyStep) {
	for i := range steps {
		if step := &steps[i]; step.Action == applyCreate || step.Action == applyUpdate {
			step.Warnings = a.specWarnings(step.wanted.Spec)
		}
	}
}

// currentOf returns the stored schedules that the files name. With --prune it also returns the schedules of the set, which may have to be
// deleted.
func currentOf(
	ctx context.Context, api *client.Client, wanted []manifest, flags *applyFlags,
) (map[string]schedule.Description, error) {
	current := map[string]schedule.Description{}
	for i := range wanted {
		description, err := api.Describe(ctx, wanted[i].ID)
		if schedule.CodeOf(err) == schedule.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		current[wanted[i].ID] = description
	}
	if !flags.prune {
		return current, nil
	}
	for description, err := range api.All(ctx, "") {
		if err != nil {
			return nil, err
		}
		if isOfSet(&description.Schedule, flags.set) {
			current[description.ID] = description
		}
	}
	return current, nil
}

// carryOut does one step. If somebody has changed the schedule since the plan was made, it leaves the schedule alone.
func carryOut(ctx context.Context, api *client.Client, step *applyStep) error {
	var err error
	var done schedule.Description
	switch step.Action {
	case applyCreate:
		done, err = api.Create(ctx, schedule.CreateRequest{ID: step.ID, Schedule: step.wanted})
	case applyUpdate:
		done, err = api.Update(ctx, schedule.UpdateRequest{ID: step.ID, Schedule: step.wanted, ConflictToken: step.token})
	case applyDelete:
		err = api.DeleteVersion(ctx, schedule.DeleteRequest{ID: step.ID, ConflictToken: step.token})
		if schedule.CodeOf(err) == schedule.CodeNotFound {
			return nil
		}
	}
	step.told(done.Info.Warnings)
	if fieldOf(err) == fieldToken {
		return errors.New("has been changed by somebody else in the meantime: look at the difference, and apply again")
	}
	return err
}

// told adds the warnings in an answer whose code was not foreseen. It compares codes, since the text of a warning about the present moment
// changes.
func (s *applyStep) told(answered []schedule.Notice) {
	foreseen := s.Warnings
	for _, notice := range answered {
		if !slices.ContainsFunc(foreseen, func(n schedule.Notice) bool { return n.Code == notice.Code }) {
			s.Warnings = append(s.Warnings, notice)
		}
	}
}

// confirm shows what will be done, and asks for confirmation.
func (a *app) confirm(flags *applyFlags, steps []applyStep) error {
	if flags.yes {
		return nil
	}
	if !a.canAsk() || flags.file == "-" {
		return usagef("there is nobody to ask: give --yes to apply without being asked, or --dry-run to look")
	}
	printDiffs(a.env.Stderr, steps)
	if err := a.printWarnings(flags.output, steps); err != nil {
		return err
	}
	return a.ask(summaryOf(steps) + ". Do it?")
}

// printWarnings shows people the warnings about steps that they have not seen yet.
func (a *app) printWarnings(output outputFlag, steps []applyStep) error {
	for i := range steps {
		step := &steps[i]
		if output.quiet || step.Error != "" {
			continue
		}
		if err := render.Warnings(a.env.Stderr, step.ID, step.Warnings[step.warned:]); err != nil {
			return err
		}
		step.warned = len(step.Warnings)
	}
	return nil
}

// printSteps prints the planned or finished steps with their warnings.
func (a *app) printSteps(output outputFlag, steps []applyStep, planned bool) error {
	if err := a.printStepsAlone(output, steps, planned); err != nil {
		return err
	}
	return a.printWarnings(output, steps)
}

func (a *app) printStepsAlone(output outputFlag, steps []applyStep, planned bool) error {
	return a.print(output, struct {
		Schedules []applyStep `json:"schedules"`
	}{steps}, func(w io.Writer) error {
		if planned {
			printDiffs(w, steps)
			_, err := fmt.Fprintln(w, summaryOf(steps))
			return err
		}
		done := map[string]string{applyCreate: "created", applyUpdate: "updated", applyDelete: "deleted", applyKeep: "unchanged"}
		for i := range steps {
			step := &steps[i]
			if step.Error != "" {
				_, _ = fmt.Fprintf(w, "failed %s: %s\n", step.ID, step.Error)
				continue
			}
			_, _ = fmt.Fprintf(w, "%s %s\n", done[step.Action], step.ID)
		}
		return nil
	})
}

func printDiffs(w io.Writer, steps []applyStep) {
	for i := range steps {
		switch step := &steps[i]; step.Action {
		case applyKeep:
		case applyDelete:
			_, _ = fmt.Fprintf(w, "delete %s\n", step.ID)
		default:
			_, _ = fmt.Fprintf(w, "%s %s (%s)\n%s", step.Action, step.ID, step.File, step.Diff)
		}
	}
}

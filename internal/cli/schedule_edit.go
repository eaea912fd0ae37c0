package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) editCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "edit ID [flags]",
		Short: "Change a schedule in an editor",
		Long: `Opens a schedule as YAML in the editor that $VISUAL or $EDITOR names, else in vi,
and changes it when the editor ends. Text that is no valid schedule is opened
again, with the error on top; left as it is a second time, or empty, it changes
nothing. If somebody else changes the schedule in the meantime, nothing is done
and the text is kept.`,
		Example: `  carillon schedule edit report
  EDITOR="code --wait" carillon schedule edit report`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.edit(cmd.Context(), output, args[0])
		},
	}
	output.define(cmd)
	return cmd
}

func (a *app) edit(ctx context.Context, output outputFlag, id string) error {
	var current schedule.Description
	err := a.callAPI(ctx, id, func(ctx context.Context, api *client.Client) (err error) {
		current, err = api.Describe(ctx, id)
		return err
	})
	if err != nil {
		return err
	}
	draft, err := newDraft(&current)
	if err != nil {
		return err
	}
	request := schedule.UpdateRequest{ID: id, ConflictToken: current.ConflictToken}
	// No connection is kept while a person thinks.
	if request.Schedule, err = draft.edit(ctx, a.editorEnv(output)); err != nil {
		return draft.give(err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt) // the editor had it for itself
	defer stop()
	if !draft.changed {
		draft.remove()
		return a.print(output, current, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, "nothing changed")
			return err
		})
	}
	err = a.callAPI(ctx, id, func(ctx context.Context, api *client.Client) error {
		current, err = api.Update(ctx, request)
		return err
	})
	if fieldOf(err) == fieldToken {
		return withHint(fmt.Errorf("%s has been changed by somebody else: nothing was done, and your text is in %s", id, draft.path),
			"look at it with: carillon schedule describe %s; yours goes over it with: carillon schedule update %s --file %s",
			id, id, draft.path)
	}
	if err != nil {
		return draft.give(err)
	}
	draft.remove()
	return a.printPlanned(output, "updated", current)
}

// editorEnv is what an editor runs in: what it writes must not get between the JSON or YAML of an answer.
func (a *app) editorEnv(output outputFlag) Env {
	env := a.env
	if !output.forPeople() {
		env.Stdout = env.Stderr
	}
	return env
}

// give adds to an error where the text is that somebody has typed, and removes the file if that is nowhere else.
func (d *draft) give(err error) error {
	if !d.changed {
		d.remove()
		return err
	}
	// The end of the context is no reason to say nothing: there is a file to tell of.
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%v; your text is in %s", err, d.path)
	}
	return fmt.Errorf("%w; your text is in %s", err, d.path)
}

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
	// Keep no connection open while a person edits.
	if request.Schedule, err = draft.edit(ctx, a.editorEnv(output)); err != nil {
		return draft.give(err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt) // until now, Ctrl-C was for the editor alone
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

// editorEnv returns the environment of the editor. If the answer is JSON or YAML, the editor writes to standard error instead of mixing its
// output into the answer.
func (a *app) editorEnv(output outputFlag) Env {
	env := a.env
	if !output.forPeople() {
		env.Stdout = env.Stderr
	}
	return env
}

// give adds to an error the path of the file with the user's text. It removes the file if the user has typed nothing.
func (d *draft) give(err error) error {
	if !d.changed {
		d.remove()
		return err
	}
	// Say where the file is even if the context has ended. Wrapping the error would hide the message.
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%v; your text is in %s", err, d.path)
	}
	return fmt.Errorf("%w; your text is in %s", err, d.path)
}

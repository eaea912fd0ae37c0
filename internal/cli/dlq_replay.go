package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
)

// maxReplayErrors bounds the errors that one command shows: a thousand letters may fail for the same reason.
const maxReplayErrors = 10

func (a *app) dlqReplayCommand() *cobra.Command {
	var output outputFlag
	var choice letterChoice
	cmd := &cobra.Command{
		Use:   "replay SEQ...|--all [flags]",
		Short: "Send the messages of dead letters again to where they were",
		Long: `Sends the messages of dead letters again to where they were, and removes the
letters. First repair what made the messages fail. A letter whose message cannot be
sent stays, and the others are sent all the same. Repeating the command does no harm.
A letter of a worker is only sent to its own task queue. --all leaves out letters
that any worker may have written.`,
		Example: `  carillon dlq replay 17 w4
  carillon dlq replay --all --schedule report`,
		RunE: func(cmd *cobra.Command, args []string) error {
			numbers, err := choice.numbers(cmd, args)
			if err != nil {
				return err
			}
			filter := a.filter(cmd, choice.letterFilter)
			return a.changeLetters(cmd.Context(), func(ctx context.Context, reader *deadletter.Reader) error {
				replay := reader.ReplaySeen
				var unproven []deadletter.Number
				if choice.all {
					replay = reader.Replay
					if numbers, unproven, err = listNumbers(ctx, reader, filter); err != nil {
						return err
					}
				}
				replayed, failed := replayAll(ctx, replay, numbers)
				err := a.print(output, replayed, func(w io.Writer) error { return render.Replayed(w, replayed) })
				return errors.Join(err, failed, tellLeftOut(cmd.ErrOrStderr(), unproven))
			})
		},
	}
	choice.define(cmd)
	output.define(cmd)
	return cmd
}

// listNumbers returns the letters that a filter chooses. It returns separately the letters that do not prove their origin.
func listNumbers(
	ctx context.Context, reader *deadletter.Reader, filter deadletter.Filter,
) (numbers, unproven []deadletter.Number, err error) {
	letters, err := reader.List(ctx, filter)
	for i := range letters {
		if letters[i].Unproven {
			unproven = append(unproven, letters[i].Number)
		} else {
			numbers = append(numbers, letters[i].Number)
		}
	}
	return numbers, unproven, err
}

// tellLeftOut names the letters that were left out, for a person to examine.
func tellLeftOut(w io.Writer, unproven []deadletter.Number) error {
	if len(unproven) == 0 {
		return nil
	}
	shown := unproven[:min(len(unproven), maxReplayErrors)]
	names := make([]string, len(shown))
	for i, number := range shown {
		names[i] = number.String()
	}
	more := ""
	if rest := len(unproven) - len(shown); rest > 0 {
		more = fmt.Sprintf(" and %d more", rest)
	}
	_, err := fmt.Fprintf(w, "warning: left out %s that any worker may have written: %s%s; look at each with carillon dlq show, then replay it by its number\n",
		countLetters(len(unproven)), strings.Join(names, " "), more)
	return err
}

// replayAll sends the messages again, the oldest first, in their original order. It goes on when one fails.
func replayAll(
	ctx context.Context, replay func(context.Context, deadletter.Number) (deadletter.Replayed, error), numbers []deadletter.Number,
) ([]deadletter.Replayed, error) {
	replayed := []deadletter.Replayed{}
	var failed []error
	for _, number := range numbers {
		if ctx.Err() != nil {
			return replayed, ctx.Err()
		}
		one, err := replay(ctx, number)
		if one.Sequence != 0 {
			replayed = append(replayed, one)
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	if rest := len(failed) - maxReplayErrors; rest > 0 {
		failed = append(failed[:maxReplayErrors:maxReplayErrors], fmt.Errorf("and %d more", rest))
	}
	return replayed, errors.Join(failed...)
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
)

// maxReplayErrors is how many errors of one command are shown; a thousand letters may fail for one reason.
const maxReplayErrors = 10

func (a *app) dlqReplayCommand() *cobra.Command {
	var output outputFlag
	var choice letterChoice
	cmd := &cobra.Command{
		Use:   "replay SEQ...|--all [flags]",
		Short: "Send the messages of dead letters again, where they were",
		Long: `Sends the messages of dead letters again, where they were, once what made them
fail is repaired; the letters are gone then. A letter whose message cannot be
sent stays, and the others are sent all the same. To repeat it does no harm.`,
		Example: `  carillon dlq replay 17 18
  carillon dlq replay --all --schedule report`,
		RunE: func(cmd *cobra.Command, args []string) error {
			sequences, err := choice.sequences(cmd, args)
			if err != nil {
				return err
			}
			filter := a.filter(cmd, choice.letterFilter)
			return a.callLetters(cmd.Context(), func(ctx context.Context, reader *deadletter.Reader) error {
				if choice.all {
					if sequences, err = listSequences(ctx, reader, filter); err != nil {
						return err
					}
				}
				replayed, failed := replayAll(ctx, reader, sequences)
				err := a.print(output, replayed, func(w io.Writer) error { return render.Replayed(w, replayed) })
				return errors.Join(err, failed)
			})
		},
	}
	choice.define(cmd)
	output.define(cmd)
	return cmd
}

func listSequences(ctx context.Context, reader *deadletter.Reader, filter deadletter.Filter) ([]uint64, error) {
	letters, err := reader.List(ctx, filter)
	sequences := make([]uint64, len(letters))
	for i := range letters {
		sequences[i] = letters[i].Sequence
	}
	return sequences, err
}

// replayAll sends the oldest first, as the messages came, and goes on when one fails.
func replayAll(ctx context.Context, reader *deadletter.Reader, sequences []uint64) ([]deadletter.Replayed, error) {
	replayed := []deadletter.Replayed{}
	var failed []error
	for _, sequence := range sequences {
		if ctx.Err() != nil {
			return replayed, ctx.Err()
		}
		one, err := reader.Replay(ctx, sequence)
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

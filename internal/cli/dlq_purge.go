package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/deadletter"
)

// purged is the answer of dlq purge.
type purged struct {
	Purged int `json:"purged"`
}

func (a *app) dlqPurgeCommand() *cobra.Command {
	var output outputFlag
	var choice letterChoice
	var yes bool
	cmd := &cobra.Command{
		Use:   "purge SEQ...|--all [flags]",
		Short: "Remove dead letters for good",
		Long: `Removes dead letters for good. What they asked for will not be done; "carillon dlq
replay" sends them again instead.`,
		Example: `  carillon dlq purge 17 18
  carillon dlq purge --all --pool worker --yes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			numbers, err := choice.numbers(cmd, args)
			if err != nil {
				return err
			}
			if choice.all && !yes {
				return withHint(usagef("--all removes messages for good: say --yes as well"),
					"carillon dlq list with the same flags shows which")
			}
			filter := a.filter(cmd, choice.letterFilter)
			return a.changeLetters(cmd.Context(), func(ctx context.Context, reader *deadletter.Reader) error {
				count, failed := purge(ctx, reader, numbers, filter)
				if failed != nil && count == 0 {
					return failed
				}
				if err := a.print(output, purged{count}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "purged %s\n", countLetters(count))
					return err
				}); err != nil {
					return err
				}
				return failed
			})
		},
	}
	choice.define(cmd)
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		flags.BoolVar(&yes, "yes", false, "go ahead with --all")
	})
	output.define(cmd)
	return cmd
}

// purge removes the letters with the given numbers, or without any, the letters that a filter chooses.
func purge(
	ctx context.Context, reader *deadletter.Reader, numbers []deadletter.Number, filter deadletter.Filter,
) (count int, err error) {
	if len(numbers) == 0 {
		return reader.Purge(ctx, filter)
	}
	for _, number := range numbers {
		if err := reader.Delete(ctx, number); err != nil {
			return count, err
		}
		count++
	}
	return count, nil
}

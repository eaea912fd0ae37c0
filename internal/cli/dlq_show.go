package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
)

func (a *app) dlqShowCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "show SEQ [flags]",
		Short: "Show a dead letter: why, where from, and what is in it",
		Long: `Shows a dead letter: why it is one, where the message was, its headers and its
body. What the pools say to each other is shown as JSON, like JSON itself; other
bytes in hexadecimal. A long body is cut; -o json and yaml have all of it.`,
		Example: `  carillon dlq show 17
  carillon dlq show 17 -o json | jq .body.value`,
		Args: exactly("SEQ"),
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := parseNumber(args[0])
			if err != nil {
				return err
			}
			return a.callLetters(cmd.Context(), func(ctx context.Context, reader *deadletter.Reader) error {
				message, err := reader.Get(ctx, number)
				if err != nil {
					return err
				}
				return a.print(output, message, func(w io.Writer) error { return render.LetterShown(w, &message, a.view()) })
			})
		},
	}
	output.define(cmd)
	return cmd
}

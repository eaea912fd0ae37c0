package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
)

func (a *app) dlqListCommand() *cobra.Command {
	var output outputFlag
	var choice letterFilter
	var limit int
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List dead letters, the newest last",
		Long: `Lists dead letters, the newest last: those of all namespaces, unless --namespace
is given.`,
		Example: `  carillon dlq list --limit 20
  carillon dlq list --schedule report -o json | jq -r '.[].reason'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usagef("--limit: %d is less than 0", limit)
			}
			filter := a.filter(cmd, choice)
			filter.Limit = limit
			return a.callLetters(cmd.Context(), func(ctx context.Context, reader *deadletter.Reader) error {
				letters, err := reader.List(ctx, filter)
				if err != nil {
					return err
				}
				number := func(l *deadletter.Letter) string { return l.Number.String() }
				return printList(a, output, letters, number, func(w io.Writer) error {
					return render.Letters(w, letters, a.view())
				})
			})
		},
	}
	choice.define(cmd)
	addFlags(cmd, "Filter", func(flags *pflag.FlagSet) {
		flags.IntVar(&limit, "limit", 0, "the newest `N` only; 0 lists all")
	})
	output.defineList(cmd)
	return cmd
}

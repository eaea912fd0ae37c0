package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func (a *app) dlqCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dlq",
		Short: "Deal with messages that could not be processed",
		Long: `Shows, sends again and removes dead letters: messages that no pool or worker
could process. The numbers of messages to and from workers begin with w. These
commands talk to NATS directly and need no other process of Carillon, so that
they also work when no frontend does. docs/dead-letters.md says more.`,
		Example: `  carillon dlq list
  carillon dlq show 17
  carillon dlq replay 17`,
	}
	makeParent(cmd)
	cmd.AddCommand(a.dlqListCommand(), a.dlqShowCommand(), a.dlqReplayCommand(), a.dlqPurgeCommand())
	return cmd
}

// callLetters connects to NATS, makes a call and closes the connection.
func (a *app) callLetters(ctx context.Context, call func(context.Context, *deadletter.Reader) error) error {
	conn, js, err := a.connectOwner()
	if err != nil {
		return err
	}
	defer conn.Close()
	return explainLetters(call(ctx, deadletter.NewReader(js, a.global.names).As(a.identity())))
}

// changeLetters is callLetters for a call that changes something.
func (a *app) changeLetters(ctx context.Context, call func(context.Context, *deadletter.Reader) error) error {
	conn, js, err := a.connectToChange(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return explainLetters(call(ctx, deadletter.NewReader(js, a.global.names).As(a.identity())))
}

// explainLetters adds to an error a hint at what to do.
func explainLetters(err error) error {
	if schedule.CodeOf(err) == schedule.CodeNotFound {
		return withHint(err, "carillon dlq list shows the dead letters")
	}
	return err
}

// letterFilter holds the flags that choose dead letters.
type letterFilter struct{ pool, schedule, workflow string }

func (f *letterFilter) define(cmd *cobra.Command) {
	addFlags(cmd, "Filter", func(flags *pflag.FlagSet) {
		flags.Var(flagconf.NewEnum(&f.pool,
			append(subjects.Pools(), deadletter.Worker)...),
			"pool", "those that `POOL` gave up: "+strings.Join(subjects.Pools(), ", ")+" or "+deadletter.Worker)
		flags.StringVar(&f.schedule, "schedule", "", "those known to be about schedule `ID` of the namespace")
		flags.StringVar(&f.workflow, "workflow-id", "", "those known to be about workflow `ID` of the namespace")
	})
}

// filter returns the filter that the flags describe. The namespace counts only if the user has chosen it or has named a schedule or workflow. Otherwise
// a person who looks for a fault would not see letters of other namespaces, or of no namespace.
func (a *app) filter(cmd *cobra.Command, f letterFilter) deadletter.Filter {
	filter := deadletter.Filter{Pool: f.pool, ScheduleID: f.schedule, WorkflowID: f.workflow}
	if f.schedule != "" || f.workflow != "" || cmd.Flags().Changed("namespace") {
		filter.Namespace = a.global.namespace
	}
	return filter
}

// letterChoice says which letters a command is about: some by number, or all that a filter chooses.
type letterChoice struct {
	all bool
	letterFilter
}

func (c *letterChoice) define(cmd *cobra.Command) {
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		flags.BoolVar(&c.all, "all", false, "all dead letters, or all that --pool, --schedule, --workflow-id and --namespace choose")
	})
	c.letterFilter.define(cmd)
}

// numbers reads the arguments as numbers. No numbers means all letters, which needs --all.
func (c *letterChoice) numbers(cmd *cobra.Command, args []string) ([]deadletter.Number, error) {
	err := alternatives{"all pool schedule workflow-id"}.choose(cmd.ErrOrStderr(), cmd.Flags(), args...)
	if err == nil && !c.all && len(args) == 0 {
		err = usagef("SEQ or --all is missing")
	}
	if err != nil {
		return nil, withHint(err, "usage: %s", cmd.UseLine())
	}
	numbers := make([]deadletter.Number, len(args))
	for i, text := range args {
		var err error
		if numbers[i], err = parseNumber(text); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

// parseNumber reads the number of a dead letter.
func parseNumber(text string) (deadletter.Number, error) {
	number, err := deadletter.ParseNumber(text)
	if err != nil {
		return number, usagef("%v", err)
	}
	return number, nil
}

// countLetters writes "1 dead letter" or "5 dead letters".
func countLetters(n int) string {
	if n == 1 {
		return "1 dead letter"
	}
	return fmt.Sprintf("%d dead letters", n)
}

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

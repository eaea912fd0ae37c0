package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/diagnosis"
)

// healthAnswer is what cluster health prints.
type healthAnswer struct {
	Status diagnosis.Status  `json:"status"`
	Checks []diagnosis.Check `json:"checks"`
}

var (
	errUnhealthy = errors.New("something is wrong")
	errWarned    = errors.New("there are warnings")
)

func (a *app) clusterHealthCommand() *cobra.Command {
	var output outputFlag
	var strict bool
	cmd := &cobra.Command{
		Use:   "health [flags]",
		Short: "Say what is wrong with an installation, and what to do about it",
		Long: `Looks at everything that an installation needs: NATS and JetStream, streams and
buckets, their replicas and room, clocks, frontends, time zone data, the processes of
each pool and how far behind they are, workers and dead letters. Each check is ok, a
warning or failed, and says what to do next. The exit code is 1 if one has failed, or
with --strict if there is a warning.`,
		Example: `  carillon cluster health
  carillon cluster health --strict --quiet || page-somebody
  carillon cluster health -o jsonl | jq -r 'select(.status != "ok") | .next'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			facts, err := a.gatherFacts(cmd.Context())
			if err != nil {
				return err
			}
			checks := diagnosis.Checks(facts)
			answer := healthAnswer{Status: diagnosis.Worst(checks), Checks: checks}
			if err := a.printHealth(output, &answer); err != nil {
				return err
			}
			return healthError(answer.Status, strict)
		},
	}
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		flags.BoolVar(&strict, "strict", false, "exit with 1 if there is a warning")
	})
	output.define(cmd)
	return cmd
}

// printHealth prints the checks; as jsonl, a format for lists, it prints one check per line.
func (a *app) printHealth(output outputFlag, answer *healthAnswer) error {
	if output.format == outputJSONL {
		return a.print(output, answer.Checks, nil)
	}
	return a.print(output, answer, func(w io.Writer) error { return render.Health(w, answer.Checks, a.view()) })
}

// healthError is the error for an unhealthy installation. The checks have already printed the reasons.
func healthError(status diagnosis.Status, strict bool) error {
	switch {
	case status == diagnosis.Failed:
		return errUnhealthy
	case status == diagnosis.Warning && strict:
		return errWarned
	}
	return nil
}

// gatherFacts asks NATS about the state of the installation.
func (a *app) gatherFacts(ctx context.Context) (*diagnosis.Facts, error) {
	conn, js, err := a.connectOwner()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return diagnosis.Gather(ctx, diagnosis.Config{Conn: conn, JS: js, Names: a.global.names, Now: a.env.Now})
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/carillon-scheduler/carillon/internal/chaos"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// chaosOptions are the flags of the chaos command.
type chaosOptions struct {
	chaos.Config
	// seed is empty if a random one is to be chosen.
	seed string
	json bool
}

func (a *app) chaosCommand() *cobra.Command {
	var o chaosOptions
	cmd := &cobra.Command{
		Use:   "chaos [flags]",
		Short: "Run an installation under faults on this machine, and check that no action is missed or doubled",
		Long: `Runs an installation of its own, three NATS nodes and two processes of each role,
and for a while kills, suspends and cuts off its processes at random, while
schedules of every overlap policy fire and are triggered, backfilled, paused and
updated, and workflows of Temporal's SDK run and get signals. Then it compares
what has run, and the events, with what the specs ask for.

The exit code is 1 if an action or a workflow was missed or doubled, or an
acknowledged request is lost; data and logs are kept then. See
docs/reliability/README.md.`,
		Example: `  carillon chaos --duration 2m
  carillon chaos --duration 30m --seed 7 --json > report.json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runChaos(cmd.Context(), &o) },
	}
	addFlags(cmd, "Chaos", func(flags *pflag.FlagSet) {
		flags.DurationVar(&o.Duration, "duration", chaos.DefaultDuration, "make faults for `DURATION`, at least 10s")
		flags.StringVar(&o.seed, "seed", "", "choose the faults and requests by the number `N`; if not given, by chance")
		flags.IntVar(&o.Schedules, "schedules", chaos.DefaultSchedules, "run `N` schedules")
		flags.IntVar(&o.Workflows, "workflows", chaos.DefaultWorkflows, "run `N` workflows of Temporal's SDK beside them; 0 for none")
		flags.DurationVar(&o.Settle, "settle", chaos.DefaultSettle, "wait at most `DURATION` after the last fault until all is done")
		flags.BoolVar(&o.FillDisks, "fill-disks", false, "also fill the disks of NATS nodes; needs Linux and root, to mount them")
		flags.StringVar(&o.Dir, "dir", "", "keep data and logs in the empty folder `DIR`; if not given, in a temporary one, "+
			"which is removed if nothing is found")
		flags.BoolVar(&o.json, "json", false, "print the report as JSON")
	})
	return cmd
}

// chaosHelpers are the commands that the processes of a chaos run execute.
func (a *app) chaosHelpers() []*cobra.Command {
	return []*cobra.Command{
		{
			Use: chaos.NodeCommand + " CONFIG", Short: "Run a NATS node of a chaos run", Hidden: true, Args: exactly("CONFIG"),
			RunE: func(cmd *cobra.Command, args []string) error {
				return chaos.RunNode(cmd.Context(), a.logger(), args[0])
			},
		},
		{
			Use: chaos.WorkerCommand + " LEDGER", Short: "Run a worker of a chaos run", Hidden: true, Args: exactly("LEDGER"),
			RunE: func(cmd *cobra.Command, args []string) error { return a.runChaosWorker(cmd.Context(), args[0]) },
		},
		{
			Use: chaos.WorkflowsCommand + " GATEWAYS", Short: "Run a worker of workflows of a chaos run", Hidden: true, Args: exactly("GATEWAYS"),
			RunE: func(cmd *cobra.Command, args []string) error {
				return chaos.RunWorkflowWorker(cmd.Context(), a.logger(), args[0])
			},
		},
	}
}

// check completes the options and refuses impossible ones.
func (o *chaosOptions) check() (err error) {
	if o.Seed = rand.Uint64N(1_000_000); o.seed != "" {
		if o.Seed, err = strconv.ParseUint(o.seed, 10, 64); err != nil {
			return usagef("--seed: %q is not a whole number from 0", o.seed)
		}
	}
	switch {
	case o.Duration < chaos.MinDuration:
		return usagef("--duration: %s is too short: use %s or more", o.Duration, chaos.MinDuration)
	case o.Schedules < 1 || o.Schedules > chaos.MaxSchedules:
		return usagef("--schedules: %d is out of range: use 1 to %d", o.Schedules, chaos.MaxSchedules)
	case o.Workflows < 0 || o.Workflows > chaos.MaxWorkflows:
		return usagef("--workflows: %d is out of range: use 0 to %d", o.Workflows, chaos.MaxWorkflows)
	case o.Settle < 0:
		return usagef("--settle: %s is negative", o.Settle)
	}
	return nil
}

// errChaos ends a run that has found problems, errChaosInterrupted a run that could not finish.
var (
	errChaos            = errors.New("the run has found problems")
	errChaosInterrupted = errors.New("the run was interrupted: nothing has been checked")
)

func (a *app) runChaos(ctx context.Context, o *chaosOptions) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	if o.Binary, err = os.Executable(); err != nil {
		return err
	}
	temporary := o.Dir == ""
	if o.Dir, err = chaosDir(o.Dir); err != nil {
		return err
	}
	progress := a.newChaosProgress()
	o.Progress = progress.show
	progress.show(fmt.Sprintf("seed %d, data and logs in %s", o.Seed, o.Dir))
	report, err := chaos.Run(ctx, o.Config)
	progress.end()
	if err != nil && ctx.Err() != nil {
		err = errChaosInterrupted // other commands treat an interrupt as success; this one has checked nothing
	}
	if temporary && (err == nil && report.OK() || ctx.Err() != nil) {
		err = errors.Join(err, os.RemoveAll(o.Dir))
	}
	if err != nil {
		return err
	}
	if !report.OK() { // the folder matters only if something was found; a report worth keeping names no local folder
		report.Dir = o.Dir
	}
	return errors.Join(a.printChaos(report, o.json), chaosError(report))
}

func chaosError(report *chaos.Report) error {
	if report.OK() {
		return nil
	}
	return errChaos
}

func chaosDir(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "carillon-chaos-")
	}
	if err := chaos.EnsureEmpty(dir); err != nil {
		return "", schedule.Invalid("dir", "%v", err)
	}
	return dir, nil
}

func (a *app) printChaos(report *chaos.Report, asJSON bool) error {
	if !asJSON {
		return report.Write(a.env.Stdout)
	}
	text, err := indentedJSON(report)
	if err != nil {
		return err
	}
	_, err = a.env.Stdout.Write(text)
	return err
}

// chaosQuiet is the pause between two lines if the output is no terminal.
const chaosQuiet = 10 * time.Second

// chaosProgress shows what is going on: on a terminal in one line that changes, elsewhere in a new line every ten seconds.
type chaosProgress struct {
	app  *app
	live bool
	last time.Time
}

func (a *app) newChaosProgress() *chaosProgress {
	file, ok := a.env.Stderr.(*os.File)
	return &chaosProgress{app: a, live: ok && term.IsTerminal(int(file.Fd()))}
}

func (p *chaosProgress) show(line string) {
	const eraseLine = "\r\x1b[K"
	now := p.app.env.Now()
	switch {
	case p.live:
		p.write(eraseLine + line)
	case now.Sub(p.last) >= chaosQuiet:
		p.last = now
		p.write(line + "\n")
	}
}

func (p *chaosProgress) end() {
	if p.live {
		p.write("\n")
	}
}

func (p *chaosProgress) write(text string) { _, _ = io.WriteString(p.app.env.Stderr, text) }

// runChaosWorker runs a worker like the worker command. Its actions record their runs in a ledger.
func (a *app) runChaosWorker(ctx context.Context, ledger string) (err error) {
	closeLedger := func() error { return nil }
	defer func() { err = errors.Join(err, closeLedger()) }()
	config := worker.Config{Namespace: a.global.namespace, Prefix: a.global.prefix, TaskQueue: chaos.TaskQueue}
	return a.runAlone(ctx, workerRole, worker.DefaultDrainTimeout+roleGrace, httpOptions{},
		func(_ context.Context, log *slog.Logger, conn *roles.Connection, _ *site.Elsewhere) (roles.Role, error) {
			config.Logger = log
			w, err := worker.New(conn.Conn, config)
			if err != nil {
				return roles.Role{}, err
			}
			if closeLedger, err = chaos.RegisterWork(w, ledger); err != nil {
				return roles.Role{}, err
			}
			return roles.Role{Name: "worker", Run: w.Run}, nil
		})
}

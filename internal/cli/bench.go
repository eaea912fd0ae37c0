package cli

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/bench"
	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/probe"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// errBench ends a run whose figures are worthless, errBenchInterrupted a run that has no figures.
var (
	errBench            = errors.New("actions were missed, or ran twice, early or without being due")
	errBenchInterrupted = errors.New("the run was interrupted: nothing has been measured")
)

const flagAddress = "address"

// maxScale is how many processes of one role a run may have.
const maxScale = 16

// benchOptions are the flags of the bench commands.
type benchOptions struct {
	bench.Parameters
	bench.Config
	overlap string
	sync    string
	json    bool
	http    httpOptions
}

func (a *app) benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure how late actions start, how many there may be, and what they cost",
		Long: `Measures Carillon on this machine: all roles and a worker in this process, as
"carillon server" runs them, on an embedded NATS server with data in a temporary
folder. With --nats an existing NATS server is used, under names of its own, and
left as it was. With --processes NATS and each role are processes of their own, as
in an installation of several machines; the worker remains in this one.

Every action is followed until its code has run; the exit code is 1 if one was
missed or doubled. See docs/performance/README.md.`,
		Example: `  carillon bench steady --schedules 1000 --duration 20s
  carillon bench herd --schedules 10000 --sync always
  carillon bench all --json > figures.json`,
	}
	makeParent(cmd)
	for _, scenario := range bench.Scenarios() {
		cmd.AddCommand(a.benchScenarioCommand(scenario))
	}
	cmd.AddCommand(a.benchAllCommand())
	return cmd
}

// benchHelper is the hidden command that runs the NATS server of a run with --processes.
func (a *app) benchHelper() *cobra.Command {
	return &cobra.Command{
		Use: bench.NATSCommand + " DIR SYNC", Short: "Run the NATS server of a bench", Hidden: true, Args: exactly("DIR", "SYNC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return bench.RunNATS(cmd.Context(), a.logger(), a.env.Stdout, args[0], args[1])
		},
	}
}

// benchWorker is the hidden command that runs the worker of workflows of a bench.
func (a *app) benchWorker() *cobra.Command {
	return &cobra.Command{
		Use: bench.WorkflowCommand + " ADDRESS NAMESPACE QUEUE", Short: "Run the worker of workflows of a bench", Hidden: true,
		Args: exactly("ADDRESS", "NAMESPACE", "QUEUE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return bench.RunWorkflows(cmd.Context(), a.env.Stdout, args[0], args[1], args[2])
		},
	}
}

func (a *app) benchScenarioCommand(scenario bench.Scenario) *cobra.Command {
	o := benchOptions{Parameters: scenario.Defaults}
	cmd := &cobra.Command{
		Use:   scenario.Name + " [flags]",
		Short: "Measure " + scenario.Short,
		Long:  "Measures " + scenario.Short + ".\nSee docs/performance/README.md.",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runBench(cmd, &o, func(ctx context.Context) error { return a.benchOne(ctx, scenario, o.Parameters, &o) })
		},
	}
	o.defineParameters(cmd, scenario)
	o.define(cmd)
	return cmd
}

func (a *app) benchAllCommand() *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "all [flags]",
		Short: "Measure all of these, one after the other, each as it is by default",
		Long: `Measures all scenarios, one after the other, each as it is by default and on an
installation of its own. That takes several minutes. With --json there is one
object for each.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runBench(cmd, &o, func(ctx context.Context) error { return a.benchAll(ctx, &o) })
		},
	}
	o.define(cmd)
	return cmd
}

// defineParameters defines the flags of the parameters that a scenario takes.
func (o *benchOptions) defineParameters(cmd *cobra.Command, scenario bench.Scenario) {
	o.overlap = string(scenario.Defaults.Overlap)
	addFlags(cmd, "Scenario", func(flags *pflag.FlagSet) {
		number := func(name string, to *int, usage string) {
			if slices.Contains(scenario.Takes, name) {
				flags.IntVar(to, name, *to, usage)
			}
		}
		span := func(name string, to *bench.Seconds, usage string) {
			if slices.Contains(scenario.Takes, name) {
				flags.DurationVar((*time.Duration)(to), name, time.Duration(*to), usage)
			}
		}
		number(bench.ParamSchedules, &o.Schedules, "use `N` schedules")
		number(bench.ParamActions, &o.Actions, "ask for `N` actions of each schedule")
		number(bench.ParamRuns, &o.Runs, "let `N` runs be in progress at once")
		number(bench.ParamActive, &o.Active, "let `N` more schedules be due every second")
		number(bench.ParamWorkflows, &o.Workflows, "use `N` workflows")
		number(bench.ParamEvents, &o.Events, "give the longest history `N` events")
		number(bench.ParamDormant, &o.Dormant, "put `N` dormant schedules beside them")
		number(bench.ParamClients, &o.Clients, "let `N` clients ask side by side")
		number(bench.ParamResult, &o.ResultBytes, "let each run return `N` bytes, which the next one is told")
		if slices.Contains(scenario.Takes, bench.ParamKind) {
			o.defineWorkload(flags)
		} else {
			number(bench.ParamRate, &o.Rate, "take `N` actions per second for the highest rate; 0 looks for it")
		}
		span(bench.ParamInterval, &o.Interval, "let each be due every `DURATION`, in whole seconds")
		span(bench.ParamSpread, &o.Spread, "let them end one after the other within `DURATION`, not all at once")
		span(bench.ParamWarmup, &o.Warmup, "do not measure the first `DURATION`")
		span(bench.ParamDuration, &o.Duration, "measure for `DURATION`")
		if slices.Contains(scenario.Takes, bench.ParamOverlap) {
			var words []string
			for _, policy := range bench.Overlaps() {
				words = append(words, string(policy))
			}
			flags.Var(flagconf.NewEnum(&o.overlap, words...), bench.ParamOverlap,
				"overlap `POLICY`: allow_all, or buffer_all for one run of a schedule after the other")
		}
	})
}

// defineWorkload defines the flags of workloads with workflows.
func (o *benchOptions) defineWorkload(flags *pflag.FlagSet) {
	kinds := bench.WorkflowKinds()
	flags.Var(flagconf.NewEnum(&o.Kind, append(kinds, bench.KindAll)...), bench.ParamKind,
		"run one `KIND` of workload: "+strings.Join(kinds, ", ")+"; all is the first four")
	flags.IntVar(&o.Size, bench.ParamSize, 0, "send `N` signals, run N activities, and so on; 0 means the size that the workload has by default")
	flags.IntVar(&o.Rate, bench.ParamRate, 0, "start `N` workflows per second instead of several loads; beside another workload 0 means 50")
	flags.StringVar(&o.Address, flagAddress, "", "measure the frontend of Temporal or Carillon that runs at `HOST:PORT`, in the namespace of --namespace")
	flags.IntVar(&o.ServerPID, "server-pid", 0, "with --address, `PID` is the process of that server on this machine, whose processor time and memory count")
}

// checkAddress refuses flags that are about an installation of the run, if there is none.
func (a *app) checkAddress(cmd *cobra.Command, o *benchOptions) error {
	if o.Address == "" {
		if o.ServerPID != 0 {
			return usagef("--server-pid: %d needs --%s", o.ServerPID, flagAddress)
		}
		return nil
	}
	own := append([]string{"nats", "context", "scale", "round-trip", "shards", "replicas"}, benchFlags...)
	err := alternatives{flagAddress, strings.Join(own, " ")}.choose(a.env.Stderr, cmd.Flags())
	if o.Address != "" {
		o.Config.Namespace = a.global.namespace
	}
	return err
}

// define defines the flags that every scenario has.
func (o *benchOptions) define(cmd *cobra.Command) {
	o.sync, o.Worker = string(natsserver.SyncInterval), bench.WorkerTogether
	addFlags(cmd, "Measurement", func(flags *pflag.FlagSet) {
		flags.Var(flagconf.NewEnum(&o.sync, string(natsserver.SyncAlways), string(natsserver.SyncInterval)), "sync",
			"write through to the disk `WHEN`: always, as a server does by default, or interval; of the embedded server only")
		flags.StringVar(&o.Dir, "data", "", "make the temporary folder in `DIR`, to measure its disk")
		flags.IntVar(&o.Concurrency, "concurrency", worker.DefaultConcurrency, "run `N` actions at once")
		flags.IntVar(&o.Shards, "shards", 0, "divide the schedules into `N` shards; 0 means 4")
		flags.IntVar(&o.Replicas, "replicas", 0, "let `N` NATS servers keep all data: 1, 3 or 5; 0 means 1")
		flags.BoolVar(&o.Processes, "processes", false, "give NATS and each role a process of its own; this one is the worker")
		flags.StringToIntVar(&o.Scale, "scale", nil, "with --processes, run N processes of a role, as in `ROLE=N`,…: of "+strings.Join(bench.Scalable(), ", "))
		flags.Var(flagconf.NewEnum(&o.Worker, bench.WorkerTogether, bench.WorkerApart, bench.WorkerFenced), "worker",
			"let the worker be `WHERE`: together with the roles, apart on a connection of its own, or fenced in a NATS account of its own; "+
				"with the embedded server only")
		flags.DurationVar(&o.RoundTrip, "round-trip", 0, "let each answer of NATS to these processes take `DURATION` longer, as between machines")
		flags.StringVar(&o.Profiles, "profile", "", "write profiles of processor, heap, blocking and mutexes to `DIR`")
		flags.BoolVar(&o.json, "json", false, "print the result as JSON")
	})
	o.http.define(cmd)
}

// runBench does what all scenarios need before they run.
func (a *app) runBench(cmd *cobra.Command, o *benchOptions, run func(context.Context) error) error {
	if !cmd.Flags().Changed(flagLogLevel) {
		a.global.logLevel = "error" // warnings about a busy machine would garble the progress
	}
	if o.Concurrency < 1 {
		return usagef("--concurrency: %d is out of range: use 1 or more", o.Concurrency)
	}
	o.Parameters.Overlap = schedule.OverlapPolicy(o.overlap)
	o.Config.Sync = natsserver.SyncMode(o.sync)
	o.Names = a.global.names
	if err := a.checkAddress(cmd, o); err != nil {
		return err
	}
	if err := a.warnOfPlace(cmd, false, benchFlags...); err != nil {
		return err
	}
	o.Processes = o.Processes && !a.global.isExternal() // the processes use their own NATS server
	if o.Worker != bench.WorkerTogether && (o.Processes || a.global.isExternal()) {
		return usagef("--worker: %s needs the embedded server", o.Worker)
	}
	for role, n := range o.Scale {
		if !slices.Contains(bench.Scalable(), role) || n < 1 || n > maxScale || !o.Processes {
			return usagef("--scale: %s=%d: use 1 to %d of %s, and --processes", role, n, maxScale, strings.Join(bench.Scalable(), ", "))
		}
	}
	if o.RoundTrip != 0 && !o.Processes || o.RoundTrip < 0 || o.RoundTrip > time.Second {
		return usagef("--round-trip: %s: use up to 1s, and --processes", o.RoundTrip)
	}
	if a.global.isExternal() {
		a.warnUnused()
		o.Dial = a.global.dialOwner
	}
	o.Version, o.Logger, o.ReturnMemory = readBuild().semantic(), a.logger(), a.returnMemory
	// Traces are recorded as in a server; otherwise they would cost nothing here.
	return a.observed(cmd.Context(), "bench", o.http, nil, func(*slog.Logger, *probe.Health) error {
		return run(cmd.Context())
	})
}

func (a *app) benchAll(ctx context.Context, o *benchOptions) error {
	var failed error
	for _, scenario := range bench.Scenarios() {
		err := a.benchOne(ctx, scenario, scenario.Defaults, o)
		switch {
		case errors.Is(err, errBench):
			failed = err
		case err != nil:
			return err
		case !o.json:
			_, _ = a.env.Stdout.Write([]byte("\n"))
		}
	}
	return failed
}

func (a *app) benchOne(ctx context.Context, scenario bench.Scenario, p bench.Parameters, o *benchOptions) error {
	if err := scenario.Check(p); err != nil {
		return err
	}
	progress := a.newBenchProgress(scenario.Name)
	config := o.Config
	config.Progress = progress.show
	result, err := bench.Run(ctx, scenario, p, config)
	progress.end()
	if err != nil && ctx.Err() != nil {
		return errBenchInterrupted // other commands treat an interrupt as success
	}
	if err != nil {
		return err
	}
	if err := a.printBench(result, o.json); err != nil {
		return err
	}
	if !result.OK() {
		return errBench
	}
	return nil
}

func (a *app) printBench(result *bench.Result, asJSON bool) error {
	if !asJSON {
		return result.Write(a.env.Stdout)
	}
	text, err := indentedJSON(result)
	if err != nil {
		return err
	}
	_, err = a.env.Stdout.Write(text)
	return err
}

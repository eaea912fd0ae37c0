package cli

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
	"github.com/carillon-scheduler/carillon/worker/builtin"
)

func (a *app) workerCommand() *cobra.Command {
	var config worker.Config
	var actions actionOptions
	var http httpOptions
	cmd := &cobra.Command{
		Use:   "worker [flags]",
		Short: "Run a worker with the built-in actions",
		Long: `Runs a worker with the built-in actions (noop, sleep, log, http, nats and, if
programs are given, exec) on one task queue of an existing NATS cluster;
docs/actions.md describes them. Workers with actions of your own are Go programs
that use the package worker, or programs in any language that follow
docs/worker-protocol.md.`,
		Example: "  carillon worker --nats nats://n1:4222 --task-queue reports",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config.Namespace, config.Prefix = a.global.namespace, a.global.prefix
			return a.runAlone(cmd.Context(), workerRole, config.DrainTimeout+roleGrace, http,
				func(_ context.Context, log *slog.Logger, conn *roles.Connection, _ *site.Elsewhere) (roles.Role, error) {
					config.Logger, config.JetStreamAPIPrefix = log, a.global.apiPrefix()
					all, err := actions.worker(config)
					if err != nil {
						return roles.Role{}, err
					}
					return roles.Worker(conn, all)
				})
		},
	}
	addFlags(cmd, "Worker", func(flags *pflag.FlagSet) {
		flags.StringVar(&config.TaskQueue, "task-queue", defaultTaskQueue, "serve `QUEUE`")
		flags.IntVar(&config.Concurrency, "concurrency", worker.DefaultConcurrency, "run `N` actions at once")
		flags.DurationVar(&config.DrainTimeout, "drain-timeout", worker.DefaultDrainTimeout,
			"when told to stop, wait `DURATION` for what runs, then give it back")
	})
	actions.define(cmd)
	http.define(cmd)
	return cmd
}

// actionOptions are the flags that limit what the built-in actions may do.
type actionOptions struct {
	allowPrivate                bool
	programs                    []string
	callbackListen, callbackURL string
}

func (o *actionOptions) define(cmd *cobra.Command) {
	addFlags(cmd, "Built-in actions", func(flags *pflag.FlagSet) {
		flags.BoolVar(&o.allowPrivate, "http-allow-private", false,
			"let the http action reach loopback and private addresses")
		flags.StringArrayVar(&o.programs, "exec", nil,
			"let the exec action run the program of `PATH`, by the last element of the path or as NAME=PATH; repeatable. "+
				"Without it there is no exec action")
		flags.StringVar(&o.callbackListen, "callback-listen", "",
			"receive callbacks of the http action on `ADDRESS`, such as :8080")
		flags.StringVar(&o.callbackURL, "callback-url", "",
			"`URL` by which others reach that address, such as https://worker.example.com/callbacks")
	})
}

// worker returns the configuration of a worker with these limits on its actions.
func (o *actionOptions) worker(config worker.Config) (roles.WorkerConfig, error) {
	commands, err := builtin.ParseCommands(o.programs)
	if err != nil {
		return roles.WorkerConfig{}, err
	}
	all := roles.WorkerConfig{
		Config: config, CallbackListen: o.callbackListen,
		Actions: builtin.Config{AllowPrivate: o.allowPrivate, Commands: commands},
	}
	if (o.callbackListen == "") != (o.callbackURL == "") {
		return all, schedule.Invalid("callbackUrl", "--callback-listen and --callback-url go together")
	}
	if o.callbackURL != "" {
		all.Actions.Callbacks, err = builtin.NewCallbacks(o.callbackURL)
	}
	return all, err
}

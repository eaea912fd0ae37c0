package cli

import (
	"log/slog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/worker"
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
				func(log *slog.Logger, conn *roles.Connection) (roles.Role, error) {
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

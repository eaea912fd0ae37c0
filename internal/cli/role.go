package cli

import (
	"context"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/probe"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/topology"
)

const (
	// roleDrain is how long a frontend on its own waits for the requests it works on.
	roleDrain = 10 * time.Second
	// roleGrace is what a role on its own gets to stop, beyond what it waits for.
	roleGrace = 5 * time.Second

	// workerRole is the name of the role that runs actions.
	workerRole = "worker"

	// waitForInstallation is what roles wait for before they are made.
	waitForInstallation = "the streams and buckets of the installation"
)

// clusterOptions are the flags of the commands that may be first to set an installation up.
type clusterOptions struct{ topology.Settings }

func (o *clusterOptions) define(cmd *cobra.Command) {
	addFlags(cmd, "Installation", func(flags *pflag.FlagSet) {
		flags.IntVar(&o.Shards, "shards", 0, "divide the schedules into `N` shards, fixed when the installation is set up; "+
			"0 takes what it has, 4 if it is new")
		flags.IntVar(&o.Replicas, "replicas", 0, "let `N` NATS servers keep all data: 1, 3 or 5; 0 takes what the installation "+
			"has, 1 if it is new")
	})
}

// openCluster makes the installation ready.
func (a *app) openCluster(
	ctx context.Context, log *slog.Logger, conn *roles.Connection, o clusterOptions, drain time.Duration,
) (*roles.Cluster, error) {
	return roles.Open(ctx, conn, a.global.names, o.Settings,
		roles.Options{Logger: log, Version: readBuild().semantic(), Drain: drain})
}

// connectRole connects one role to NATS. A worker may be in another account than the installation.
func (a *app) connectRole(ctx context.Context, log *slog.Logger, role string) (*roles.Connection, error) {
	dial := a.global.dialOwner
	if role == workerRole {
		dial = a.global.dial
	}
	return roles.Connect(ctx, log, "carillon-"+role, dial)
}

// logUnused is warnUnused of a command with a log.
func (a *app) logUnused(ctx context.Context, log *slog.Logger) {
	for _, text := range a.global.unused {
		log.WarnContext(ctx, text)
	}
}

// runAlone runs one role on an existing NATS cluster until ctx ends.
func (a *app) runAlone(
	ctx context.Context, name string, grace time.Duration, o httpOptions,
	build func(*slog.Logger, *roles.Connection) (roles.Role, error),
) error {
	return a.observed(ctx, name, o, []string{name}, func(log *slog.Logger, health *probe.Health) error {
		defer a.paceHeap(ctx)()
		a.logUnused(ctx, log)
		conn, err := a.connectRole(ctx, log, name)
		if err != nil {
			return err
		}
		defer conn.Close()
		health.AllWait(waitForInstallation)
		role, err := build(log, conn)
		if err != nil {
			return err
		}
		health.AllNeed(conn.Waits)
		log.Info("running", "role", role.Name, "nats", conn.ConnectedUrlRedacted(), "prefix", a.global.prefix)
		defer log.Info("stopped", "role", role.Name)
		stages := roles.Observed(health, roles.Stage{role}, roles.Stage{conn.Role()})
		return roles.Supervise(ctx, log, grace, stages...)
	})
}

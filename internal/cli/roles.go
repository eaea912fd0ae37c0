package cli

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/probe"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// roleDrain is how long a frontend on its own waits for its open requests.
	roleDrain = 10 * time.Second
	// roleGrace is the time that a role on its own gets to stop, in addition to what it waits for.
	roleGrace = 5 * time.Second

	// workerRole is the name of the role that runs actions.
	workerRole = "worker"

	// waitForInstallation is what the roles wait for before they are built.
	waitForInstallation = "the streams and buckets of the installation"
)

// clusterOptions are the flags of the commands that may be the first to set an installation up.
type clusterOptions struct{ topology.Settings }

func (o *clusterOptions) define(cmd *cobra.Command) {
	addFlags(cmd, "Installation", func(flags *pflag.FlagSet) {
		flags.IntVar(&o.Shards, "shards", 0, "divide the schedules into `N` shards, fixed when the installation is set up; "+
			"0 takes what it has, 4 if it is new")
		flags.IntVar(&o.Replicas, "replicas", 0, "let `N` NATS servers keep all data: 1, 3 or 5; 0 takes what the installation "+
			"has, 1 if it is new")
	})
}

// openCluster sets the installation up if needed, and opens it. At a standby it opens what is there.
func (a *app) openCluster(
	ctx context.Context, log *slog.Logger, conn *roles.Connection, elsewhere *site.Elsewhere, o clusterOptions, drain time.Duration,
) (*roles.Cluster, error) {
	return roles.Open(ctx, conn, a.global.names, o.Settings,
		roles.Options{Logger: log, Version: readBuild().semantic(), Drain: drain, Elsewhere: elsewhere})
}

// buildAlone makes a role that runs alone. elsewhere is as in [roles.RunAtSite].
type buildAlone func(ctx context.Context, log *slog.Logger, conn *roles.Connection, elsewhere *site.Elsewhere) (roles.Role, error)

// connectRole connects one role to NATS. A worker may be in another account than the installation.
func (a *app) connectRole(ctx context.Context, log *slog.Logger, role string) (*roles.Connection, error) {
	dial := a.global.dialOwner
	if role == workerRole {
		dial = a.global.dial
	}
	return roles.Connect(ctx, log, "carillon-"+role, dial)
}

// logUnused is warnUnused for a command with a log.
func (a *app) logUnused(ctx context.Context, log *slog.Logger) {
	for _, text := range a.global.unused {
		log.WarnContext(ctx, text)
	}
}

// runAlone runs one role on an existing NATS cluster until ctx ends.
func (a *app) runAlone(
	ctx context.Context, name string, grace time.Duration, o httpOptions, build buildAlone,
) error {
	return a.observed(ctx, name, o, []string{name}, func(log *slog.Logger, health *probe.Health) error {
		defer a.returnMemory(ctx)()
		a.logUnused(ctx, log)
		conn, err := a.connectRole(ctx, log, name)
		if err != nil {
			return err
		}
		defer conn.Close()
		run := func(ctx context.Context, elsewhere *site.Elsewhere) error {
			if elsewhere != nil && !roles.AtStandby(name) {
				<-ctx.Done()
				return nil
			}
			health.AllWait(waitForInstallation)
			role, err := build(ctx, log, conn, elsewhere)
			if err != nil {
				return err
			}
			health.AllNeed(conn.Waits)
			log.InfoContext(ctx, "running", "role", role.Name, "nats", conn.ConnectedUrlRedacted(), "prefix", a.global.prefix)
			defer log.InfoContext(ctx, "stopped", "role", role.Name)
			stages := roles.Observed(health, roles.Stage{role}, roles.Stage{conn.Role()})
			return roles.Supervise(ctx, log, grace, stages...)
		}
		if name == workerRole || name == subjects.RoleReplication { // they know nothing of sites, or all of them
			return run(ctx, nil)
		}
		return roles.AtSite(log, health, conn, a.global.names, run).Run(ctx)
	})
}

// roleCommands are the commands that run one role on an existing NATS cluster.
func (a *app) roleCommands() []*cobra.Command {
	return []*cobra.Command{
		a.frontendCommand(),
		a.gatewayCommand(),
		a.consoleCommand(),
		a.poolCommand("generator", "Run the role that finds out what is due", (*roles.Cluster).Generator),
		a.invokerCommand(),
		a.poolCommand("backfiller", "Run the role that works on manual requests", (*roles.Cluster).Backfiller),
		a.poolCommand("history", "Run the role that owns workflow executions", (*roles.Cluster).History),
		a.poolCommand("matching", "Run the role that brings tasks of workflow executions to workers", (*roles.Cluster).Matching),
		a.archivalCommand(),
		a.replicationCommand(),
		a.workerCommand(),
	}
}

func (a *app) poolCommand(name, short string, build func(*roles.Cluster) (roles.Role, error)) *cobra.Command {
	var o clusterOptions
	var http httpOptions
	cmd := &cobra.Command{
		Use:   name + " [flags]",
		Short: short,
		Long: short + `, on an existing NATS cluster. It may start before
NATS does. Any number of processes share the work; one that is told to stop
hands its share over at once.`,
		Example: "  carillon " + name + " --nats nats://n1:4222,nats://n2:4222,nats://n3:4222",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runPool(cmd.Context(), name, o, http, build)
		},
	}
	o.define(cmd)
	http.define(cmd)
	return cmd
}

func (a *app) runPool(
	ctx context.Context, name string, o clusterOptions, http httpOptions, build func(*roles.Cluster) (roles.Role, error),
) error {
	return a.runAlone(ctx, name, roleDrain+roleGrace, http, func(ctx context.Context, log *slog.Logger, conn *roles.Connection, elsewhere *site.Elsewhere) (roles.Role, error) {
		cluster, err := a.openCluster(ctx, log, conn, elsewhere, o, roleDrain)
		if err != nil {
			return roles.Role{}, err
		}
		role, err := build(cluster)
		if err != nil {
			return roles.Role{}, err
		}
		return cluster.Announced(role), nil
	})
}

// searchOptions are the flags of the commands that run a frontend.
type searchOptions struct{ roles.SearchOptions }

func (o *searchOptions) define(cmd *cobra.Command, dirDefault string) {
	addFlags(cmd, "Search index", func(flags *pflag.FlagSet) {
		flags.StringVar(&o.Dir, "search-dir", "", "keep the search index in `DIR`, for this process alone, so that it need not be "+
			"built anew after a restart; by default in "+dirDefault)
		flags.BoolVar(&o.Off, "no-search", false, "keep no search index: queries are refused")
	})
}

// frontendCommand runs the frontend on its own.
func (a *app) frontendCommand() *cobra.Command {
	var search searchOptions
	cmd := a.poolCommand("frontend", "Run the role that answers the API", func(c *roles.Cluster) (roles.Role, error) {
		role, _, err := c.Frontend(search.SearchOptions)
		return role, err
	})
	search.define(cmd, "a temporary folder")
	return cmd
}

// watchedOptions are the flags of the commands that run an invoker. The invoker records metrics of single schedules.
type watchedOptions struct{ schedules []string }

func (o *watchedOptions) define(cmd *cobra.Command) {
	addFlags(cmd, httpGroup, func(flags *pflag.FlagSet) {
		flags.StringArrayVar(&o.schedules, "watch-schedule", nil,
			"give the schedule `NAMESPACE/ID` metrics of its own; repeatable, for 100 schedules at most")
	})
}

// apply makes this process record metrics of the named schedules.
func (o *watchedOptions) apply() error {
	if len(o.schedules) == 0 {
		return nil
	}
	keys := make([]schedule.Key, len(o.schedules))
	for i, text := range o.schedules {
		namespace, id, ok := strings.Cut(text, "/")
		keys[i] = schedule.Key{Namespace: namespace, ID: id}
		if !ok {
			return usagef("--watch-schedule: %q is not NAMESPACE/ID, such as %s/%s", text, defaultNamespace, text)
		}
		if err := keys[i].Validate(); err != nil {
			return usagef("--watch-schedule: %q: %w", text, err)
		}
	}
	if len(keys) > metrics.MaxWatched {
		return usagef("--watch-schedule: %d schedules are too many: name %d at most", len(keys), metrics.MaxWatched)
	}
	return metrics.Watch(keys)
}

// invokerCommand runs the invoker on its own.
func (a *app) invokerCommand() *cobra.Command {
	var watched watchedOptions
	cmd := a.poolCommand("invoker", "Run the role that starts what is due", (*roles.Cluster).Invoker)
	watched.define(cmd)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := watched.apply(); err != nil {
			return err
		}
		return run(cmd, args)
	}
	return cmd
}

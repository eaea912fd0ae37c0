package cli

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/probe"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

const (
	// serverGrace bounds the stop of all roles of a server. The embedded NATS server needs a moment more.
	serverGrace = 4 * time.Second
	// outerGrace is what those roles get in addition that outlast the others.
	outerGrace = 200 * time.Millisecond
	// serverDrain is how long the frontend and the worker wait for their open requests and runs.
	serverDrain = 2500 * time.Millisecond
)

// serverOptions are the flags of the server command.
type serverOptions struct {
	clusterOptions
	embedded  natsserver.Options
	sync      string
	demo      bool
	taskQueue string
	noWorker  bool
	standbyOf string
	search    searchOptions
	actions   actionOptions
	archival  archivalOptions
	gateway   gatewayOptions
	console   consoleOptions
	http      httpOptions
	watched   watchedOptions
	// unused says which settings do not count because others choose another NATS server; it is empty if all count.
	unused string
}

func (a *app) serverCommand() *cobra.Command {
	var o serverOptions
	cmd := &cobra.Command{
		Use:   "server [flags]",
		Short: "Run all roles in this process, with an embedded NATS server",
		Long: `Runs all roles in this process: frontend, gateway, generator, invoker,
backfiller, history, matching, archival and a worker with the built-in actions. NATS
is embedded, for this machine only, and keeps its data in the folder of --data; with
--nats an existing cluster is used instead. A flag of the embedded server, such as
--data, wins over CARILLON_NATS in the environment.

Ctrl-C stops it in order, within 5 seconds; a second Ctrl-C at once. Started
again on the same data, it goes on where it was and catches up what was due.`,
		Example: `  carillon server --demo
  carillon server --data /var/lib/carillon --log-format json
  carillon server --nats nats://n1:4222,nats://n2:4222 --replicas 3`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.unused, err = a.choosePlace(cmd, false, embeddedFlags...); err != nil {
				return err
			}
			if o.demo && !cmd.Flags().Changed(flagLogLevel) {
				a.global.logLevel = "warn" // the live view should not be mixed with log lines
			}
			o.embedded.Sync = natsserver.SyncMode(o.sync)
			return a.runServer(cmd.Context(), &o)
		},
	}
	o.define(cmd)
	return cmd
}

func (o *serverOptions) define(cmd *cobra.Command) {
	o.sync = string(natsserver.SyncAlways)
	addFlags(cmd, "Embedded NATS server (without --nats)", func(flags *pflag.FlagSet) {
		flags.StringVar(&o.embedded.Dir, "data", "./carillon-data", "keep all data in `DIR`")
		flags.StringVar(&o.embedded.Host, "host", natsserver.DefaultHost, "listen on `ADDRESS`")
		flags.IntVar(&o.embedded.Port, "port", natsserver.DefaultPort, "listen on port `N`; -1 for a free one")
		flags.StringVar(&o.embedded.ConfigFile, "nats-config", "",
			"take users, permissions, certificates and limits from a `FILE` of nats-server")
		flags.BoolVar(&o.embedded.Insecure, "insecure", false,
			"listen on another address than loopback also without authentication and TLS")
		flags.Var(flagconf.NewEnum(&o.sync, string(natsserver.SyncAlways), string(natsserver.SyncInterval)), "sync",
			"write through to the disk `WHEN`: always, before a write is acknowledged, so that a power loss loses nothing; or "+
				"interval, every two minutes, which is faster")
	})
	o.clusterOptions.define(cmd)
	o.search.define(cmd, "the folder search of --data, or a temporary one with --nats")
	addFlags(cmd, "Worker and demo", func(flags *pflag.FlagSet) {
		flags.StringVar(&o.taskQueue, "task-queue", defaultTaskQueue, "let the built-in worker serve `QUEUE`")
		flags.BoolVar(&o.noWorker, "no-worker", false, "run no worker: others do the work")
		flags.BoolVar(&o.demo, "demo", false, "create example schedules and show live what happens")
	})
	addFlags(cmd, "Two sites", func(flags *pflag.FlagSet) {
		flags.StringVar(&o.standbyOf, "standby-of", "", "be the standby of the installation at the site with the JetStream domain `DOMAIN`, "+
			"as carillon site link DOMAIN --standby says, unless this site is linked already")
	})
	o.actions.define(cmd)
	o.archival.define(cmd)
	o.gateway.define(cmd, off) // the console serves it
	o.console.define(cmd)
	o.http.define(cmd)
	o.watched.define(cmd)
}

// roles returns the names of the roles of the server, in the order in which health shows them.
func (o *serverOptions) roles() []string {
	names := append([]string{"frontend"}, subjects.Pools()...)
	names = append(names, "matching", subjects.RoleArchival, subjects.RoleReplication)
	if !o.gateway.isOff() {
		names = append(names, gatewayRole)
	}
	if !o.console.isOff() {
		names = append(names, consoleRole)
	}
	if !o.noWorker {
		names = append(names, "worker")
	}
	return names
}

// runServer runs all roles until ctx ends.
func (a *app) runServer(ctx context.Context, o *serverOptions) error {
	if err := o.watched.apply(); err != nil {
		return err
	}
	return a.observed(ctx, "server", o.http, o.roles(), func(log *slog.Logger, health *probe.Health) error {
		defer a.returnMemory(ctx)()
		a.logUnused(ctx, log)
		if o.unused != "" {
			log.WarnContext(ctx, o.unused)
		}
		return a.runRoles(ctx, log, health, o)
	})
}

// runRoles runs the roles that the server has at each site, and beside them those for what its site is.
func (a *app) runRoles(ctx context.Context, log *slog.Logger, health *probe.Health, o *serverOptions) error {
	started := a.env.Now()
	server, conn, err := a.connectServer(ctx, log, o)
	if err != nil {
		return err
	}
	defer server.shutdown()
	defer conn.Close()
	if err := a.becomeStandby(ctx, log, conn, o.standbyOf); err != nil {
		return err
	}
	replication, err := a.replication(conn, log)
	if err != nil {
		return err
	}
	last := &terminal{app: a, options: o, url: server.url, started: started}
	atSite := roles.AtSite(log, health, conn, a.global.names, func(ctx context.Context, elsewhere *site.Elsewhere) error {
		return a.runAtSite(ctx, log, health, o, server, conn, elsewhere, last)
	})
	stages := append(roles.Observed(health, roles.Stage{atSite}, roles.Stage{replication}, roles.Stage{conn.Role()}), server.kept(nil)...)
	if err := roles.Supervise(ctx, log, serverGrace+outerGrace, stages...); err != nil {
		return err
	}
	last.stopped()
	return nil
}

// runAtSite runs the roles of an active site until ctx ends, or those that read if the installation is active elsewhere.
func (a *app) runAtSite(
	ctx context.Context, log *slog.Logger, health *probe.Health, o *serverOptions, server natsOf, conn *roles.Connection, elsewhere *site.Elsewhere, c *terminal,
) error {
	health.AllWait(waitForInstallation)
	cluster, err := a.openCluster(ctx, log, conn, elsewhere, o.clusterOptions, serverDrain)
	if err != nil {
		return err
	}
	*c = terminal{app: a, options: o, cluster: cluster, url: server.url, started: c.started, elsewhere: elsewhere}
	if err := c.prepare(ctx); err != nil {
		return err
	}
	var stages []roles.Stage
	if elsewhere == nil {
		stages, err = a.serverStages(ctx, log, cluster, o, c)
	} else {
		stages, err = a.standbyStages(ctx, cluster, o, c)
	}
	if err != nil {
		return err
	}
	health.AllNeed(func() string { return cmp.Or(server.trouble(), conn.Waits()) })
	return roles.Supervise(ctx, log, serverGrace, roles.Observed(health, stages...)...)
}

// serverStages returns the roles in the order in which they stop:
//
//  1. the console, the gateway and the frontend, which accept work
//  2. generator and backfiller, which create runs, matching, which brings tasks to workers, and archival
//  3. the worker, which executes them
//  4. invoker and history, which record that they have ended
//  5. the terminal, which shows all of this
func (a *app) serverStages(
	ctx context.Context, log *slog.Logger, cluster *roles.Cluster, o *serverOptions, c *terminal,
) ([]roles.Stage, error) {
	front, ready, err1 := cluster.Frontend(o.search.SearchOptions)
	generator, err2 := cluster.Generator()
	backfiller, err3 := cluster.Backfiller()
	invoker, err4 := cluster.Invoker()
	matching, err5 := cluster.Matching()
	history, err6 := cluster.History()
	archival, err7 := cluster.Archival(o.archival.ArchivalConfig)
	work, err8 := a.serverWorker(log, cluster, o)
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8); err != nil {
		return nil, err
	}
	accept, err := a.serverDoors(ctx, cluster, o, c)
	if err != nil {
		return nil, err
	}
	c.ready = ready
	announced := append(namesOf(roles.Stage{front, generator, invoker, backfiller, history, matching, archival}), namesOf(accept)...)
	return []roles.Stage{
		append(accept, front), {generator, backfiller, matching, archival}, work, {invoker, history},
		{c.role(), cluster.Announcement(announced...)},
	}, nil
}

// standbyStages is serverStages for a standby: those of the roles that run there.
func (a *app) standbyStages(ctx context.Context, cluster *roles.Cluster, o *serverOptions, c *terminal) ([]roles.Stage, error) {
	front, ready, err1 := cluster.Frontend(o.search.SearchOptions)
	history, err2 := cluster.History()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	accept, err := a.serverDoors(ctx, cluster, o, c)
	if err != nil {
		return nil, err
	}
	c.ready = ready
	announced := append(namesOf(roles.Stage{front, history}), namesOf(accept)...)
	return []roles.Stage{append(accept, front), {history}, {c.role(), cluster.Announcement(announced...)}}, nil
}

func namesOf(stage roles.Stage) (names []string) {
	for _, role := range stage {
		names = append(names, role.Name)
	}
	return names
}

// serverDoors returns the gateway and the console, unless they are off, and tells the terminal where they are.
func (a *app) serverDoors(ctx context.Context, cluster *roles.Cluster, o *serverOptions, c *terminal) (doors roles.Stage, err error) {
	var with roles.ConsoleConfig
	if !o.gateway.isOff() {
		serves, err := o.gateway.listen(ctx)
		if err != nil {
			return nil, err
		}
		c.gateway, serves.Drain = serves, serverDrain
		role, made, err := cluster.Gateway(serves)
		if err != nil {
			return nil, err
		}
		with.Gateway, doors = made, append(doors, role)
	}
	if o.console.isOff() {
		return doors, nil
	}
	config, err := o.console.listen(ctx)
	if err != nil {
		return nil, err
	}
	c.console = config
	config.Gateway, config.Identity, config.Drain = with.Gateway, a.global.identity, serverDrain
	role, err := cluster.Console(config)
	return append(roles.Stage{role}, doors...), err
}

func (a *app) serverWorker(log *slog.Logger, cluster *roles.Cluster, o *serverOptions) (roles.Stage, error) {
	if o.noWorker {
		return nil, nil
	}
	config, err := o.actions.worker(worker.Config{
		Namespace: a.global.namespace, TaskQueue: o.taskQueue, Prefix: a.global.prefix,
		DrainTimeout: serverDrain, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	role, err := roles.Worker(cluster.Conn, config)
	return roles.Stage{role}, err
}

// natsOf is the NATS server that a server command uses.
type natsOf struct {
	// embedded is nil when another server is used.
	embedded *natsserver.Server
	// url is where clients find it.
	url string
}

func (n natsOf) shutdown() {
	if n.embedded != nil {
		n.embedded.Shutdown()
	}
}

// trouble says why the embedded server stores nothing. It is empty if the server does store, or if there is none.
func (n natsOf) trouble() string {
	if n.embedded == nil {
		return ""
	}
	return n.embedded.Trouble()
}

// kept adds a last stage to the stages: it restarts the embedded server in place when that stores nothing any more.
func (n natsOf) kept(stages []roles.Stage) []roles.Stage {
	if n.embedded == nil {
		return stages
	}
	return append(stages, roles.Stage{{Name: "embedded NATS server", Run: n.embedded.Keep}})
}

// connectServer starts the embedded NATS server, unless the flags name another, and connects.
func (a *app) connectServer(ctx context.Context, log *slog.Logger, o *serverOptions) (natsOf, *roles.Connection, error) {
	if a.global.isExternal() {
		conn, err := a.connectRole(ctx, log, "server")
		return natsOf{url: a.global.where()}, conn, err
	}
	dir, err := filepath.Abs(o.embedded.Dir)
	if err != nil {
		return natsOf{}, nil, err
	}
	o.embedded.Dir = dir
	o.search.Dir = cmp.Or(o.search.Dir, filepath.Join(dir, "search"))
	o.embedded.Logger = log
	server, err := natsserver.Start(ctx, o.embedded)
	if err != nil {
		return natsOf{}, nil, err
	}
	var conn *roles.Connection
	options, err := a.global.options()
	if err == nil {
		dial := func(more ...nats.Option) (*nats.Conn, error) { return server.Connect(slices.Concat(options, more)...) }
		conn, err = roles.Connect(ctx, log, "carillon-server", dial)
	}
	if err != nil {
		server.Shutdown()
		return natsOf{}, nil, err
	}
	return natsOf{server, server.ClientURL()}, conn, nil
}

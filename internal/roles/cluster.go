package roles

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/backfiller"
	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/generator"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/cache"
	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"github.com/carillon-scheduler/carillon/internal/presence"
	"github.com/carillon-scheduler/carillon/internal/probe"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/streamwatch"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/internal/zonedata"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/matching"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Cluster is an installation that is set up and open. It has a constructor for each role.
type Cluster struct {
	Conn  *Connection
	JS    jetstream.JetStream
	Names subjects.Names
	// Facts are what all processes of the installation agree on.
	Facts topology.Facts
	store *kv.Store
	// lanes are the connections that read the schedules.
	lanes   *bus.Lanes
	options Options
	// owners send the requests about executions.
	owners *owners.Owners
	// definitions caches the definitions that the pools of this process have read.
	definitions *cache.Records[wire.Definition]
	// watch knows whether the streams accept writes.
	watch *streamwatch.Watch
	// index is the search index of this process; nil if it has none.
	index *search.Index
}

// Options are the settings that all roles of a process share.
type Options struct {
	Logger *slog.Logger
	// Version is the version of this program.
	Version string
	// Elsewhere says where the installation is active, if not here: then the roles only read, and only those of [AtStandby] may run.
	Elsewhere *site.Elsewhere
	// Drain bounds how long a stopping frontend waits for the requests it has begun.
	Drain time.Duration
	// LanesFrom is how many messages the records of a shard must have before a separate connection reads them. Default: bus.LongIndex.
	LanesFrom uint64
	// Now is the clock by which runs of workflows end and expire. Default: that of the system.
	Now func() time.Time
	// SweepEvery is how often history looks for runs that have expired, at least. Default: that of history.
	SweepEvery time.Duration
	// ArchiveEvery is how often archival looks for runs that have ended. Default: that of archival.
	ArchiveEvery time.Duration
}

// Open sets the installation up if needed, and opens it. Any number of processes may do so at once. It waits until ctx ends for a NATS
// cluster that is still starting. At a standby it opens the mirrors, and the error wraps [errNoMirrors] while they are not all there.
func Open(
	ctx context.Context, conn *Connection, names subjects.Names, settings topology.Settings, options Options,
) (*Cluster, error) {
	js, err := jetstream.New(conn.Conn)
	if err != nil {
		return nil, fmt.Errorf("connect to JetStream: %w", err)
	}
	facts, err := factsFor(ctx, js, names, settings, options.Elsewhere)
	if err != nil {
		return nil, err
	}
	lanes := conn.lanesOf(laneSet{facts.Shards, cmp.Or(options.LanesFrom, bus.LongIndex)})
	buckets, err := kv.OpenLanes(ctx, js, lanes, names, facts.Shards)
	if err != nil {
		return nil, atStandby(options.Elsewhere, err)
	}
	sends, err := conn.sender(names)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		owners: sends,
		Conn:   conn, JS: js, Names: names, Facts: facts, store: kv.NewStore(buckets, names, facts.Shards), lanes: lanes,
		options: options, definitions: cache.Definitions(),
		watch: streamwatch.New(streamwatch.Config{
			JS: js, Names: names, Shards: facts.Shards, Logger: options.Logger, Unanswered: bus.Unanswered,
		}),
	}, nil
}

// factsFor returns what all processes of the installation agree on. Where it is active, it is set up first, if needed.
func factsFor(
	ctx context.Context, js jetstream.JetStream, names subjects.Names, settings topology.Settings, elsewhere *site.Elsewhere,
) (topology.Facts, error) {
	if elsewhere != nil {
		facts, err := topology.Read(ctx, js, names)
		return facts, atStandby(elsewhere, err)
	}
	facts, err := topology.Ensure(ctx, js, names, settings)
	if err != nil {
		return facts, fmt.Errorf("set up streams and buckets: %w", err)
	}
	return facts, nil
}

// Announcement returns a role that answers requests for the roles of this process, its version, its time zone data, and how far its search index is.
func (c *Cluster) Announcement(of ...string) Role {
	return Role{Name: "announcement", Run: func(ctx context.Context) error {
		self := presence.Self(c.options.Version, zonedata.Current(), of...)
		return presence.Announce(ctx, c.Conn.Conn, c.Names, func() presence.Process {
			now := self
			now.Index, now.Standby = c.indexState(), c.options.Elsewhere != nil
			return now
		})
	}}
}

// indexState is how far the search index of this process is; nil if it has none.
func (c *Cluster) indexState() *presence.Index {
	if c.index == nil {
		return nil
	}
	p := c.index.Progress()
	return &presence.Index{Ready: !p.UpTo.IsZero(), Read: p.Read, Total: p.Total, Since: p.Since, UpTo: p.UpTo}
}

// Announced returns the role with its announcement, for a process that runs nothing else.
func (c *Cluster) Announced(role Role) Role {
	role.Run = together(role.Run, c.Announcement(role.Name).Run)
	return role
}

// watched returns the role, ready only while the streams of the installation exist and accept writes. The role may wait for something of its own. At a
// standby no stream accepts writes.
func (c *Cluster) watched(role Role) Role {
	if c.options.Elsewhere != nil {
		return role
	}
	waits := role.Checks.Waits
	role.Checks.Waits = func() string {
		if waits != nil {
			if what := waits(); what != "" {
				return what
			}
		}
		return c.watch.Waits()
	}
	role.Run = together(role.Run, c.watch.Run)
	return role
}

// Frontend returns the role that answers the API, and a channel that is closed as soon as the role answers. Searches wait until their index
// is built; other requests do not wait.
func (c *Cluster) Frontend(options SearchOptions) (Role, <-chan struct{}, error) {
	index, err := c.searchIndex(options)
	if err != nil {
		return Role{}, nil, err
	}
	f, err := frontend.New(frontend.Config{
		Conn: c.Conn.Conn, JS: c.JS, Lanes: c.lanes, Store: c.store, Names: c.Names, Index: index,
		Workflows: workflows.NewClient(c.owners, c.Names, c.Facts.Shards), Elsewhere: c.options.Elsewhere,
		Version: c.options.Version, Logger: c.options.Logger, DrainTimeout: c.options.Drain,
	})
	if err != nil {
		return Role{}, nil, err
	}
	role := Role{Name: "frontend", Run: f.Run, Checks: probe.Checks{Waits: until(f.Ready(), "its API to be registered")}}
	if index != nil {
		role.Run = together(f.Run, index.Run)
	}
	return c.watched(role), f.Ready(), nil
}

// Generator returns the role that finds out what is due. It also repairs and sweeps what is stored about schedules.
func (c *Cluster) Generator() (Role, error) {
	table, vitals := c.table(), &loop.Vitals{}
	generators, err := generator.New(generator.Config{Config: c.pool(table, vitals)})
	if err != nil {
		return Role{}, err
	}
	scrubber, err := consistency.NewScrubber(consistency.ScrubberConfig{Config: c.checks()})
	if err != nil {
		return Role{}, err
	}
	zones, err := consistency.NewZoneSweeper(consistency.ZoneSweeperConfig{Config: c.checks()})
	if err != nil {
		return Role{}, err
	}
	run := together(informed(table, generators.Run), together(scrubber.Run, zones.Run))
	return c.watched(Role{Name: "generator", Run: run, Checks: poolChecks(table, vitals)}), nil
}

// checks configures the repairs of what is stored about schedules.
func (c *Cluster) checks() consistency.Config {
	return consistency.Config{JS: c.JS, Names: c.Names, Shards: c.Facts.Shards, Lanes: c.lanes, Logger: c.options.Logger}
}

// Invoker returns the role that starts what is due. It also watches the task queues.
func (c *Cluster) Invoker() (Role, error) {
	table, vitals := c.table(), &loop.Vitals{}
	invokers, err := invoker.New(invoker.Config{
		Config: c.pool(table, vitals), Workflows: workflows.NewClient(c.owners, c.Names, c.Facts.Shards),
	})
	if err != nil {
		return Role{}, err
	}
	watcher, err := taskqueue.New(taskqueue.Config{JS: c.JS, Names: c.Names, Logger: c.options.Logger, Namespaces: table})
	if err != nil {
		return Role{}, err
	}
	run := informed(table, together(invokers.Run, watcher.Run))
	return c.watched(Role{Name: "invoker", Run: run, Checks: poolChecks(table, vitals)}), nil
}

// Backfiller returns the role that works on manual requests.
func (c *Cluster) Backfiller() (Role, error) {
	table, vitals := c.table(), &loop.Vitals{}
	backfillers, err := backfiller.New(c.pool(table, vitals))
	if err != nil {
		return Role{}, err
	}
	return c.watched(Role{Name: "backfiller", Run: informed(table, backfillers.Run), Checks: poolChecks(table, vitals)}), nil
}

// Matching returns the role that brings tasks of workflow executions and polls together.
func (c *Cluster) Matching() (Role, error) {
	m, err := matching.New(matching.Config{
		JS: c.JS, Names: c.Names, Logger: c.options.Logger, Starter: matching.NewStarter(c.owners, c.Names, c.Facts.Shards),
	})
	if err != nil {
		return Role{}, err
	}
	return c.watched(Role{Name: "matching", Run: m.Run, Checks: probe.Checks{Waits: until(m.Ready(), "hints about tasks to be heard")}}), nil
}

// pool configures the pool of one role.
func (c *Cluster) pool(table *namespaces.Table, vitals *loop.Vitals) pool.Config {
	return pool.Config{
		Bus: bus.New(c.JS), Store: c.store, Names: c.Names, Logger: c.options.Logger, Definitions: c.definitions, Namespaces: table,
		Vitals: vitals,
	}
}

// table returns the table of the namespaces for one role.
func (c *Cluster) table() *namespaces.Table {
	return namespaces.NewTable(c.JS, c.Names, c.options.Logger)
}

// informed keeps the table of the namespaces up to date while a role runs. The role begins once the table is filled: a
// namespace that was frozen while no process ran must not start anything.
func informed(table *namespaces.Table, role func(context.Context) error) func(context.Context) error {
	keep := func(ctx context.Context) error {
		table.Run(ctx)
		return nil
	}
	begin := func(ctx context.Context) error {
		select {
		case <-table.Ready():
			return role(ctx)
		case <-ctx.Done():
			return nil
		}
	}
	return together(keep, begin)
}

// together runs two parts of a role. When one ends, so does the other.
func together(first, second func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for _, run := range []func(context.Context) error{first, second} {
			group.Go(func() error {
				defer cancel()
				return run(ctx)
			})
		}
		return group.Wait()
	}
}

// SearchOptions say how a frontend keeps its search index.
type SearchOptions struct {
	// Dir is its folder. Empty means a temporary folder, which is removed when the frontend ends.
	Dir string
	// Off means that there is no index, and the frontend refuses searches.
	Off bool
}

// searchIndex returns the index of a frontend; nil if it is off.
func (c *Cluster) searchIndex(options SearchOptions) (*search.Index, error) {
	if options.Off {
		return nil, nil
	}
	var err error
	c.index, err = search.New(search.Config{
		JS: c.JS, Lanes: c.lanes, Names: c.Names, Shards: c.Facts.Shards, Created: c.Facts.Created,
		Dir: options.Dir, Logger: c.options.Logger, Now: c.options.Now,
	})
	return c.index, err
}

package roles

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/backfiller"
	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/generator"
	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
	"github.com/carillon-scheduler/carillon/worker/builtin"
)

// Cluster is an installation that is ready to be worked on, with a constructor for each role.
type Cluster struct {
	Conn  *Connection
	JS    jetstream.JetStream
	Names subjects.Names
	// Facts are what all processes of the installation agree on.
	Facts   topology.Facts
	store   *kv.Store
	options Options
}

// Options are what all roles of a process share.
type Options struct {
	Logger *slog.Logger
	// Version is that of this program.
	Version string
	// Drain bounds how long a frontend that stops waits for what it works on.
	Drain time.Duration
}

// Open makes the installation ready, together with all others that try, and waits until ctx ends for a NATS cluster that
// is still starting.
func Open(
	ctx context.Context, conn *Connection, names subjects.Names, settings topology.Settings, options Options,
) (*Cluster, error) {
	js, err := jetstream.New(conn.Conn)
	if err != nil {
		return nil, fmt.Errorf("connect to JetStream: %w", err)
	}
	facts, err := topology.Ensure(ctx, js, names, settings)
	if err != nil {
		return nil, fmt.Errorf("set up streams and buckets: %w", err)
	}
	store, err := kv.Open(ctx, js, names, facts.Shards)
	if err != nil {
		return nil, err
	}
	return &Cluster{Conn: conn, JS: js, Names: names, Facts: facts, store: store, options: options}, nil
}

// Frontend returns the role that answers the API, and a channel that is closed when it does.
func (c *Cluster) Frontend() (Role, <-chan struct{}, error) {
	f, err := frontend.New(frontend.Config{
		Conn: c.Conn.Conn, JS: c.JS, Store: c.store, Names: c.Names,
		Version: c.options.Version, Logger: c.options.Logger, DrainTimeout: c.options.Drain,
	})
	if err != nil {
		return Role{}, nil, err
	}
	return Role{"frontend", f.Run}, f.Ready(), nil
}

// Generator returns the role that finds out what is due, and looks after what is stored about schedules.
func (c *Cluster) Generator() (Role, error) {
	pool, err := generator.New(generator.Config{JS: c.JS, Store: c.store, Names: c.Names, Logger: c.options.Logger})
	if err != nil {
		return Role{}, err
	}
	scrubber, err := consistency.NewScrubber(consistency.ScrubberConfig{Config: consistency.Config{
		JS: c.JS, Names: c.Names, Shards: c.Facts.Shards, Logger: c.options.Logger,
	}})
	if err != nil {
		return Role{}, err
	}
	return Role{"generator", together(pool.Run, scrubber.Run)}, nil
}

// Invoker returns the role that starts what is due, and looks after the task queues where that goes.
func (c *Cluster) Invoker() (Role, error) {
	pool, err := invoker.New(invoker.Config{JS: c.JS, Store: c.store, Names: c.Names, Logger: c.options.Logger})
	if err != nil {
		return Role{}, err
	}
	watcher, err := taskqueue.New(taskqueue.Config{JS: c.JS, Names: c.Names, Logger: c.options.Logger})
	if err != nil {
		return Role{}, err
	}
	return Role{"invoker", together(pool.Run, watcher.Run)}, nil
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

// Backfiller returns the role that works on manual requests.
func (c *Cluster) Backfiller() (Role, error) {
	pool, err := backfiller.New(backfiller.Config{JS: c.JS, Store: c.store, Names: c.Names, Logger: c.options.Logger})
	if err != nil {
		return Role{}, err
	}
	return Role{"backfiller", pool.Run}, nil
}

// Worker returns the role that runs the built-in actions. It needs no more of the installation than its task queue.
func Worker(conn *Connection, config worker.Config) (Role, error) {
	w, err := worker.New(conn.Conn, config)
	if err != nil {
		return Role{}, err
	}
	builtin.Register(w, config.Logger)
	return Role{"worker", w.Run}, nil
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

const (
	taskQueue  = "bench"
	actionType = "bench"
	namespace  = worker.DefaultNamespace

	// drain and grace are the times that a server allows itself to stop.
	drain = 2500 * time.Millisecond
	grace = 10 * time.Second

	// With a million schedules much takes longer than usual, and one slow answer should not waste half an hour of preparation.
	// askTimeout is for a request to the API, lookTimeout for one to NATS, clearTimeout for removing all streams.
	askTimeout   = time.Minute
	lookTimeout  = 30 * time.Second
	clearTimeout = time.Minute
)

// installation is a running installation: all roles and a worker on one connection, as in a server, and a client on another. Or
// the roles are processes of their own, and only the worker runs here.
type installation struct {
	names   subjects.Names
	cluster *roles.Cluster
	client  *client.Client
	// js is the client's JetStream.
	js jetstream.JetStream

	search roles.SearchOptions
	conn   *roles.Connection
	// apart is the connection of the worker, if it has its own.
	apart  *roles.Connection
	asks   *nats.Conn
	cancel context.CancelFunc
	ended  chan error
	// children are the roles as processes; nil if they run here.
	children *children
	// gateway is the address where Temporal's clients are served.
	gateway string
}

// startInstallation starts all roles and returns when requests are answered. If a role ends by itself, fail is called. The
// caller closes the installation even if there is an error.
func startInstallation(
	ctx context.Context, h *host, c *Config, names subjects.Names, handler worker.Handler, fail context.CancelCauseFunc,
) (i *installation, err error) {
	i = &installation{names: names, search: h.searchOptions(names), ended: make(chan error, 1)}
	if i.conn, err = roles.Connect(ctx, c.Logger, "carillon-bench", h.dialAsRole); err != nil {
		return i, err
	}
	if err := i.connectClient(h); err != nil {
		return i, err
	}
	i.cluster, err = roles.Open(ctx, i.conn, names, topology.Settings{Shards: c.Shards, Replicas: c.Replicas},
		roles.Options{Logger: c.Logger, Version: c.Version, Drain: drain})
	if err != nil {
		return i, err
	}
	config := worker.Config{
		Namespace: namespace, TaskQueue: taskQueue, Prefix: names.Prefix(), Concurrency: c.Concurrency,
		DrainTimeout: drain, Logger: c.Logger,
	}
	conn := i.conn
	if c.Worker != WorkerTogether {
		var options []nats.Option
		if c.Worker == WorkerFenced {
			options, config.JetStreamAPIPrefix = append(options, asFenced()), fencedAPI
		}
		if i.apart, err = roles.Connect(ctx, c.Logger, "carillon-bench-worker", h.dialAsRole, options...); err != nil {
			return i, err
		}
		conn = i.apart
	}
	w, err := worker.New(conn.Conn, config)
	if err != nil {
		return i, err
	}
	w.Register(actionType, handler)
	work := roles.Role{Name: "worker", Run: w.Run}
	if h.children == nil {
		return i, i.run(ctx, c, work, fail)
	}
	i.supervise(ctx, c.Logger, fail, roles.Stage{work}, roles.Stage{i.conn.Role()})
	return i, i.startRoles(ctx, h.children, h.roleURL())
}

// connectClient gives the clients, and the measurements around them, a connection of their own.
func (i *installation) connectClient(h *host) (err error) {
	if i.asks, err = h.dial(nats.Name("carillon-bench-client"), nats.MaxReconnects(-1)); err != nil {
		return fmt.Errorf("bench: connect to NATS: %w", err)
	}
	if i.js, err = jetstream.New(i.asks, jetstream.WithDefaultTimeout(lookTimeout)); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	i.client, err = client.New(i.asks, client.Config{
		Namespace: namespace, Prefix: i.names.Prefix(), Identity: "bench", Timeout: askTimeout,
	})
	return err
}

// run starts the roles, in the stages of a server, and waits until the frontend is ready.
func (i *installation) run(ctx context.Context, c *Config, work roles.Role, fail context.CancelCauseFunc) error {
	front, ready, err1 := i.cluster.Frontend(i.search)
	generator, err2 := i.cluster.Generator()
	backfiller, err3 := i.cluster.Backfiller()
	invoker, err4 := i.cluster.Invoker()
	history, err5 := i.cluster.History()
	matching, err6 := i.cluster.Matching()
	gateway, err7 := i.openGateway(ctx)
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7); err != nil {
		return err
	}
	stages := []roles.Stage{{front, gateway}, {generator, backfiller, matching}, {work}, {invoker, history}, {i.conn.Role()}}
	if c.listsOnly {
		stages = []roles.Stage{{front, gateway}, {i.conn.Role()}}
	}
	i.supervise(ctx, c.Logger, fail, stages...)
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// openGateway returns the role that serves Temporal's clients, on a free port of this machine.
func (i *installation) openGateway(ctx context.Context) (roles.Role, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", loopback)
	if err != nil {
		return roles.Role{}, fmt.Errorf("bench: listen for Temporal's clients: %w", err)
	}
	i.gateway = listener.Addr().String()
	role, _, err := i.cluster.Gateway(roles.GatewayConfig{GRPC: listener, Anonymous: true, Drain: drain})
	return role, err
}

// loopback is a free port of this machine.
const loopback = "127.0.0.1:0"

// freeAddress returns an address of this machine that is free at this moment, for another process.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", loopback)
	if err != nil {
		return "", fmt.Errorf("bench: look for a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// supervise begins to run roles. They end when they are told to, which is after the measurement even if that is broken off.
func (i *installation) supervise(ctx context.Context, log *slog.Logger, fail context.CancelCauseFunc, stages ...roles.Stage) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	i.cancel = cancel
	go func() {
		err := roles.Supervise(running, log, grace, stages...)
		if running.Err() == nil {
			fail(fmt.Errorf("bench: %w", err))
		}
		i.ended <- err
	}()
}

// stopRoles stops the roles in order. The client stays connected.
func (i *installation) stopRoles() error {
	if i.children != nil {
		for _, role := range roleProcesses {
			i.children.stop(i.children.namesOf(role)...)
		}
	}
	if i.cancel == nil {
		return nil
	}
	i.cancel()
	i.cancel = nil
	return <-i.ended
}

// close stops the roles and closes the connections.
func (i *installation) close() error {
	err := i.stopRoles()
	if i.asks != nil {
		i.asks.Close()
	}
	for _, conn := range []*roles.Connection{i.apart, i.conn} {
		if conn != nil {
			conn.Close()
		}
	}
	return err
}

// shards is the number of shards, as far as it is known.
func (i *installation) shards() int {
	if i.cluster == nil {
		return 0
	}
	return i.cluster.Facts.Shards
}

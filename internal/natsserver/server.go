package natsserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/schedule"
)

// readyPoll is how often Start checks whether the server is ready, because the server cannot notify it.
const readyPoll = 5 * time.Millisecond

// Server is a running NATS server. Its methods are safe for concurrent use.
type Server struct {
	options Options // with the port that it has
	log     *logger
	lock    *flock.Flock
	stop    func()

	mu      sync.Mutex
	nats    *server.Server // replaced by a restart in place
	trouble string         // why it stores nothing
}

// Start runs a server and returns when it accepts connections and JetStream is up. In a cluster there may be no leader yet. If
// ctx ends before that, Start stops the server again. The caller owns the server and must call Shutdown.
func Start(ctx context.Context, o Options) (*Server, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if _, err := o.serverOptions(); err != nil {
		return nil, err
	}
	// Check the ports first. The common mistake is to start a second server with the same settings, and the server that has the
	// port is the one to use.
	if err := checkPorts(ctx, o); err != nil {
		return nil, err
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, log: newLogger(o.Logger.With("component", "nats")), lock: lock}
	s.stop = sync.OnceFunc(s.shutdown)
	if err := s.open(ctx); err != nil {
		s.Shutdown()
		return nil, err
	}
	if at, ok := s.current().Addr().(*net.TCPAddr); ok {
		s.options.Port = at.Port
	}
	return s, nil
}

// open makes a server and runs it.
func (s *Server) open(ctx context.Context) error {
	so, err := s.options.serverOptions()
	if err != nil {
		return err
	}
	ns, err := server.NewServer(so)
	if err != nil {
		return fmt.Errorf("natsserver: %w", err)
	}
	ns.SetLoggerV2(s.log, false, false, false)
	s.mu.Lock()
	s.nats = ns
	s.mu.Unlock()
	return s.run(ctx, ns)
}

// current returns the server that runs now; nil if none could be made.
func (s *Server) current() *server.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nats
}

// checkPorts detects a used port early, before anything touches the data folder.
func checkPorts(ctx context.Context, o Options) error {
	address := net.JoinHostPort(o.Host, strconv.Itoa(o.Port))
	switch err := tryListen(ctx, o.Port, address); {
	case errors.Is(err, syscall.EADDRINUSE):
		return schedule.Errorf(schedule.CodeFailedPrecondition,
			"%s is in use: if that is a NATS server, use it with --nats nats://%[1]s, or choose another port with --port",
			address)
	case err != nil:
		return fmt.Errorf("natsserver: %w", err)
	}
	if o.Cluster == nil {
		return nil
	}
	if err := tryListen(ctx, o.Cluster.Port, net.JoinHostPort(o.Host, strconv.Itoa(o.Cluster.Port))); err != nil {
		return fmt.Errorf("natsserver: cluster port: %w", err)
	}
	return nil
}

func tryListen(ctx context.Context, port int, address string) error {
	if port < 0 {
		return nil
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}

// run starts a server and waits until it is ready.
func (s *Server) run(ctx context.Context, ns *server.Server) error {
	started := make(chan struct{})
	go func() {
		defer close(started)
		ns.Start() // returns when all is started, or after a fatal error
	}()
	select {
	case <-started:
	case <-ctx.Done():
		ns.Shutdown()
		<-started
		return fmt.Errorf("natsserver: starting: %w", context.Cause(ctx))
	}
	return s.waitReady(ctx, ns)
}

func (s *Server) waitReady(ctx context.Context, ns *server.Server) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		if err := s.log.fatalErr(); err != nil {
			return fmt.Errorf("natsserver: starting: %w", err)
		}
		if ns.ReadyForConnections(time.Millisecond) && ns.JetStreamEnabled() {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("natsserver: waiting until the server is ready: %w", context.Cause(ctx))
		}
	}
}

// ClientURL is where clients connect, such as "nats://127.0.0.1:4222".
func (s *Server) ClientURL() string { return s.current().ClientURL() }

// Connect connects to the server within the process, without the network. The connection tells the address that others connect to. One that reconnects
// finds the server again after a restart in place. The caller must close the connection.
func (s *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	url := strings.Replace(s.ClientURL(), "tls://", "nats://", 1) // there is no network, so there is no TLS
	conn, err := nats.Connect(url, append([]nats.Option{nats.InProcessServer(s)}, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("natsserver: connect: %w", err)
	}
	return conn, nil
}

// InProcessConn implements nats.InProcessConnProvider for the server that runs now.
func (s *Server) InProcessConn() (net.Conn, error) { return s.current().InProcessConn() }

// SyncAlways reports whether the running server syncs every write before it acknowledges it.
func (s *Server) SyncAlways() bool {
	config := s.current().JetStreamConfig()
	return config != nil && config.SyncAlways
}

// LimitStore limits from now on how many bytes clients may store, including the existing data; 0 removes the limit. The server
// refuses what exceeds it. It is for tests of a full disk. Unlike with a full disk, the server does not give up the streams that
// it leads. Their delayed messages that become due meanwhile wait for another leader: see StepDown.
func (s *Server) LimitStore(bytes int64) error {
	if bytes == 0 {
		bytes = -1
	}
	limits := server.JetStreamAccountLimits{MaxMemory: -1, MaxStore: bytes, MaxStreams: -1, MaxConsumers: -1}
	if err := s.current().GlobalAccount().UpdateJetStreamLimits(map[string]server.JetStreamAccountLimits{"": limits}); err != nil {
		return fmt.Errorf("natsserver: limit the store: %w", err)
	}
	return nil
}

// StepDown makes other nodes of the cluster lead the streams that this node leads.
func (s *Server) StepDown() error {
	ns := s.current()
	led, err := ns.Jsz(&server.JSzOptions{Accounts: true, Streams: true, StreamLeaderOnly: true})
	if err != nil {
		return fmt.Errorf("natsserver: step down: %w", err)
	}
	var errs []error
	for _, account := range led.AccountDetails {
		for i := range account.Streams {
			errs = append(errs, ns.JetStreamStepdownStream(account.Name, account.Streams[i].Name))
		}
	}
	return errors.Join(errs...)
}

// Shutdown stops the server and returns when it has written everything, closed its connections and released the data folder.
// Further calls do nothing.
func (s *Server) Shutdown() { s.stop() }

// close stops the server that runs now, if there is one.
func (s *Server) close() {
	if ns := s.current(); ns != nil {
		ns.Shutdown()
		ns.WaitForShutdown()
	}
}

func (s *Server) shutdown() {
	s.close()
	if err := s.lock.Unlock(); err != nil {
		s.log.log.Warn("cannot unlock the data folder", "error", err)
	}
}

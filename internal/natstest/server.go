package natstest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// startTimeout bounds the start of a server on a machine that is busy with other tests.
const startTimeout = Patience

// Option changes how a server of a test is run. The default is a free port, a folder of its own and SyncInterval. SyncInterval
// is fast, and only a power loss could tell the difference.
type Option func(*natsserver.Options)

// Sync is an Option that sets when writes reach the disk.
func Sync(mode natsserver.SyncMode) Option {
	return func(o *natsserver.Options) { o.Sync = mode }
}

// MaxStore is an Option that bounds the bytes on disk, and with them what streams may reserve.
func MaxStore(bytes int64) Option {
	return func(o *natsserver.Options) { o.MaxStore = bytes }
}

// plenty is what the servers of tests may store, or rather reserve: hundreds of installations do so, on a disk that may be
// small.
const plenty = 1 << 40

// Server runs a server for one test, until its end.
func Server(t testing.TB, opts ...Option) *natsserver.Server {
	t.Helper()
	o := natsserver.Options{Dir: t.TempDir(), Port: -1, Sync: natsserver.SyncInterval, MaxStore: plenty, Logger: Logger(t)}
	for _, opt := range opts {
		opt(&o)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	s, err := natsserver.Start(ctx, o)
	if err != nil {
		t.Fatalf("natstest: start a server: %v", err)
	}
	t.Cleanup(s.Shutdown)
	return s
}

// Shared returns the one server of the test package; [Main] ends it. [Names] keeps the tests apart.
func Shared(t testing.TB) *natsserver.Server {
	t.Helper()
	s, err := shared.get()
	if err != nil {
		t.Fatalf("natstest: start the shared server: %v", err)
	}
	return s
}

var shared sharedServer

// sharedServer is started by the first test that asks.
type sharedServer struct {
	once   sync.Once
	dir    string
	server *natsserver.Server
	err    error
}

func (s *sharedServer) get() (*natsserver.Server, error) {
	s.once.Do(func() { s.err = s.start() })
	return s.server, s.err
}

func (s *sharedServer) start() (err error) {
	if s.dir, err = os.MkdirTemp("", "carillon-natstest-"); err != nil {
		return err
	}
	// The server outlives the test that happens to start it.
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	s.server, err = natsserver.Start(ctx, natsserver.Options{
		Dir: s.dir, Port: -1, Sync: natsserver.SyncInterval, MaxStore: plenty, Logger: stderrLogger(),
	})
	return err
}

func (s *sharedServer) stop() {
	if s.server != nil {
		s.server.Shutdown()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// Connect connects to a server, or to the URLs of a cluster, until the end of the test. When the connection loses its node it
// looks for another one at once, and never gives up.
func Connect[T string | *natsserver.Server](t testing.TB, to T) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	options := []nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(20 * time.Millisecond), nats.ReconnectJitter(0, 0)}
	conn, err := connect(to, options)
	if err != nil {
		t.Fatalf("natstest: connect: %v", err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatalf("natstest: %v", err)
	}
	return conn, js
}

func connect(to any, options []nats.Option) (*nats.Conn, error) {
	if server, ok := to.(*natsserver.Server); ok {
		return server.Connect(options...)
	}
	return nats.Connect(to.(string), options...)
}

// Bus returns the bus of a connection, closed when the test ends.
func Bus(t testing.TB, js jetstream.JetStream) *bus.NATS {
	t.Helper()
	b := bus.New(js)
	t.Cleanup(b.Close)
	return b
}

// KeyInEachShard returns a schedule key of the default namespace for each of a number of shards, in their order.
func KeyInEachShard(shards int) []schedule.Key {
	keys := make([]schedule.Key, shards)
	for i, found := 0, 0; found < shards; i++ {
		key := schedule.Key{Namespace: "default", ID: fmt.Sprint("s", i)}
		if of := &keys[subjects.ShardOf(key, shards)]; *of == (schedule.Key{}) {
			*of = key
			found++
		}
	}
	return keys
}

var prefixes atomic.Int64

// Names returns names under a prefix no other test of the process has. The prefix begins with the name of the test.
func Names(t testing.TB) subjects.Names {
	t.Helper()
	names, err := subjects.New(prefix(t.Name(), prefixes.Add(1)))
	if err != nil {
		t.Fatalf("natstest: %v", err)
	}
	return names
}

func prefix(test string, number int64) string {
	const longest = 20
	word := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, strings.TrimPrefix(test, "Test"))
	return word[:min(len(word), longest)] + "-" + strconv.FormatInt(number, 36)
}

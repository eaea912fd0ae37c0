package roster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/worker/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/carillon-scheduler/carillon/gateway/internal/roster"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/subjects"
)

// clock is one that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// site is an installation whose gateways share a clock.
type site struct {
	t     *testing.T
	names subjects.Names
	clock *clock
	log   natstest.Lines
	// connect connects a gateway.
	connect func() *nats.Conn
}

func newSite(t *testing.T) *site {
	t.Helper()
	return &site{t: t, names: natstest.Names(t), clock: &clock{at: noon}, connect: func() *nats.Conn {
		conn, _ := natstest.Connect(t, natstest.Shared(t))
		return conn
	}}
}

// gateway runs a roster until stop is called, or the test ends.
func (s *site) gateway() (r *roster.Roster, stop func()) {
	s.t.Helper()
	r = roster.New(roster.Config{Conn: s.connect(), Names: s.names, Logger: s.log.Logger(), Now: s.clock.now})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		assert.NoError(s.t, <-ended)
	})
	s.t.Cleanup(stop)
	return r, stop
}

// beat is a heartbeat of a worker, some time after noon by its clock.
func beat(key string, after time.Duration, changes ...func(*worker.WorkerHeartbeat)) *worker.WorkerHeartbeat {
	b := &worker.WorkerHeartbeat{
		WorkerInstanceKey: key, Status: enums.WORKER_STATUS_RUNNING, HeartbeatTime: timestamppb.New(noon.Add(after)), TaskQueue: "q",
	}
	for _, change := range changes {
		change(b)
	}
	return b
}

// keys are the instance keys of the workers of the namespace default.
func keys(r *roster.Roster) (all []string) {
	for _, b := range r.All("default") {
		all = append(all, b.WorkerInstanceKey)
	}
	return all
}

func (s *site) await(r *roster.Roster, want ...string) {
	s.t.Helper()
	natstest.Eventually(s.t, natstest.Patience, fmt.Sprintf("the workers are %v", want), func() bool { return slices.Equal(want, keys(r)) })
}

// awaitAnswers waits until a gateway answers those that begin.
func (s *site) awaitAnswers() {
	s.t.Helper()
	conn := s.connect()
	told, err := conn.SubscribeSync(s.names.WorkerBeats())
	require.NoError(s.t, err)
	natstest.Eventually(s.t, natstest.Patience, "a gateway answers", func() bool {
		require.NoError(s.t, conn.Publish(s.names.WorkerRoster(), nil))
		_, err := told.NextMsg(100 * time.Millisecond)
		return err == nil
	})
}

// TestEachGatewayKnowsAllWorkers: also one that begins later, and after the one has died to which a worker spoke.
func TestEachGatewayKnowsAllWorkers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, stopA := s.gateway()
	b, _ := s.gateway()
	// a gateway hears of a worker only once it listens
	natstest.Eventually(t, natstest.Patience, "b hears of a worker of a", func() bool {
		require.NoError(t, a.Record("default", beat("w1", 0)))
		return slices.Equal([]string{"w1"}, keys(b))
	})
	natstest.Eventually(t, natstest.Patience, "a hears of a worker of b", func() bool {
		require.NoError(t, b.Record("default", beat("w2", 0)))
		return slices.Equal([]string{"w1", "w2"}, keys(a))
	})
	require.NoError(t, a.Record("other", beat("w3", 0)))
	s.await(b, "w1", "w2")
	stopA()
	c, _ := s.gateway()
	s.await(c, "w1", "w2")
	assert.Nil(t, c.Find("default", "w3"))
	assert.Equal(t, "q", c.Find("default", "w2").GetTaskQueue())
}

// TestSilentWorkersAreForgotten: a gateway that learns of them later does not keep them for longer.
func TestSilentWorkersAreForgotten(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, _ := s.gateway()
	require.NoError(t, a.Record("default", beat("w1", 0)))
	s.clock.pass(roster.TTL - time.Minute)
	require.NoError(t, a.Record("default", beat("w2", 0)))
	s.awaitAnswers()
	b, _ := s.gateway()
	s.await(b, "w1", "w2")
	s.clock.pass(time.Minute)
	assert.Equal(t, []string{"w2"}, keys(a))
	assert.Equal(t, []string{"w2"}, keys(b))
	assert.Nil(t, b.Find("default", "w1"))
}

// TestNewestHeartbeatCounts: heartbeats of a worker by way of two gateways may overtake each other.
func TestNewestHeartbeatCounts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, _ := s.gateway()
	environment := &worker.EnvironmentInfo{}
	require.NoError(t, a.Record("default", beat("w", 1, func(b *worker.WorkerHeartbeat) { b.Environment = environment })))
	require.NoError(t, a.Record("default", beat("w", 3, func(b *worker.WorkerHeartbeat) { b.TaskQueue = "newest" })))
	require.NoError(t, a.Record("default", beat("w", 2)))
	assert.Equal(t, "newest", a.Find("default", "w").GetTaskQueue())
	assert.NotNil(t, a.Find("default", "w").Environment, "a worker says this only once")
	require.NoError(t, a.Record("default", beat("w", 4, func(b *worker.WorkerHeartbeat) { b.Status = enums.WORKER_STATUS_SHUTTING_DOWN })))
	assert.Equal(t, enums.WORKER_STATUS_SHUTTING_DOWN, a.Find("default", "w").GetStatus())
	require.NoError(t, a.Record("default", beat("w", 5, func(b *worker.WorkerHeartbeat) { b.Status = enums.WORKER_STATUS_SHUTDOWN })))
	assert.Empty(t, keys(a))
}

// TestPermissionsOfTheService: those that deploy/nats gives allow one answer to each question, so all that a gateway knows needs another way.
func TestPermissionsOfTheService(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `authorization { users: [ { user: service, password: secret, permissions {
		publish: "%[1]s.>", subscribe: ["%[1]s.>", "_INBOX_service.>"], allow_responses: true
	} } ] }`, s.names.Prefix()), 0o600))
	server := natstest.Server(t, func(o *natsserver.Options) { o.ConfigFile = file })
	s.connect = func() *nats.Conn {
		conn, err := nats.Connect(server.ClientURL(), nats.UserInfo("service", "secret"), nats.CustomInboxPrefix("_INBOX_service"),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { assert.NoError(t, err) }))
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		return conn
	}
	a, _ := s.gateway()
	want := []string{"w1", "w2", "w3"}
	for _, key := range want {
		require.NoError(t, a.Record("default", beat(key, 0)))
	}
	s.awaitAnswers()
	b, _ := s.gateway()
	s.await(b, want...)
}

// TestTooManyWorkers: those that are known go on being known.
func TestTooManyWorkers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, _ := s.gateway()
	for i := range roster.MaxWorkers {
		require.NoError(t, a.Record("default", beat(fmt.Sprint("w", i), 0)))
	}
	require.NoError(t, a.Record("default", beat("one too many", 0)))
	require.NoError(t, a.Record("other", beat("w", 0)))
	assert.Len(t, keys(a), roster.MaxWorkers)
	assert.Nil(t, a.Find("default", "one too many"))
	assert.NotNil(t, a.Find("other", "w"))
	assert.NotZero(t, s.log.Count("worker not listed"))
}

// TestGarbageIsIgnored: whatever may be published on the subjects of the gateways.
func TestGarbageIsIgnored(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, _ := s.gateway()
	require.NoError(t, a.Record("default", beat("w", 0)))
	s.awaitAnswers()
	conn := s.connect()
	for _, ago := range []string{"", "-1", "x", "0"} {
		require.NoError(t, conn.PublishMsg(&nats.Msg{
			Subject: s.names.WorkerBeats(), Data: []byte("garbage"), Header: nats.Header{"Carillon-Heard-Ago": []string{ago}},
		}))
	}
	require.NoError(t, conn.PublishRequest(s.names.WorkerRoster(), s.names.WorkerBeats(), []byte("garbage")))
	s.awaitAnswers()
	assert.Equal(t, []string{"w"}, keys(a))
}

package roles_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/probe"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/subjects"
)

// places are two linked sites of a test, of which east is active.
type places struct {
	t          *testing.T
	both       *natstest.SitesT
	names      subjects.Names
	east, west site.Store
	// log is what the roles say.
	log natstest.Lines
}

func newPlaces(t *testing.T) *places {
	t.Helper()
	names := natstest.Names(t)
	p := &places{t: t, both: natstest.Sites(t, 1, names), names: names}
	_, js := natstest.Connect(t, p.both.East.URLs())
	p.east = site.NewStore(js, names)
	_, js = natstest.Connect(t, p.both.West.URLs())
	p.west = site.NewStore(js, names)
	east := site.Linked("east", "west", time.Now())
	p.save(p.east, east)
	p.save(p.west, site.Joined("west", east, time.Now()))
	natstest.Eventually(t, natstest.Patience, "the sites are connected", func() bool {
		record, err := p.east.Peer(t.Context(), "west")
		return err == nil && record != nil
	})
	return p
}

// save stores what a site is from now on.
func (p *places) save(store site.Store, record *site.Record) {
	p.t.Helper()
	_, revision, err := store.Load(p.t.Context())
	require.NoError(p.t, err)
	require.NoError(p.t, store.Save(p.t.Context(), record, revision, 1))
}

// overtake lets west take over by force. No role replication tells east.
func (p *places) overtake() *site.Record {
	p.t.Helper()
	west, _, err := p.west.Load(p.t.Context())
	require.NoError(p.t, err)
	next, err := site.Failover(west, nil, time.Now())
	require.NoError(p.t, err)
	p.save(p.west, next)
	return next
}

// run runs roles at east until the test ends. Each time they begin is sent on the first channel, and each time they end on the second.
func (p *places) run() (health *probe.Health, begun, ended <-chan struct{}) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	conn, err := roles.Connect(ctx, natstest.Logger(p.t), "test", func(options ...nats.Option) (*nats.Conn, error) {
		return nats.Connect(p.both.East.URLs(), append(options, nats.MaxReconnects(-1))...)
	})
	require.NoError(p.t, err)
	health = probe.NewHealth(ctx, "generator")
	begins, ends, over := make(chan struct{}, 100), make(chan struct{}, 100), make(chan error, 1)
	role := roles.AtSite(p.log.Logger(), health, conn, p.names, func(ctx context.Context, elsewhere *site.Elsewhere) error {
		assert.Nil(p.t, elsewhere)
		begins <- struct{}{}
		<-ctx.Done()
		ends <- struct{}{}
		return nil
	})
	go func() { over <- role.Run(ctx) }()
	p.t.Cleanup(func() {
		cancel()
		assert.NoError(p.t, <-over)
		conn.Close()
	})
	return health, begins, ends
}

// waitsFor waits until the roles wait for something.
func (p *places) waitsFor(health *probe.Health, what string) {
	p.t.Helper()
	natstest.Eventually(p.t, natstest.Patience, "the roles wait for "+what, func() bool { return strings.Contains(fmt.Sprint(health.Report()), what) })
}

// happens waits until a channel has an element.
func (p *places) happens(what string, c <-chan struct{}) {
	p.t.Helper()
	select {
	case <-c:
	case <-time.After(natstest.Patience):
		require.Fail(p.t, "timeout", "the roles have not "+what)
	}
}

// TestASiteAsksBeforeItBegins: roles that begin at a site that was taken over meanwhile, as after its loss, do nothing, also before the role replication has
// learned it.
func TestASiteAsksBeforeItBegins(t *testing.T) {
	t.Parallel()
	p := newPlaces(t)
	taken := p.overtake()
	health, begun, _ := p.run()
	p.waitsFor(health, "west, which takes over")
	taken.Cuts = map[string]uint64{"a stream": 1}
	p.save(p.west, taken)
	p.waitsFor(health, "west, which has taken over")
	require.Empty(t, begun)
	p.save(p.west, site.Joined("west", &site.Record{Site: "east", Term: 1}, time.Now()))
	p.happens("begun", begun)
}

// TestASiteRemembersThatItWasTakenOver: what the other site has said stands when it does not answer any longer.
func TestASiteRemembersThatItWasTakenOver(t *testing.T) {
	t.Parallel()
	p := newPlaces(t)
	taken := p.overtake()
	health, begun, _ := p.run()
	p.waitsFor(health, "west, which takes over")
	p.both.Cut()
	natstest.Eventually(t, natstest.Patience, "the roles ask in vain", func() bool { return p.log.Count("what it has said stands") > 0 })
	require.Empty(t, begun)
	taken.Cuts = map[string]uint64{"a stream": 1}
	p.save(p.west, taken)
	p.both.Heal()
	p.waitsFor(health, "west, which has taken over")
}

// TestASiteBeginsAlone: roles begin although the other site does not answer.
func TestASiteBeginsAlone(t *testing.T) {
	t.Parallel()
	p := newPlaces(t)
	p.both.Cut()
	health, begun, _ := p.run()
	p.waitsFor(health, "west to say whether it has taken over")
	p.happens("begun", begun)
}

// TestASiteThatWasAway: roles that could not reach NATS for so long that their site may have been taken over end, and ask before they go on.
func TestASiteThatWasAway(t *testing.T) {
	t.Parallel()
	p := newPlaces(t)
	health, begun, ended := p.run()
	p.happens("begun", begun)
	p.both.East.Shutdown()
	p.happens("ended", ended)
	p.waitsFor(health, roles.WaitForNATS)
	taken := p.overtake()
	taken.Cuts = map[string]uint64{"a stream": 1}
	p.save(p.west, taken)
	p.both.East.Start()
	p.waitsFor(health, "west, which has taken over")
	require.Empty(t, begun)
}

// TestASiteThatChangesDuringAStart: what a start says that is broken off does not end the process.
func TestASiteThatChangesDuringAStart(t *testing.T) {
	t.Parallel()
	server, names, log := natstest.Shared(t), natstest.Names(t), natstest.Logger(t)
	_, js := natstest.Connect(t, server)
	store := site.NewStore(js, names)
	record := site.Linked("east", "west", time.Now())
	require.NoError(t, store.Save(t.Context(), record, 0, 1))
	conn, err := roles.Connect(t.Context(), log, "test", func(options ...nats.Option) (*nats.Conn, error) { return server.Connect(options...) })
	require.NoError(t, err)
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun, ended := make(chan *site.Elsewhere), make(chan error, 1)
	role := roles.AtSite(log, probe.NewHealth(ctx), conn, names, func(ctx context.Context, elsewhere *site.Elsewhere) error {
		begun <- elsewhere
		<-ctx.Done()
		return errors.New("gave up waiting for something")
	})
	go func() { ended <- role.Run(ctx) }()
	assert.Nil(t, <-begun)
	_, revision, err := store.Load(t.Context())
	require.NoError(t, err)
	record.State = site.Standby
	require.NoError(t, store.Save(t.Context(), record, revision, 1))
	assert.NotNil(t, <-begun, "it runs as a standby then")
	cancel()
	assert.ErrorContains(t, <-ended, "gave up waiting")
}

// TestAStandbyWaitsForItsMirrors: at a standby, what is not there yet, or does not answer yet, is waited for. Elsewhere it is an error.
func TestAStandbyWaitsForItsMirrors(t *testing.T) {
	t.Parallel()
	open := func(names subjects.Names) error {
		server := natstest.Shared(t)
		conn, err := roles.Connect(t.Context(), natstest.Logger(t), "test", func(options ...nats.Option) (*nats.Conn, error) { return server.Connect(options...) })
		require.NoError(t, err)
		defer conn.Close()
		_, err = roles.Open(t.Context(), conn, names, topology.Settings{}, roles.Options{
			Logger: natstest.Logger(t), Elsewhere: &site.Elsewhere{Here: "west", Active: "east"},
		})
		return err
	}
	names := natstest.Names(t)
	require.ErrorIs(t, open(names), roles.ErrNoMirrors, "nothing is there")
	_, js := natstest.Connect(t, natstest.Shared(t))
	_, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	require.NoError(t, open(names))
	require.NoError(t, js.DeleteKeyValue(t.Context(), names.StateBucket(0)))
	require.ErrorIs(t, open(names), roles.ErrNoMirrors, "the mirror of a bucket is missing")
	require.NoError(t, js.DeleteKeyValue(t.Context(), names.ClusterBucket()))
	require.ErrorIs(t, open(names), roles.ErrNoMirrors, "the mirror of the cluster bucket is missing")
}

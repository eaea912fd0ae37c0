package replication_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/replication"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// end is one site of a test: its role replication runs until the test ends.
type end struct {
	t     *testing.T
	names subjects.Names
	conn  *nats.Conn
	js    jetstream.JetStream
	sites *replication.Sites
	// role is the role replication of the site, from run on.
	role *replication.Service
}

func newEnd(t *testing.T, names subjects.Names, cluster *natstest.ClusterT) *end {
	t.Helper()
	conn, js := natstest.Connect(t, cluster.URLs())
	return &end{t: t, names: names, conn: conn, js: js, sites: replication.NewSites(js, names, time.Now)}
}

// run runs the role until the test ends.
func (e *end) run() {
	e.t.Helper()
	service, err := replication.New(replication.Config{JS: e.js, Names: e.names, ConfirmAfter: 100 * time.Millisecond, Logger: natstest.Logger(e.t)})
	require.NoError(e.t, err)
	e.role = service
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx) }()
	e.t.Cleanup(func() {
		cancel()
		assert.NoError(e.t, <-ended)
	})
}

// is waits until the site is in a state of a term.
func (e *end) is(state site.State, term uint64) *replication.Look {
	e.t.Helper()
	var look replication.Look
	natstest.Eventually(e.t, natstest.Patience, fmt.Sprintf("the site is %s, term %d", state, term), func() bool {
		var err error
		look, err = e.sites.Look(e.t.Context())
		return err == nil && look.Here != nil && look.Here.State == state && look.Here.Term == term
	})
	return &look
}

// isCurrent waits until the standby has everything.
func (e *end) isCurrent(term uint64) {
	e.t.Helper()
	natstest.Eventually(e.t, natstest.Patience, "the standby has everything", func() bool {
		look := e.is(site.Standby, term)
		return look.There != nil && look.There.State == site.Active && look.Here.Complete && len(look.Missing) == 0 && len(look.Behind) == 0
	})
}

// put stores a message in a stream that is mirrored. It reports whether the stream took it.
func (e *end) put(number int) bool {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), 2*time.Second)
	defer cancel()
	_, err := e.js.Publish(ctx, e.event(number), fmt.Appendf(nil, "%d", number), jetstream.WithRetryAttempts(0))
	return err == nil
}

func (e *end) event(number int) string {
	return fmt.Sprintf("%s.event.default.s%d", e.names.Prefix(), number)
}

// has returns which of some messages the site has.
func (e *end) has(numbers ...int) (found []int) {
	e.t.Helper()
	stream, err := e.js.Stream(e.t.Context(), e.names.EventStream())
	require.NoError(e.t, err)
	for _, number := range numbers {
		if _, err := stream.GetLastMsgForSubject(e.t.Context(), e.event(number)); err == nil {
			found = append(found, number)
		}
	}
	return found
}

// leaveMark leaves the mark of an earlier end in a stream, as a process that dies while it opens the stream does. What comes later must not be taken to be behind the end.
func (e *end) leaveMark() {
	e.t.Helper()
	stream, err := e.js.Stream(e.t.Context(), e.names.EventStream())
	require.NoError(e.t, err)
	open := stream.CachedInfo().Config
	marked := open
	marked.Subjects = []string{e.names.Fenced(open.Name)}
	_, err = e.js.UpdateStream(e.t.Context(), marked)
	require.NoError(e.t, err)
	_, err = e.js.Publish(e.t.Context(), e.names.Fenced(open.Name), nil)
	require.NoError(e.t, err)
	_, err = e.js.UpdateStream(e.t.Context(), open)
	require.NoError(e.t, err)
	require.True(e.t, e.put(0))
}

// newSites returns two linked sites with the role running at both.
func newSites(t *testing.T) (*natstest.SitesT, *end, *end) {
	t.Helper()
	names := natstest.Names(t)
	sites := natstest.Sites(t, 1, names)
	east, west := newEnd(t, names, sites.East), newEnd(t, names, sites.West)
	_, err := topology.Ensure(t.Context(), east.js, names, topology.Settings{Shards: 2})
	require.NoError(t, err)
	_, err = east.sites.Link(t.Context(), "west")
	require.NoError(t, err)
	east.run()
	natstest.Eventually(t, natstest.Patience, "the sites are connected", func() bool {
		_, err = west.sites.Join(t.Context(), "east")
		return schedule.CodeOf(err) != schedule.CodeUnavailable
	})
	require.NoError(t, err)
	west.run()
	west.isCurrent(1)
	return sites, east, west
}

func ignore(*site.Record, *site.Record) {}

// TestHandover hands over there and back, with messages that wait in a queue.
func TestHandover(t *testing.T) {
	t.Parallel()
	_, east, west := newSites(t)
	require.True(t, east.put(1))
	assert.False(t, west.put(1), "a standby takes nothing")
	_, err := topology.Ensure(t.Context(), west.js, west.names, topology.Settings{})
	require.ErrorIs(t, err, topology.ErrElsewhere)
	queued := nats.NewMsg(east.names.Action("default", "q", "w"))
	queued.Header.Set(nats.MsgIdHdr, "once")
	_, err = east.js.PublishMsg(t.Context(), queued)
	require.NoError(t, err)
	east.leaveMark()
	ends := []*end{east, west}
	for i := range 4 {
		from, to := ends[i%2], ends[(i+1)%2]
		term := uint64(i + 1)
		require.NoError(t, from.sites.Handover(t.Context(), time.Minute, ignore))
		to.is(site.Active, term+1)
		from.isCurrent(term + 1)
		assert.True(t, to.put(i+2))
		assert.False(t, from.put(100+i))
		stream, err := to.js.Stream(t.Context(), to.names.ActionStream())
		require.NoError(t, err)
		info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(queued.Subject))
		require.NoError(t, err)
		assert.Equal(t, map[string]uint64{queued.Subject: 1}, info.State.Subjects, "what waited in the queue waits there")
		_, err = from.js.Stream(t.Context(), from.names.ActionStream())
		require.ErrorIs(t, err, jetstream.ErrStreamNotFound)
	}
	assert.Equal(t, []int{0, 1, 2, 3, 4, 5}, east.has(0, 1, 2, 3, 4, 5))
}

// TestFailover loses a site that goes on where it is, and takes it back as the standby. What only it has is kept.
func TestFailover(t *testing.T) {
	t.Parallel()
	sites, east, west := newSites(t)
	require.True(t, east.put(1))
	natstest.Eventually(t, natstest.Patience, "the standby has it", func() bool { return len(west.has(1)) == 1 && west.is(site.Standby, 1).Here.Complete })
	require.ErrorContains(t, west.sites.Failover(t.Context(), false, ignore), "carillon site handover")
	sites.Cut()
	natstest.Eventually(t, natstest.Patience, "the sites are not connected", func() bool {
		look, err := west.sites.Look(t.Context())
		return err == nil && look.There == nil
	})
	require.True(t, east.put(2), "a site that is cut off goes on")
	require.NoError(t, west.sites.Failover(t.Context(), false, ignore))
	assert.True(t, west.put(3))
	assert.Equal(t, []int{1, 3}, west.has(1, 2, 3))
	sites.Heal()
	east.isCurrent(2)
	assert.False(t, east.put(4))
	assert.Equal(t, []int{1, 3}, east.has(1, 2, 3))
	var kept []string
	require.NoError(t, east.sites.EachDiverged(t.Context(), 0, func(d *replication.Diverged) error {
		assert.Equal(t, uint64(1), d.Term)
		assert.WithinDuration(t, time.Now(), d.Time, 10*time.Minute)
		kept = append(kept, d.Stream+" "+d.Subject+" "+string(d.Data))
		return nil
	}))
	assert.Equal(t, []string{east.names.EventStream() + " " + east.event(2) + " 2"}, kept)
}

// TestTheActiveSiteHasLostEntries: then the standby says so, also when nobody could see it any more, and the two are not mixed.
func TestTheActiveSiteHasLostEntries(t *testing.T) {
	t.Parallel()
	sites, east, west := newSites(t)
	for i := range 5 {
		require.True(t, east.put(i))
	}
	natstest.Eventually(t, natstest.Patience, "the standby has them", func() bool { return len(west.has(0, 1, 2, 3, 4)) == 5 })
	sites.Cut()
	stream, err := east.js.Stream(t.Context(), east.names.EventStream())
	require.NoError(t, err)
	require.NoError(t, east.js.DeleteStream(t.Context(), east.names.EventStream()))
	_, err = east.js.CreateStream(t.Context(), stream.CachedInfo().Config)
	require.NoError(t, err)
	require.True(t, east.put(5))
	natstest.Eventually(t, natstest.Patience, "the standby has noticed", func() bool { return west.role.Waits() == "the site east to answer" })
	sites.Heal()
	natstest.Eventually(t, natstest.Patience, "the standby has taken note", func() bool { return len(west.is(site.Standby, 1).Here.Ahead) > 0 })
	for i := range 10 {
		require.True(t, east.put(10+i))
	}
	assert.Equal(t, []string{east.names.EventStream()}, west.is(site.Standby, 1).Here.Ahead)
	err = east.sites.Handover(t.Context(), time.Minute, ignore)
	require.ErrorContains(t, err, `the site "east" has lost entries that "west" has`)
	assert.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
	assert.True(t, east.put(30), "it goes on")
}

// TestHandoverIsGivenUp: a run that does not end in time keeps the site active, and its workers get runs again.
func TestHandoverIsGivenUp(t *testing.T) {
	t.Parallel()
	_, east, west := newSites(t)
	stream, err := east.js.Stream(t.Context(), east.names.ActionStream())
	require.NoError(t, err)
	worker, err := stream.CreateConsumer(t.Context(), east.names.WorkerConsumer("default", "q"))
	require.NoError(t, err)
	publish := func(id string) {
		_, err := east.js.Publish(t.Context(), east.names.Action("default", "q", id), nil)
		require.NoError(t, err)
	}
	publish("held")
	held, err := worker.Next(jetstream.FetchMaxWait(natstest.Patience))
	require.NoError(t, err)
	publish("next")
	publish("other")
	err = east.sites.Handover(t.Context(), 3*time.Second, ignore)
	require.ErrorContains(t, err, "runs that workers hold: 1")
	assert.Equal(t, schedule.CodeUnavailable, schedule.CodeOf(err))
	require.NoError(t, held.Ack())
	next, err := worker.Next(jetstream.FetchMaxWait(natstest.Patience))
	require.NoError(t, err)
	require.NoError(t, next.DoubleAck(t.Context()))
	require.NoError(t, east.sites.Handover(t.Context(), time.Minute, ignore))
	west.is(site.Active, 2)
}

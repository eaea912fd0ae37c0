package systemtest

import (
	"cmp"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestRollingUpgrade runs two processes of each role, and replaces every one while actions fire, a backfill goes on and
// triggers are sent. It replaces them by processes of this release, and then every other one by the previous release again. All
// of them start at the same moment, on an empty NATS server.
//
// CARILLON_PREVIOUS is the binary of the previous release. Without it the test is one of rolling restarts.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes, which the race detector does not see")
	}
	node := natstest.Cluster(t, 1)
	conn, js := natstest.Connect(t, node.URLs())
	s := &system{t: t, names: natstest.Names(t), conn: conn, js: js}
	var err error
	s.client, err = client.New(conn, client.Config{Prefix: s.names.Prefix(), Timeout: 30 * time.Second})
	require.NoError(t, err)
	current, err := carillon()
	require.NoError(t, err)
	previous := cmp.Or(os.Getenv("CARILLON_PREVIOUS"), current)

	processes := startRoles(s, node.URLs(), previous)
	natstest.Eventually(t, natstest.Patience, "a frontend to answer", func() bool {
		_, err := s.client.List(t.Context(), schedule.ListRequest{})
		return err == nil
	})
	runs := s.work(conn, "q", nil)
	load := startLoad(s)
	awaitRuns(t, runs, load.schedules(), 2)
	for _, p := range processes {
		p.replaceBy(current)
	}
	before := len(runs.of(id(0)))
	awaitRuns(t, runs, load.schedules(), before+2)
	for i, p := range processes {
		if i%2 == 0 {
			p.replaceBy(previous)
		}
	}
	before = len(runs.of(id(0)))
	awaitRuns(t, runs, load.schedules(), before+2)
	load.end()
	load.check(runs)
	natstest.Eventually(t, natstest.Patience, "the worker processes to complete actions", func() bool {
		return len(completed(s.describe("noop").Info.RecentActions)) > 3
	})
}

// startRoles starts two processes of each role.
func startRoles(s *system, urls, binary string) (processes []*process) {
	for _, role := range []string{"frontend", "generator", "invoker", "backfiller", "worker"} {
		for range 2 {
			args := []string{role, "--nats", urls, "--prefix", s.names.Prefix()}
			if role != "worker" {
				args = append(args, "--shards", "2")
			}
			p := newProcess(s.t.(*testing.T), args...)
			p.binary = binary
			p.start()
			processes = append(processes, p)
		}
	}
	return processes
}

// load is what goes on while processes are replaced.
type load struct {
	s         *system
	created   [12]time.Time
	triggers  int
	stop      chan struct{}
	triggered errgroup.Group
	ended     time.Time
}

const backfilled = 150

var backfilledFrom = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func startLoad(s *system) *load {
	l := &load{s: s, stop: make(chan struct{})}
	policies := []schedule.OverlapPolicy{schedule.OverlapAllowAll, schedule.OverlapBufferAll}
	for i := range l.created {
		sched := every(time.Second)
		sched.Policies.Overlap = policies[i%len(policies)]
		l.created[i] = s.create(id(i), sched).Info.CreateTime
	}
	noop := every(time.Second)
	noop.Action = schedule.Action{Type: "noop", TaskQueue: "default"}
	s.create("noop", noop)
	s.create("one-by-one", minutely())
	s.create("triggered", triggered(schedule.OverlapAllowAll))
	s.backfill("one-by-one", backfilledFrom, backfilled, schedule.OverlapBufferAll)
	l.triggered.Go(l.trigger)
	return l
}

func (l *load) schedules() int { return len(l.created) }

// trigger triggers until the end, each time until it is answered.
func (l *load) trigger() error {
	ctx := l.s.t.Context()
	for {
		request := schedule.TriggerRequest{ID: "triggered", RequestID: fmt.Sprintf("trigger-%d", l.triggers)}
		if err := untilAnswered(ctx, func() error { _, err := l.s.client.Trigger(ctx, request); return err }); err != nil {
			return err
		}
		l.triggers++
		select {
		case <-l.stop:
			return nil
		default:
			wait(ctx, 50*time.Millisecond)
		}
	}
}

func (l *load) end() {
	close(l.stop)
	require.NoError(l.s.t, l.triggered.Wait())
	l.ended = time.Now()
}

// check requires everything that was due and asked for to have run once.
func (l *load) check(runs *ledger) {
	t := l.s.t.(*testing.T)
	requireOnce(t, runs, l.created[:], l.ended)
	l.s.awaitBackfills("one-by-one", patience)
	l.s.awaitBackfills("triggered", patience)
	var latest time.Duration
	for i := range l.created {
		for _, r := range upTo(runs.of(id(i)), l.ended) {
			latest = max(latest, r.At.Sub(r.Nominal))
		}
	}
	requireEachOnce(t, runs.of("one-by-one"), backfilledFrom, backfilled)
	assert.Empty(t, moreThanOnce(runs.of("triggered")))
	assert.Len(t, runs.of("triggered"), l.triggers)
	t.Logf("%d triggers; latest start of an action: %v after it was due", l.triggers, latest)
}

// replaceBy asks the process to stop, and starts the same role of a release.
func (p *process) replaceBy(binary string) {
	p.t.Helper()
	p.terminate()
	p.binary = binary
	p.start()
}

// terminate asks the process to stop, and requires it to do so in good order.
func (p *process) terminate() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	select {
	case err := <-done:
		require.NoError(p.t, err, "carillon %v", p.args)
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-done
		p.t.Fatalf("carillon %v does not stop at SIGTERM", p.args)
	}
	p.cmd = nil
}

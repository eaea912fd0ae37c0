package systemtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	sdkclient "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// siteRounds and siteNodes are the variables that say how many handovers and failovers the test makes, and of how many nodes each
	// NATS cluster is.
	siteRounds = "CARILLON_SITE_ROUNDS"
	siteNodes  = "CARILLON_SITE_NODES"
	// siteSchedules is how many schedules fire each second while the sites change, and siteClients how many clients start workflows.
	siteSchedules = 4
	siteClients   = 4
	siteQueue     = "deliveries"
)

// twoSites is an installation at two sites, with a load that follows it.
type twoSites struct {
	t     *testing.T
	sites [2]*oneSite
	// active is the index of the site that the clients use.
	active atomic.Int32

	mu sync.Mutex
	// acked are the workflows whose start was acknowledged, with when. fresh are those of them that were not looked for since.
	acked map[string]time.Time
	fresh []string
	// done counts how often the activity of each workflow ran.
	done map[string]int
}

// oneSite is one of the sites: a NATS cluster, a server with all roles but the worker, and workers.
type oneSite struct {
	name    string
	cluster *natstest.ClusterT
	server  *process
	gateway sdkclient.Client
	// ledger has what its worker of schedules ran.
	ledger *ledger
	*system
}

// TestTwoSites moves an installation between two sites while schedules fire and workflows run. A handover loses nothing and doubles no run of a schedule. A failover,
// after all processes and NATS servers of a site were killed, loses at most what the standby did not have; the old site comes back as the standby.
// CARILLON_SITE_ROUNDS and CARILLON_SITE_NODES make the test longer.
func TestTwoSites(t *testing.T) {
	t.Parallel()
	rounds, nodes := fromEnv(t, siteRounds, 1), fromEnv(t, siteNodes, 1)
	s := newTwoSites(t, nodes)
	created := map[string]time.Time{}
	for i := range siteSchedules {
		sched := every(time.Second)
		sched.Policies.Overlap = schedule.OverlapAllowAll
		created[id(i)] = s.now().create(id(i), sched).Info.CreateTime
	}
	ctx, stop := context.WithCancel(t.Context())
	var load errgroup.Group
	for i := range siteClients {
		load.Go(func() error { return s.start(ctx, i) })
	}
	t.Cleanup(func() {
		stop()
		_ = load.Wait()
	})
	for range rounds {
		s.work()
		s.handOver()
		assert.Empty(t, s.missing(t.Context()), "a handover loses no workflow")
	}
	activities, runs := s.again(created)
	t.Logf("after the handovers: %d activities ran again", activities)
	assert.Zero(t, runs, "a handover doubles no run of a schedule")
	lost := 0
	for range rounds {
		s.work()
		lost += s.failOver()
	}
	s.work()
	stop()
	require.NoError(t, load.Wait())
	s.checkWorkflows(lost)
	s.checkSchedules(created)
}

func fromEnv(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text, ok := os.LookupEnv(name)
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

func newTwoSites(t *testing.T, nodes int) *twoSites {
	t.Helper()
	names := natstest.Names(t)
	both := natstest.Sites(t, nodes, names)
	s := &twoSites{t: t, acked: map[string]time.Time{}, done: map[string]int{}}
	for i, cluster := range []*natstest.ClusterT{both.East, both.West} {
		in := &oneSite{name: [...]string{"east", "west"}[i], cluster: cluster}
		conn, js := natstest.Connect(t, cluster.URLs())
		in.system = &system{t: t, names: names, conn: conn, js: js}
		var err error
		in.client, err = client.New(conn, client.Config{Prefix: names.Prefix(), Timeout: 30 * time.Second})
		require.NoError(t, err)
		address := "127.0.0.1:" + strconv.Itoa(quietPort(t))
		in.server = newProcess(t, "server", "--nats", cluster.URLs(), "--prefix", names.Prefix(), "--no-worker", "--no-search", "--grpc", address)
		in.gateway, err = sdkclient.NewLazyClient(sdkclient.Options{
			HostPort: address, Logger: sdklog.NewStructuredLogger(natstest.Logger(t)),
			ConnectionOptions: sdkclient.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
				Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.5, MaxDelay: 500 * time.Millisecond},
			})}},
		})
		require.NoError(t, err)
		t.Cleanup(in.gateway.Close)
		s.sites[i] = in
		if i == 0 {
			in.server.args = append(in.server.args, "--shards", "2", "--replicas", strconv.Itoa(min(nodes, 3)))
			in.server.start()
			in.awaitGateway()
			in.carillon("site", "link", "west")
			continue
		}
		in.server.args = append(in.server.args, "--standby-of", "east")
		in.server.start()
		in.awaitStandby()
	}
	for _, in := range s.sites {
		in.ledger = in.work(in.conn, "q", nil)
		s.keepWorker(in)
	}
	return s
}

// now is the site that is active.
func (s *twoSites) now() *oneSite { return s.sites[s.active.Load()] }

// awaitGateway waits until the gateway of the site serves.
func (in *oneSite) awaitGateway() {
	in.t.Helper()
	natstest.Eventually(in.t, patience, "the gateway of "+in.name+" to answer", func() bool {
		ctx, cancel := context.WithTimeout(in.t.Context(), time.Second)
		defer cancel()
		_, err := in.gateway.CheckHealth(ctx, &sdkclient.CheckHealthRequest{})
		return err == nil
	})
}

// awaitStandby waits until the site is a standby that has everything.
func (in *oneSite) awaitStandby() {
	in.t.Helper()
	natstest.Eventually(in.t, 2*patience, in.name+" to be a standby that has everything", func() bool {
		text, err := in.try("site", "status")
		lines := strings.Split(text, "\n")
		return err == nil && len(lines) > 1 && strings.HasPrefix(lines[1], in.name+"  standby") && strings.Contains(text, "the standby has everything")
	})
}

// try runs a command of carillon at the site.
func (in *oneSite) try(args ...string) (string, error) {
	binary, err := carillon()
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(in.t.Context(), binary, append(args, "--nats", in.cluster.URLs(), "--prefix", in.names.Prefix())...).CombinedOutput()
	return string(out), err
}

func (in *oneSite) carillon(args ...string) string {
	in.t.Helper()
	out, err := in.try(args...)
	require.NoError(in.t, err, out)
	return out
}

// keepWorker runs a worker of the workflows at a site as soon as its gateway serves.
func (s *twoSites) keepWorker(in *oneSite) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			w := sdkworker.New(in.gateway, siteQueue, sdkworker.Options{
				// What has gathered while no site was active is worked off with more polls than the SDK has by default.
				WorkerStopTimeout: time.Second, MaxConcurrentWorkflowTaskPollers: 16,
			})
			w.RegisterWorkflow(deliver)
			w.RegisterActivity(s.carry)
			if w.Start() == nil {
				<-ctx.Done()
				w.Stop()
			}
			wait(ctx, 200*time.Millisecond)
		}
	}()
	s.t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// deliver is a workflow with a timer between two activities.
func deliver(ctx workflow.Context, id string) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Second, RetryPolicy: &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: time.Second},
	})
	if err := workflow.Sleep(ctx, 500*time.Millisecond); err != nil {
		return err
	}
	return workflow.ExecuteActivity(ctx, "carry", id).Get(ctx, nil)
}

// carry is the activity.
func (s *twoSites) carry(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[id]++
	return nil
}

// start starts workflows at the active site until ctx ends. A start that was not acknowledged is repeated, with the same ID.
func (s *twoSites) start(ctx context.Context, client int) error {
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprintf("delivery-%d-%d", client, n)
		for ctx.Err() == nil {
			in := s.now()
			err := in.begin(ctx, id)
			if err == nil {
				s.mu.Lock()
				s.acked[id], s.fresh = time.Now(), append(s.fresh, id)
				s.mu.Unlock()
				break
			}
			wait(ctx, 50*time.Millisecond)
		}
		wait(ctx, 50*time.Millisecond)
	}
	return nil
}

// begin starts a workflow. One that exists already was started by an earlier try.
func (in *oneSite) begin(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := in.gateway.ExecuteWorkflow(ctx, sdkclient.StartWorkflowOptions{
		ID: id, TaskQueue: siteQueue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}, deliver, id)
	if errors.As(err, new(*serviceerror.WorkflowExecutionAlreadyStarted)) {
		return nil
	}
	return err
}

// work waits until some more workflows and schedules have run.
func (s *twoSites) work() {
	s.t.Helper()
	s.mu.Lock()
	began, ran := len(s.acked), len(s.done)
	s.mu.Unlock()
	actions := s.actions()
	natstest.Eventually(s.t, patience, "more to be done", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.acked) >= began+50 && len(s.done) >= ran+50 && s.actions() >= actions+2*siteSchedules
	})
}

func (s *twoSites) actions() (n int) {
	for i := range siteSchedules {
		n += len(s.sites[0].ledger.of(id(i))) + len(s.sites[1].ledger.of(id(i)))
	}
	return n
}

// handOver hands over to the other site.
func (s *twoSites) handOver() {
	s.t.Helper()
	from, to := s.now(), s.sites[1-s.active.Load()]
	began := time.Now()
	s.t.Log(from.carillon("site", "handover"))
	s.active.Store(1 - s.active.Load())
	to.awaitGateway()
	s.t.Logf("handed over from %s to %s: new starts are taken after %s", from.name, to.name, time.Since(began).Round(100*time.Millisecond))
	from.awaitStandby()
}

// failOver kills everything at the active site, takes over at the other one, and starts the first one again. It returns how many workflows were acknowledged and are not
// known where it goes on.
func (s *twoSites) failOver() (lost int) {
	s.t.Helper()
	from, to := s.now(), s.sites[1-s.active.Load()]
	from.server.kill()
	from.cluster.Shutdown()
	killed := time.Now()
	s.t.Log(to.carillon("site", "failover"))
	s.active.Store(1 - s.active.Load())
	to.awaitGateway()
	took := time.Since(killed).Round(100 * time.Millisecond)
	gone := s.missing(s.t.Context())
	last := time.Duration(0)
	s.mu.Lock()
	for _, id := range gone {
		last = max(last, killed.Sub(s.acked[id]))
		delete(s.acked, id)
	}
	s.mu.Unlock()
	s.t.Logf("failed over from %s to %s: new starts are taken after %s; %d acknowledged workflows are lost, of the last %s", from.name, to.name, took, len(gone), last)
	from.cluster.Start()
	from.server.start()
	from.awaitStandby()
	return len(gone)
}

// missing returns the workflows that were acknowledged since it was last called, and that the active site does not know. At the end, all are looked for.
func (s *twoSites) missing(ctx context.Context) (gone []string) {
	s.t.Helper()
	s.mu.Lock()
	ids := s.fresh
	s.fresh = nil
	s.mu.Unlock()
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(16)
	for _, id := range ids {
		group.Go(func() error {
			_, err := s.now().gateway.DescribeWorkflow(ctx, id, "")
			if errors.As(err, new(*serviceerror.NotFound)) {
				mu.Lock()
				defer mu.Unlock()
				gone = append(gone, id)
				return nil
			}
			return err
		})
	}
	require.NoError(s.t, group.Wait())
	return gone
}

// checkWorkflows requires each acknowledged workflow that was not lost to end, after its activity has run.
func (s *twoSites) checkWorkflows(lost int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*patience)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(16)
	for id := range s.acked {
		group.Go(func() error {
			if err := s.now().gateway.GetWorkflow(ctx, id, "").Get(ctx, nil); err != nil {
				return fmt.Errorf("%s: %w", id, err)
			}
			return nil
		})
	}
	require.NoError(s.t, group.Wait())
	for id := range s.acked {
		assert.Positive(s.t, s.done[id], id)
	}
	s.t.Logf("%d workflows were acknowledged and ended, %d were lost", len(s.acked), lost)
}

// checkSchedules requires each time of each schedule to have had one run, at one site or the other. What was under way when a site was lost may have run at
// both, under the same request ID, or is known as failed.
// again counts the activities and the runs of schedules that have run again.
func (s *twoSites) again(created map[string]time.Time) (activities, runs int) {
	s.mu.Lock()
	for _, n := range s.done {
		activities += n - 1
	}
	s.mu.Unlock()
	for id := range created {
		seen := map[string]bool{}
		for _, r := range append(s.sites[0].ledger.of(id), s.sites[1].ledger.of(id)...) {
			if seen[r.RequestID] {
				runs++
			}
			seen[r.RequestID] = true
		}
	}
	return activities, runs
}

func (s *twoSites) checkSchedules(created map[string]time.Time) {
	s.t.Helper()
	end := time.Now()
	in := s.now()
	failed := 0
	for id, from := range created {
		natstest.Eventually(s.t, patience, "the actions up to now have run", func() bool {
			runs := in.ledger.of(id)
			return len(runs) > 0 && runs[len(runs)-1].Nominal.After(end)
		})
		byID := map[string]ran{}
		for _, r := range append(upTo(s.sites[0].ledger.of(id), end), upTo(s.sites[1].ledger.of(id), end)...) {
			byID[r.RequestID] = r
		}
		for _, event := range in.eventsOf(id) {
			if _, known := byID[event.RequestID]; event.Kind == schedule.EventCompleted && !known && !event.Nominal.After(end) {
				assert.Equal(s.t, schedule.StatusFailed, event.Status)
				byID[event.RequestID] = ran{RequestID: event.RequestID, Nominal: event.Nominal}
				failed++
			}
		}
		var runs []ran
		for _, r := range byID {
			runs = append(runs, r)
		}
		assert.NoError(s.t, exactlyOnce(runs, time.Second, from, end), id)
	}
	activities, again := s.again(created)
	s.t.Logf("%d activities and %d runs of schedules ran again; %d runs are known as lost", activities, again, failed)
}

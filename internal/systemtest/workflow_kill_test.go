package systemtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	sdkclient "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/chaos"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// trips is how many workflows run at once, and payments how many signals each gets.
	trips    = 200
	payments = 2
	// stepsOfTrip are what the client does for each: start, query, signal and query for each payment, result.
	stepsOfTrip = 3 + 2*payments
	// tripWorkerEnv makes TestMain run a worker: the addresses of the gateways, separated by commas.
	tripWorkerEnv = "CARILLON_SYSTEMTEST_WORKER"
	tripQueue     = "trips"
)

// errWrong is an answer that must never come.
var errWrong = errors.New("wrong")

// TestWorkflowsSurviveKills runs workflows while every process of gateway, history and matching, the worker and two nodes of NATS are killed, one
// after the other. Each workflow ends once, with the right result, and its history is whole.
func TestWorkflowsSurviveKills(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts processes")
	}
	k := newKilled(t)
	for i := range trips {
		id := fmt.Sprintf("trip-%03d", i)
		k.travelling.Go(func() error {
			if err := k.travel(id); err != nil {
				return fmt.Errorf("%s: %w; it is %s", id, err, k.state(id))
			}
			return nil
		})
	}
	for i, kill := range k.victims() {
		k.await(i + 1)
		kill()
		k.allow(i + 2)
	}
	require.NoError(t, k.travelling.Wait())
	t.Logf("%d requests were repeated", k.repeated)
	for i := range trips {
		k.check(fmt.Sprintf("trip-%03d", i))
	}
}

// killed is an installation of processes, with a worker in a process of its own, and a client in this one.
type killed struct {
	sdkclient.Client
	t       *testing.T
	names   subjects.Names
	cluster *natstest.ClusterT
	js      jetstream.JetStream
	all     map[string]*process
	// ctx is that of the client, whose requests travelling makes.
	ctx        context.Context
	travelling errgroup.Group

	mu      sync.Mutex
	steps   int
	allowed int
	changed chan struct{} // closed when either changes
	// repeated counts the requests that had no answer. acked are the tries of payments that had one.
	repeated int
	runs     map[string]string
	acked    map[string][]string
}

// newKilled starts everything.
func newKilled(t *testing.T) *killed {
	cluster := natstest.Cluster(t, 3)
	_, js := natstest.Connect(t, cluster.URLs())
	k := &killed{
		t: t, names: natstest.Names(t), cluster: cluster, js: js, all: map[string]*process{},
		changed: make(chan struct{}), runs: map[string]string{}, acked: map[string][]string{},
	}
	var cancel context.CancelFunc
	k.ctx, cancel = context.WithTimeout(t.Context(), natstest.Patience)
	t.Cleanup(func() {
		cancel()
		_ = k.travelling.Wait() // the test has failed, or knows
	})
	addresses := []string{"127.0.0.1:" + strconv.Itoa(freePort(t)), "127.0.0.1:" + strconv.Itoa(freePort(t))}
	for i, address := range addresses {
		k.run("gateway", i, "--grpc", address, "--http-api", "off")
		k.run("history", i)
		k.run("matching", i)
	}
	var err error
	k.Client, err = sdkclient.NewLazyClient(chaos.GatewaysAt(addresses, natstest.Logger(t)))
	require.NoError(t, err)
	t.Cleanup(k.Client.Close)
	natstest.Eventually(t, natstest.Patience, "a gateway to answer", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := k.CheckHealth(ctx, &sdkclient.CheckHealthRequest{})
		return err == nil
	})
	k.worker(addresses)
	cluster.AwaitCurrent(t.Context(), js)
	k.allow(1)
	return k
}

// run starts a process of a role.
func (k *killed) run(role string, i int, args ...string) {
	args = append([]string{role, "--nats", k.cluster.URLs(), "--prefix", k.names.Prefix(), "--replicas", "3", "--shards", "2"}, args...)
	p := newProcess(k.t, args...)
	p.start()
	k.all[fmt.Sprintf("%s-%d", role, i)] = p
}

// worker starts the worker: this program, with another task.
func (k *killed) worker(addresses []string) {
	p := newProcess(k.t)
	p.binary, p.env = os.Args[0], []string{tripWorkerEnv + "=" + strings.Join(addresses, ",")}
	p.start()
	k.all["worker-0"] = p
}

// victims are what is killed, in order. Between two nodes of NATS the cluster must have come to rest.
func (k *killed) victims() (kills []func()) {
	role := func(name string) func() {
		return func() {
			k.t.Logf("kill %s", name)
			k.all[name].kill()
			k.all[name].start()
		}
	}
	node := func(stream string) func() {
		return func() {
			k.cluster.AwaitCurrent(k.t.Context(), k.js)
			leader := k.cluster.Leader(k.t.Context(), k.js, stream)
			k.t.Logf("kill %s, the leader of %s", k.cluster.Node(leader).Name(), stream)
			k.cluster.Kill(leader)
			k.cluster.Restart(leader)
		}
	}
	return []func(){
		role("worker-0"), role("gateway-0"), role("history-0"), node(k.names.JournalStream(0)), role("matching-0"), role("gateway-1"),
		role("worker-0"), node(k.names.BacklogStream()), role("history-1"), role("matching-1"),
	}
}

// phase is after how many steps of the client the i-th process is killed.
func (k *killed) phase(i int) int { return i * trips * stepsOfTrip / (len(k.victims()) + 1) }

// allow lets the client go on up to a phase.
func (k *killed) allow(phase int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.allowed = k.phase(phase)
	close(k.changed)
	k.changed = make(chan struct{})
}

// await waits until the client has come to the middle of the time up to a phase. So every process is killed while work goes on.
func (k *killed) await(phase int) {
	k.t.Helper()
	natstest.Eventually(k.t, natstest.Patience, fmt.Sprintf("the work has come to phase %d", phase), func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.steps >= (k.phase(phase-1)+k.phase(phase))/2
	})
}

// step repeats a request until it is answered. It waits first if the client has come too far for the next kill.
func (k *killed) step(send func() error) error {
	if err := k.enter(); err != nil {
		return err
	}
	for {
		err := send()
		if err == nil || k.ctx.Err() != nil || errors.Is(err, errWrong) || errors.As(err, new(*temporal.WorkflowExecutionError)) {
			return err
		}
		k.mu.Lock()
		k.repeated++
		k.mu.Unlock()
		wait(k.ctx, 20*time.Millisecond)
	}
}

func (k *killed) enter() error {
	for {
		k.mu.Lock()
		changed, open := k.changed, k.steps < k.allowed
		if open {
			k.steps++
		}
		k.mu.Unlock()
		if open {
			return nil
		}
		select {
		case <-changed:
		case <-k.ctx.Done():
			return k.ctx.Err()
		}
	}
}

// travel runs one workflow from its start to its end.
func (k *killed) travel(id string) error {
	run, err := k.begin(id)
	for paid := 0; err == nil; paid++ {
		err = k.step(func() error { return k.paid(id, paid) })
		if err != nil || paid == payments {
			break
		}
		err = k.pay(id, paid)
	}
	if err != nil {
		return err
	}
	var result string
	err = k.step(func() error { return run.Get(k.ctx, &result) })
	if want := fmt.Sprintf("booked, %d paid, shipped", payments); err == nil && result != want {
		err = fmt.Errorf("%w: the result is %q, want %q", errWrong, result, want)
	}
	return err
}

func (k *killed) begin(id string) (run sdkclient.WorkflowRun, err error) {
	options := sdkclient.StartWorkflowOptions{ID: id, TaskQueue: tripQueue, WorkflowTaskTimeout: 5 * time.Second}
	err = k.step(func() (err error) {
		run, err = k.ExecuteWorkflow(k.ctx, options, trip)
		return err
	})
	if err == nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.runs[id] = run.GetRunID()
	}
	return run, err
}

// state tells how far a workflow has come.
func (k *killed) state(id string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.ctx), 10*time.Second)
	defer cancel()
	var text strings.Builder
	described, err := k.DescribeWorkflow(ctx, id, "")
	if err != nil {
		return err.Error()
	}
	fmt.Fprintln(&text, described.RawResponse)
	for all := k.GetWorkflowHistory(ctx, id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); err == nil && all.HasNext(); {
		var event *historypb.HistoryEvent
		event, err = all.Next()
		fmt.Fprintln(&text, event, err)
	}
	return text.String()
}

// paid requires a query to see all payments that have been acknowledged.
func (k *killed) paid(id string, want int) error {
	value, err := k.QueryWorkflow(k.ctx, id, "", "paid")
	var paid int
	if err == nil {
		err = value.Get(&paid)
	}
	if err == nil && paid != want {
		err = fmt.Errorf("%w: a query sees %d payments, want %d", errWrong, paid, want)
	}
	return err
}

// pay sends a payment. Each try says which one it is.
func (k *killed) pay(id string, payment int) error {
	try := 0
	return k.step(func() error {
		try++
		p := Payment{Number: payment, Try: fmt.Sprintf("%d.%d", payment, try)}
		err := k.SignalWorkflow(k.ctx, id, "", "pay", p)
		if err == nil {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.acked[id] = append(k.acked[id], p.Try)
		}
		if errors.As(err, new(*serviceerror.NotFound)) && try > 1 { // an earlier try had no answer, and the workflow has ended since
			return nil
		}
		return err
	})
}

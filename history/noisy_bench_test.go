package history

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/subjects"
)

// BenchmarkNoisy shows how long one execution holds up the others of its shard and process. A client starts a small workflow every 20 ms, which a
// worker ends at once: the benchmark reports how long that takes from the start to the end, while the noisy execution is quiet and while it is not, by
// turns. NATS has a process of its own.
//
//	go test ./history -run '^$' -bench Noisy -benchtime 3x
func BenchmarkNoisy(b *testing.B) {
	for _, noise := range noises {
		b.Run(noise.name, func(t *testing.B) {
			n := newNoisy(t)
			begin := noise.prepare(n)
			var quiet, busy []time.Duration
			var lasted time.Duration
			for i := range t.N {
				quiet = append(quiet, n.others(func() { <-time.After(2 * time.Second) })...)
				make := begin(i)
				busy = append(busy, n.others(func() {
					since := time.Now()
					make()
					lasted += time.Since(since)
				})...)
			}
			t.ReportMetric(float64(lasted.Milliseconds())/float64(t.N), "ms/noise")
			report(t, "quiet", quiet)
			report(t, "busy", busy)
		})
	}
}

func report(t *testing.B, name string, took []time.Duration) {
	slices.Sort(took)
	at := func(i int) float64 { return float64(took[i].Microseconds()) / 1000 }
	t.ReportMetric(at(len(took)/2), "ms/"+name+"-p50")
	t.ReportMetric(at(len(took)*99/100), "ms/"+name+"-p99")
	t.ReportMetric(at(len(took)-1), "ms/"+name+"-max")
}

// noises are what an execution may do. Prepare is called once, and what it returns before each time that the noise is made, with a number. What that
// one returns makes the noise, and returns when it is over.
var noises = []struct {
	name    string
	prepare func(*noisy) (begin func(i int) (make func()))
}{
	{"signals", func(n *noisy) func(int) func() { return n.signals }},
	{"clients", func(n *noisy) func(int) func() { return n.clients }},
	{"activities", func(n *noisy) func(int) func() { return n.activities }},
	{"children", func(n *noisy) func(int) func() { return n.children }},
	{"rebuild", func(n *noisy) func(int) func() {
		n.build()
		return func(int) func() { return n.rebuild }
	}},
	{"reading", func(n *noisy) func(int) func() {
		n.build()
		return func(int) func() { return n.reading }
	}},
	{"queries", func(n *noisy) func(int) func() {
		n.orphan()
		return func(int) func() { return n.queries }
	}},
}

// noisy is the client and the worker of the noisy execution, which have a connection of their own.
type noisy struct {
	*bundle
	quiet   *bundle
	service *Service
	next    atomic.Int64
	mu      sync.Mutex
	ended   map[string]chan struct{} // by workflow ID
}

func newNoisy(t *testing.B) *noisy {
	quiet := setupOn(t, natstest.Cluster(t, 1).URLs(), 1)
	n := &noisy{bundle: quiet.beside(), quiet: quiet, ended: map[string]chan struct{}{}}
	n.service, _ = n.run()
	for range 8 {
		quiet.background(func(ctx context.Context) error {
			return quiet.serve(ctx, queue, func(task *workflowservice.PollWorkflowTaskQueueResponse) ([]*commandpb.Command, func()) {
				return []*commandpb.Command{end()}, func() { n.end(task.WorkflowExecution.WorkflowId) }
			})
		})
	}
	return n
}

// beside is the same installation for other clients and workers.
func (b *bundle) beside() *bundle {
	other := *b
	var err error
	other.conn, other.js = natstest.Connect(b, b.conn.ConnectedUrl())
	other.polls, err = offer.NewPolls(offer.Config{Conn: bus.Plain{Conn: other.conn}, Names: b.names, Logger: natstest.Logger(b)})
	require.NoError(b, err)
	other.background(other.polls.Run)
	return &other
}

// newID returns the ID of a new workflow of the first shard.
func (n *noisy) newID() string {
	for {
		id := fmt.Sprint("w", n.next.Add(1))
		if subjects.ShardOf(n.key(id), n.facts.Shards) == 0 {
			return id
		}
	}
}

func (n *noisy) end(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ended := n.ended[id]; ended != nil {
		close(ended)
		delete(n.ended, id)
	}
}

// others runs a small workflow every 20 ms while something happens, and returns how long each took.
func (n *noisy) others(meanwhile func()) (took []time.Duration) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		meanwhile()
	}()
	var group errgroup.Group
	var mu sync.Mutex
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for going := true; going; {
		select {
		case <-over:
			going = false
		case <-tick.C:
			group.Go(func() error {
				one := n.small()
				mu.Lock()
				defer mu.Unlock()
				took = append(took, one)
				return nil
			})
		}
	}
	_ = group.Wait()
	return took
}

// small runs a small workflow and returns how long it took.
func (n *noisy) small() time.Duration {
	id, ended := n.newID(), make(chan struct{})
	n.mu.Lock()
	n.ended[id] = ended
	n.mu.Unlock()
	since := time.Now()
	for n.quiet.answer(n.Context(), subjects.VerbStart, id, startRequest(id)) != nil && n.Context().Err() == nil {
	}
	select {
	case <-ended:
	case <-n.Context().Done():
	}
	return time.Since(since)
}

// startOn starts a workflow with a task queue of its own.
func (n *noisy) startOn(name string) (id string) {
	id = n.newID()
	request := startRequest(id)
	request.TaskQueue.Name = name
	require.NoError(n, n.answer(n.Context(), subjects.VerbStart, id, request))
	return id
}

func (n *noisy) sendSignal(id string, i, size int) error {
	return n.answer(n.Context(), subjects.VerbSignal, id, &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: space, WorkflowExecution: n.execution(id, ""), SignalName: "s", RequestId: fmt.Sprint(i),
		Input: &commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: make([]byte, size)}}},
	})
}

// atOnce does many things at once, each until it works, and returns how often they did not.
func atOnce(n int, do func(i int) error) (failed int64) {
	var group sync.WaitGroup
	var failures atomic.Int64
	for i := range n {
		group.Go(func() {
			for do(i) != nil {
				failures.Add(1)
				<-time.After(time.Second) // like the SDKs
			}
		})
	}
	group.Wait()
	return failures.Load()
}

// signals: 10,000 signals come at once.
func (n *noisy) signals(i int) func() {
	name := fmt.Sprint("signals", i)
	id := n.startOn(name)
	n.background(func(ctx context.Context) error {
		return n.serve(ctx, name, func(*workflowservice.PollWorkflowTaskQueueResponse) ([]*commandpb.Command, func()) {
			return nil, func() {}
		})
	})
	return func() {
		failed := atOnce(10_000, func(i int) error { return n.sendSignal(id, i, 100) })
		n.Logf("%d signals were refused, and came again", failed)
	}
}

// clients: 2,000 clients send five signals each.
func (n *noisy) clients(i int) func() {
	name := fmt.Sprint("clients", i)
	id := n.startOn(name)
	n.background(func(ctx context.Context) error {
		return n.serve(ctx, name, func(*workflowservice.PollWorkflowTaskQueueResponse) ([]*commandpb.Command, func()) {
			return nil, func() {}
		})
	})
	return func() {
		atOnce(2000, func(client int) error {
			for j := range 5 {
				for n.sendSignal(id, 5*client+j, 100) != nil {
				}
			}
			return nil
		})
	}
}

// activities: a task begins 2,000 activities, which a worker completes at once.
func (n *noisy) activities(i int) func() {
	name, ended := fmt.Sprint("activities", i), make(chan struct{})
	n.startOn(name)
	task := n.pollOn(name)
	for range 64 {
		n.background(n.completeActivities(name))
	}
	var commands []*commandpb.Command
	for i := range 2000 {
		commands = append(commands, activity(fmt.Sprint(i), func(a *commandpb.ScheduleActivityTaskCommandAttributes) { a.TaskQueue.Name = name }))
	}
	var once sync.Once
	return func() {
		n.complete(task, commands...)
		n.background(func(ctx context.Context) error {
			return n.serve(ctx, name, func(task *workflowservice.PollWorkflowTaskQueueResponse) ([]*commandpb.Command, func()) {
				if len(n.describe(task.WorkflowExecution.WorkflowId, "").PendingActivities) > 0 {
					return nil, func() {}
				}
				return []*commandpb.Command{end()}, func() { once.Do(func() { close(ended) }) }
			})
		})
		<-ended
	}
}

func (n *noisy) completeActivities(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		for ctx.Err() == nil {
			data, err := n.polls.Wait(ctx, offer.Queue{Namespace: space, Kind: offer.Activity, Name: name}, offer.Poller{Identity: "worker"})
			if err != nil || data == nil {
				continue
			}
			var task workflowservice.PollActivityTaskQueueResponse
			if err := proto.Unmarshal(data, &task); err != nil {
				return err
			}
			_ = n.answer(ctx, subjects.VerbCompleteActivity, task.WorkflowExecution.WorkflowId,
				&workflowservice.RespondActivityTaskCompletedRequest{Namespace: space, TaskToken: task.TaskToken})
		}
		return nil
	}
}

// children: 1,000 children end at once.
func (n *noisy) children(i int) func() {
	const many = 1000
	name, ended := fmt.Sprint("parent", i), make(chan struct{})
	id := n.startOn(name)
	task := n.pollOn(name)
	var commands []*commandpb.Command
	for i := range many {
		commands = append(commands, childAt(fmt.Sprint(id, "-", i), name+"-children"))
	}
	n.complete(task, commands...)
	tasks := make(chan *workflowservice.PollWorkflowTaskQueueResponse, many)
	for range 16 {
		go func() {
			for range many / 16 {
				tasks <- n.pollOn(name + "-children")
			}
		}()
	}
	var all []*workflowservice.PollWorkflowTaskQueueResponse
	for range many / 16 * 16 {
		all = append(all, <-tasks)
	}
	for range many % 16 {
		all = append(all, n.pollOn(name+"-children"))
	}
	var once sync.Once
	return func() {
		n.background(func(ctx context.Context) error {
			return n.serve(ctx, name, func(task *workflowservice.PollWorkflowTaskQueueResponse) ([]*commandpb.Command, func()) {
				if len(n.describe(id, "").PendingChildren) > 0 {
					return nil, func() {}
				}
				return []*commandpb.Command{end()}, func() { once.Do(func() { close(ended) }) }
			})
		})
		atOnce(many, func(i int) error {
			return n.answer(n.Context(), subjects.VerbCompleteWorkflowTask, all[i].WorkflowExecution.WorkflowId,
				&workflowservice.RespondWorkflowTaskCompletedRequest{Namespace: space, TaskToken: all[i].TaskToken, Commands: []*commandpb.Command{end()}})
		})
		<-ended
	}
}

func childAt(id, name string) *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_StartChildWorkflowExecutionCommandAttributes{
			StartChildWorkflowExecutionCommandAttributes: &commandpb.StartChildWorkflowExecutionCommandAttributes{
				WorkflowId: id, WorkflowType: &commonpb.WorkflowType{Name: "greet"}, TaskQueue: &taskqueuepb.TaskQueue{Name: name},
			},
		},
	}
}

package gateway

//lint:file-ignore SA1019 clients still use what Temporal has marked as deprecated

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/offer"
)

const (
	// pollWait is how long a poll waits for a task at most.
	pollWait = time.Minute
	// pollMargin is how long before the deadline of its client a poll ends: a task may have been promised to it until then, and must still reach
	// the client. A client that waits for a short time gets a quarter of that time instead.
	pollMargin = 4 * time.Second
)

// worker is what a poll says about who polls.
type worker struct {
	identity, buildID, instance string
}

// PollWorkflowTaskQueue waits for a workflow task. A sticky queue is a queue of this name.
func (s *workflowService) PollWorkflowTaskQueue(
	ctx context.Context, r *workflowservice.PollWorkflowTaskQueueRequest,
) (*workflowservice.PollWorkflowTaskQueueResponse, error) {
	if err := checkUnversioned(r.GetWorkerVersionCapabilities(), r.GetDeploymentOptions()); err != nil {
		return nil, err
	}
	response := &workflowservice.PollWorkflowTaskQueueResponse{}
	queue := offer.Queue{Namespace: r.Namespace, Kind: offer.Workflow, Name: r.GetTaskQueue().GetName()}
	return response, s.poll(ctx, queue, worker{
		identity: r.Identity, instance: r.WorkerInstanceKey,
		buildID: cmp.Or(r.GetDeploymentOptions().GetBuildId(), r.GetWorkerVersionCapabilities().GetBuildId(), r.BinaryChecksum),
	}, response)
}

// PollActivityTaskQueue waits for an activity task.
func (s *workflowService) PollActivityTaskQueue(
	ctx context.Context, r *workflowservice.PollActivityTaskQueueRequest,
) (*workflowservice.PollActivityTaskQueueResponse, error) {
	if err := checkUnversioned(r.GetWorkerVersionCapabilities(), r.GetDeploymentOptions()); err != nil {
		return nil, err
	}
	response := &workflowservice.PollActivityTaskQueueResponse{}
	queue := offer.Queue{Namespace: r.Namespace, Kind: offer.Activity, Name: r.GetTaskQueue().GetName()}
	if limit := r.GetTaskQueueMetadata().GetMaxTasksPerSecond(); limit != nil {
		s.polls.Limit(queue, limit.GetValue())
	}
	return response, s.poll(ctx, queue, worker{
		identity: r.Identity, instance: r.WorkerInstanceKey,
		buildID: cmp.Or(r.GetDeploymentOptions().GetBuildId(), r.GetWorkerVersionCapabilities().GetBuildId()),
	}, response)
}

// poll waits for a task, and reads it into response. If none comes, response stays empty.
func (g *Gateway) poll(ctx context.Context, queue offer.Queue, w worker, response proto.Message) error {
	err := cmp.Or(checkName("TaskQueue", queue.Name), checkLength("Identity", w.identity), checkLength("BuildId", w.buildID),
		checkLength("WorkerInstanceKey", w.instance))
	if err != nil {
		return err
	}
	ctx, end := waiting(ctx, pollWait, pollMargin)
	defer end()
	defer g.pollers.enter(queue, w, g.config.Now(), end)()
	task, err := g.polls.Wait(ctx, queue, offer.Poller{Identity: w.identity, BuildID: w.buildID})
	if errors.Is(err, offer.ErrStopped) || err == nil && task == nil {
		return nil
	}
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(task, response); err != nil {
		return serviceerror.NewInternalf("the task cannot be read: %v", err)
	}
	return nil
}

// waiting returns a context for a request that waits for something to happen. It ends after most, and some time before the deadline of the
// client, which needs time to get an answer.
func waiting(ctx context.Context, most, margin time.Duration) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		left := time.Until(end)
		most = min(most, left-min(margin, left/4))
	}
	return context.WithTimeout(ctx, most)
}

// pollers are the polls in progress. It is safe for concurrent use.
type pollers struct {
	mu  sync.Mutex
	all map[*poller]struct{}
	// stopped are the workers that have stopped of late.
	stopped stoppedWorkers
}

type poller struct {
	queue  offer.Queue
	worker worker
	end    context.CancelFunc
}

// enter notes a poll until leave is called. A poll of a worker that has stopped ends at once.
func (p *pollers) enter(queue offer.Queue, w worker, now time.Time, end context.CancelFunc) (leave func()) {
	one := &poller{queue, w, end}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[*poller]struct{}{}
	}
	p.all[one] = struct{}{}
	if p.stopped.has(workerKey{queue.Namespace, w.instance}, now) {
		end()
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.all, one)
	}
}

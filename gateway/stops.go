package gateway

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
)

// ShutdownWorker ends the polls of a worker that stops, at all gateways: a worker that has connected anew may have polls at an older one. So the worker
// gets an empty answer to each poll, and need not hang up: a task could be on its way to it. The last heartbeat of the worker comes with the request.
func (s *workflowService) ShutdownWorker(
	ctx context.Context, r *workflowservice.ShutdownWorkerRequest,
) (*workflowservice.ShutdownWorkerResponse, error) {
	if beat := r.WorkerHeartbeat; beat != nil && checkBeat(beat) == nil {
		s.record(ctx, r.Namespace, beat)
	}
	stop := &workflowservice.ShutdownWorkerRequest{
		Namespace: r.Namespace, WorkerInstanceKey: r.WorkerInstanceKey, StickyTaskQueue: r.StickyTaskQueue,
	}
	s.pollers.stop(stop, s.config.Now())
	data, err := proto.Marshal(stop)
	if err == nil {
		err = s.config.Conn.Publish(s.config.Names.WorkerStops(), data)
	}
	if err != nil { // the polls at other gateways end when their time is over
		s.log.WarnContext(ctx, "other gateways do not learn that a worker stops", "namespace", r.Namespace, "error", err)
	}
	return &workflowservice.ShutdownWorkerResponse{}, nil
}

// hearStops ends the polls of workers that tell another gateway that they stop, until ctx ends.
func (g *Gateway) hearStops(ctx context.Context) error {
	sub, err := g.config.Conn.Subscribe(g.config.Names.WorkerStops(), func(message *nats.Msg) {
		stop := &workflowservice.ShutdownWorkerRequest{}
		if proto.Unmarshal(message.Data, stop) == nil {
			g.pollers.stop(stop, g.config.Now())
		}
	})
	if err != nil {
		return fmt.Errorf("gateway: hear of workers that stop: %w", err)
	}
	<-ctx.Done()
	_ = sub.Unsubscribe() // it fails if the connection is closed
	return nil
}

// stop ends the polls of a worker, those on its sticky queue, and those that are still on their way.
func (p *pollers) stop(r *workflowservice.ShutdownWorkerRequest, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped.add(workerKey{r.Namespace, r.WorkerInstanceKey}, now)
	for one := range p.all {
		isSticky := r.StickyTaskQueue != "" && one.queue.Name == r.StickyTaskQueue
		isOwn := r.WorkerInstanceKey != "" && one.worker.instance == r.WorkerInstanceKey
		if one.queue.Namespace == r.Namespace && (isSticky || isOwn) {
			one.end()
		}
	}
}

// workerKey names a worker.
type workerKey struct{ namespace, instance string }

const (
	// keepStopped is how long it is remembered that a worker has stopped: a poll may have been on its way then.
	keepStopped = 30 * time.Second
	// maxStopped is how many such workers are remembered.
	maxStopped = 10_000
)

// stoppedWorkers are the workers that have stopped of late, with when they have. The zero value is ready. It is not safe for concurrent use.
type stoppedWorkers map[workerKey]time.Time

// add remembers a worker for a while, if there is room.
func (s *stoppedWorkers) add(worker workerKey, now time.Time) {
	if *s == nil {
		*s = stoppedWorkers{}
	}
	for known, at := range *s {
		if now.Sub(at) >= keepStopped {
			delete(*s, known)
		}
	}
	if worker.instance != "" && len(*s) < maxStopped {
		(*s)[worker] = now
	}
}

// has reports whether a worker has stopped of late.
func (s stoppedWorkers) has(worker workerKey, now time.Time) bool {
	at, ok := s[worker]
	return ok && now.Sub(at) < keepStopped
}

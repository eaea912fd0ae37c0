package taskqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Queue names a task queue.
type Queue struct{ Namespace, Name string }

// Status is the state of a task queue at one moment.
type Status struct {
	// Pulling means that a worker asks for runs; Pulls is the number of such requests. A worker that has as many runs as it can
	// take makes none.
	Pulling bool
	Pulls   int
	// Held counts the runs that were handed to workers. The runs of a worker that has died still count.
	Held int
	// LastHandOut is when a run was last handed to a worker; zero if that is not known.
	LastHandOut time.Time
	// Waiting counts the runs that were not handed to any worker. Oldest is the first of them, nil if there is none.
	Waiting int
	Oldest  *WaitingRun
}

// WaitingRun is a run in the action stream.
type WaitingRun struct {
	// Sequence is its place in the action stream; Since is when it arrived.
	Sequence uint64
	Since    time.Time
	schedule.Key
	// TaskQueue and Type are those of the request.
	RequestID, WorkflowID, RunID string
	TaskQueue, Type              string
	Nominal, Actual              time.Time
}

// Worker reports whether there seems to be a worker: somebody asks for runs or has some. If a worker with runs has died, it takes
// a while until that shows.
func (s *Status) Worker() bool { return s.Pulling || s.Held > 0 }

// Look returns the status of a task queue. Its errors are those of NATS.
func Look(ctx context.Context, js jetstream.JetStream, names subjects.Names, namespace, queue string) (Status, error) {
	info, err := workers(ctx, js, names, Queue{namespace, queue})
	if err != nil {
		return Status{}, err
	}
	return look(ctx, js, names, Queue{namespace, queue}, info)
}

// workers returns what the server knows about the workers of a queue; nil if there never was one.
func workers(ctx context.Context, js jetstream.JetStream, names subjects.Names, q Queue) (*jetstream.ConsumerInfo, error) {
	name := subjects.WorkerConsumerName(q.Namespace, q.Name)
	consumer, err := js.Consumer(ctx, names.ActionStream(), name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("taskqueue: consumer %s: %w", name, err)
	}
	return consumer.CachedInfo(), nil
}

// look adds the waiting runs to what is known about the workers.
func look(
	ctx context.Context, js jetstream.JetStream, names subjects.Names, q Queue, info *jetstream.ConsumerInfo,
) (Status, error) {
	status, after := Status{}, uint64(0)
	if info != nil {
		status.Pulling, status.Pulls = info.NumWaiting > 0, info.NumWaiting
		status.Held, after = info.NumAckPending, info.Delivered.Stream
		if info.Delivered.Last != nil {
			status.LastHandOut = *info.Delivered.Last
		}
		if info.NumPending == 0 {
			return status, nil
		}
	}
	var err error
	status.Oldest, status.Waiting, err = firstRun(ctx, js, names, names.ActionQueue(q.Namespace, q.Name), after+1)
	return status, err
}

package replication

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// pauseBeyond is how much longer than the deadline of a handover the workers get nothing, if nobody lets them go on. forGood is for how long they get nothing from streams that are fenced:
	// until those are opened or removed.
	pauseBeyond = time.Minute
	forGood     = 10 * 365 * 24 * time.Hour
	// asksAtOnce is how many runs the workers are asked about at once.
	asksAtOnce = 256
)

// drain keeps new runs from workers, and looks whether those that have begun are done, and their ends taken note of.
func (s *Service) drain(ctx context.Context, own *site.Record) (site.Seen, error) {
	held, err := s.held(ctx, own, own.Deadline.Add(pauseBeyond))
	if err != nil || held > 0 {
		return site.Seen{Waits: holding(held)}, err
	}
	waiting, err := s.completions(ctx)
	if err != nil || waiting > 0 {
		return site.Seen{Waits: fmt.Sprintf("completions that have not been taken note of: %d", waiting)}, err
	}
	return site.Seen{Done: site.Drain}, nil
}

func holding(runs int) string { return fmt.Sprintf("runs that workers hold: %d", runs) }

// held pauses the workers and returns how many runs they hold. NATS counts also the runs that wait to be tried again, or whose worker has died. After the time for which a worker may
// be silent, only those count that a worker says it has.
func (s *Service) held(ctx context.Context, own *site.Record, until time.Time) (int, error) {
	handed, err := s.pauseWorkers(ctx, until)
	if err != nil {
		return 0, err
	}
	count, lease := 0, subjects.ActionAckWait
	for _, consumer := range handed {
		count, lease = count+max(consumer.NumAckPending, 1), max(lease, consumer.Config.AckWait)
	}
	if s.paused.Before(own.Since) {
		s.paused = own.Since // by another process, or before this one began
	}
	if count == 0 || s.config.Now().Before(s.paused.Add(lease)) {
		return count, nil
	}
	count = 0
	for _, consumer := range handed {
		claimed, err := s.claimed(ctx, consumer)
		if err != nil {
			return 0, err
		}
		count += claimed
	}
	if count > 0 {
		s.paused = s.config.Now() // a worker that has been heard of may be silent for as long again
	}
	return count, nil
}

// claimed counts the runs of a consumer that a worker says it has.
func (s *Service) claimed(ctx context.Context, consumer *jetstream.ConsumerInfo) (int, error) {
	var count atomic.Int64
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(asksAtOnce)
	names := s.config.Names
	err := taskqueue.Each(ctx, s.config.JS, names, consumer.Config.FilterSubject, consumer.AckFloor.Stream+1, consumer.Delivered.Stream, func(run *taskqueue.WaitingRun) error {
		group.Go(func() error {
			_, has, err := consistency.AskWorkers(asking, s.config.JS.Conn(), names, run.Namespace, run.TaskQueue, run.RunID)
			if has {
				count.Add(1)
			}
			return err
		})
		return nil
	})
	return int(count.Load()), errors.Join(err, group.Wait())
}

// pauseWorkers keeps the workers of all task queues from new runs until a time, at least. It returns the consumers that have handed out runs, or were not paused until now.
func (s *Service) pauseWorkers(ctx context.Context, until time.Time) (handed []*jetstream.ConsumerInfo, err error) {
	in, err := s.config.JS.Stream(ctx, s.config.Names.ActionStream())
	if err != nil {
		return nil, err
	}
	if err := s.barNewQueues(ctx, in, in, until); err != nil {
		return nil, err
	}
	all := in.ListConsumers(ctx)
	for consumer := range all.Info() {
		if !consumer.Paused || consumer.NumAckPending > 0 {
			handed = append(handed, consumer)
		}
		if consumer.Paused && consumer.PauseRemaining > until.Sub(s.config.Now())-pauseBeyond {
			continue
		}
		if _, err := in.PauseConsumer(ctx, consumer.Name, until); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return nil, fmt.Errorf("replication: pause the workers of %s: %w", consumer.Name, err)
		}
		if !consumer.Paused {
			s.paused = s.config.Now()
		}
	}
	return handed, all.Err()
}

// resumeWorkers lets the workers get runs again.
func (s *Service) resumeWorkers(ctx context.Context) error {
	in, err := s.config.JS.Stream(ctx, s.config.Names.ActionStream())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	all := in.ListConsumers(ctx)
	for consumer := range all.Info() {
		if !consumer.Paused {
			continue
		}
		if _, err := in.ResumeConsumer(ctx, consumer.Name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return fmt.Errorf("replication: let the workers of %s go on: %w", consumer.Name, err)
		}
	}
	return all.Err()
}

// barNewQueues makes the consumers of task queues that no worker has served yet and that have runs, so that they are paused as well. The runs may be at another site.
func (s *Service) barNewQueues(ctx context.Context, actions, waiting jetstream.Stream, until time.Time) error {
	names := s.config.Names
	info, err := waiting.Info(ctx, jetstream.WithSubjectFilter(names.Actions("*")))
	if err != nil {
		return err
	}
	queues := map[string]jetstream.ConsumerConfig{}
	for subject := range info.State.Subjects {
		if namespace, queue, err := names.QueueOfAction(subject); err == nil {
			config := names.WorkerConsumer(namespace, queue)
			queues[config.Durable] = config
		}
	}
	for name, config := range queues {
		config.PauseUntil = &until
		// One that exists has another configuration, and is paused as all are.
		if _, err := actions.CreateConsumer(ctx, config); err != nil && !errors.Is(err, jetstream.ErrConsumerExists) {
			return fmt.Errorf("replication: pause the task queue of %s: %w", name, err)
		}
	}
	return nil
}

// completions counts the completions that the invokers have not taken note of.
func (s *Service) completions(ctx context.Context) (waiting uint64, err error) {
	facts, err := s.here.facts(ctx)
	if err != nil {
		return 0, err
	}
	for shard := range facts.Shards {
		consumer, err := s.config.JS.Consumer(ctx, s.config.Names.CallbackStream(shard), subjects.PoolInvoker)
		if err != nil {
			return 0, err
		}
		info := consumer.CachedInfo()
		waiting += info.NumPending + uint64(info.NumAckPending)
	}
	return waiting, nil
}

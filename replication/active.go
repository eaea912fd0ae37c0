package replication

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/presence"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// answerTime is how long processes have to say that they still work.
	answerTime = 500 * time.Millisecond
	// pauseBeyond is how much longer than the deadline of a handover the workers get nothing, if nobody lets them go on.
	pauseBeyond = time.Minute
)

// open lets the streams of an active site take writes, and its workers get runs: a handover may have been given up halfway.
func (s *Service) open(ctx context.Context) (site.Seen, error) {
	facts, err := s.here.facts(ctx)
	if err != nil {
		return site.Seen{}, err
	}
	derived, mirrored := s.here.all(facts.Shards)
	for _, name := range slices.Concat(derived, mirrored) {
		if err := s.here.open(ctx, name, facts.Shards); err != nil {
			return site.Seen{}, err
		}
	}
	if _, err := s.pauseWorkers(ctx, time.Time{}); err != nil {
		return site.Seen{}, err
	}
	return site.Seen{Done: site.Open}, nil
}

// drain keeps new runs from workers, and looks whether those that have begun are done, and their ends taken note of.
func (s *Service) drain(ctx context.Context, own *site.Record) (site.Seen, error) {
	held, err := s.pauseWorkers(ctx, own.Deadline.Add(pauseBeyond))
	if err != nil {
		return site.Seen{}, err
	}
	if held > 0 {
		return site.Seen{Waits: fmt.Sprintf("workers hold %d runs", held)}, nil
	}
	waiting, err := s.completions(ctx)
	if err != nil || waiting > 0 {
		return site.Seen{Waits: fmt.Sprintf("%d completions have not been taken note of", waiting)}, err
	}
	return site.Seen{Done: site.Drain}, nil
}

// pauseWorkers keeps the workers of all task queues from new runs until a time, or lets them go on if that is zero. It returns how many runs they hold.
func (s *Service) pauseWorkers(ctx context.Context, until time.Time) (held int, err error) {
	stream := s.config.Names.ActionStream()
	in, err := s.config.JS.Stream(ctx, stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if !until.IsZero() {
		if err := s.barNewQueues(ctx, in, until); err != nil {
			return 0, err
		}
	}
	all := in.ListConsumers(ctx)
	for consumer := range all.Info() {
		held += consumer.NumAckPending
		switch {
		case until.IsZero() && consumer.Paused:
			_, err = in.ResumeConsumer(ctx, consumer.Name)
		case !until.IsZero() && !consumer.Paused:
			_, err = in.PauseConsumer(ctx, consumer.Name, until)
			held++ // it may have got something since it was asked
		}
		if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return 0, fmt.Errorf("replication: pause or resume the workers of %s: %w", consumer.Name, err)
		}
	}
	return held, all.Err()
}

// barNewQueues makes the consumers of task queues that no worker has served yet and that have runs, so that they are paused as well.
func (s *Service) barNewQueues(ctx context.Context, actions jetstream.Stream, until time.Time) error {
	names := s.config.Names
	info, err := actions.Info(ctx, jetstream.WithSubjectFilter(names.Actions("*")))
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for subject := range info.State.Subjects {
		namespace, queue, _, err := names.ParseAction(subject)
		if err != nil {
			continue
		}
		config := names.WorkerConsumer(namespace, queue)
		if seen[config.Durable] {
			continue
		}
		seen[config.Durable] = true
		if _, err = actions.Consumer(ctx, config.Durable); !errors.Is(err, jetstream.ErrConsumerNotFound) {
			continue
		}
		config.PauseUntil = &until
		if _, err := actions.CreateConsumer(ctx, config); err != nil && !errors.Is(err, jetstream.ErrConsumerExists) {
			return fmt.Errorf("replication: pause the task queue %s/%s: %w", namespace, queue, err)
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

// fence takes the subjects from all streams, once no other role runs here. The start requests come first: what workers still hold then must end before the
// rest is fenced, since they could not report it.
func (s *Service) fence(ctx context.Context, own *site.Record) (site.Seen, error) {
	if who, err := s.working(ctx); err != nil || who != "" {
		return site.Seen{Waits: "processes that have not stopped: " + who}, err
	}
	facts, err := s.here.facts(ctx)
	if err != nil {
		return site.Seen{}, err
	}
	if err := s.here.fence(ctx, s.config.Names.ActionStream()); err != nil {
		return site.Seen{}, err
	}
	if held, err := s.pauseWorkers(ctx, own.Deadline.Add(pauseBeyond)); err != nil || held > 0 {
		return site.Seen{Waits: fmt.Sprintf("workers hold %d runs", held)}, err
	}
	ends, err := s.fenceAll(ctx, facts.Shards)
	if err != nil {
		return site.Seen{}, err
	}
	return site.Seen{Done: site.Fence, Ends: ends}, nil
}

// fenceAll fences all streams, and returns where the mirrored ones end.
func (s *Service) fenceAll(ctx context.Context, shards int) (map[string]uint64, error) {
	derived, mirrored := s.here.all(shards)
	for _, name := range slices.Concat(derived, mirrored) {
		if err := s.here.fence(ctx, name); err != nil {
			return nil, err
		}
	}
	ends := map[string]uint64{}
	for _, name := range mirrored {
		end, err := s.here.end(ctx, name)
		if err != nil {
			return nil, err
		}
		ends[name] = end
	}
	return ends, nil
}

// working names a process that runs another role than this one; empty if there is none.
func (s *Service) working(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	all, err := presence.All(ctx, s.config.JS.Conn(), s.config.Names)
	for i := range all {
		if !slices.Equal(all[i].Roles, []string{subjects.RoleReplication}) {
			return all[i].Title(), nil
		}
	}
	return "", err
}

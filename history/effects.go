package history

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.temporal.io/api/serviceerror"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/backlog"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

// effectsLimit bounds the work of one entry.
const effectsLimit = 20 * time.Second

// effects begins to do what an entry of this process makes due. The caller has the turn.
func (s *Service) effects(of *slot, id string, entry *execution.Entry) {
	work := execution.Owed(of.state, entry)
	switch {
	case s.config.noEffects:
		s.commits.settle(id, false)
	case work.Empty():
		s.commits.settle(id, true)
	default:
		key, since, trace := of.key, s.config.Now(), entry.Trace
		s.inBackground(func(ctx context.Context) error {
			err := s.perform(telemetry.WithTraceparent(ctx, trace), key, &work)
			metrics.HistoryTransfer.Record(ctx, s.config.Now().Sub(since).Seconds())
			return err
		}, func(err error) {
			if err != nil && s.work.Err() == nil {
				s.log.Warn("the work of an entry is not done yet", "namespace", key.Namespace, "workflow_id", key.ID, "error", err)
			}
			s.commits.settle(id, err == nil)
		})
	}
}

// errNoRoom: the process has too much to do.
var errNoRoom = errors.New("history: the process has too much to do, or stops")

// inBackground does the work of an entry in a goroutine of its own, and then calls ended, once. If there is no room it calls ended at once.
func (s *Service) inBackground(do func(context.Context) error, ended func(error)) {
	select {
	case s.room <- struct{}{}:
	default:
		ended(errNoRoom)
		return
	}
	begun := s.spawn(func() {
		defer func() { <-s.room }()
		ctx, cancel := context.WithTimeout(s.work, effectsLimit)
		defer cancel()
		ended(do(ctx))
	})
	if !begun {
		<-s.room
		ended(errNoRoom)
	}
}

// perform does what an entry makes due. All of it is tried, whatever fails.
func (s *Service) perform(ctx context.Context, key schedule.Key, work *execution.Work) error {
	todo := slices.Concat(
		each(work.Endings, func(e execution.Ending) error { return s.tell(ctx, key, e) }),
		each(work.Offers, func(o execution.Offer) error { return s.offer(ctx, key, o) }),
		each(work.Children, func(c execution.ChildStart) error { return s.startChild(ctx, key, c) }),
		each(work.Orphans, func(o execution.Orphaned) error { return s.endOrphan(ctx, key, o) }),
		each(work.Outgoing, func(o execution.Outgoing) error { return s.send(ctx, key, o) }),
	)
	if err := s.allOf(todo); err != nil || len(work.Removals) == 0 {
		return err
	}
	return s.removeRuns(ctx, key, work.Removals)
}

// allOf does several things at once. All are tried, whatever fails.
func (s *Service) allOf(todo []func() error) error {
	if len(todo) == 1 {
		return todo[0]()
	}
	var group errgroup.Group
	group.SetLimit(s.config.OffersAtOnce)
	for _, do := range todo {
		group.Go(do)
	}
	return group.Wait()
}

func each[T any](all []T, do func(T) error) (todo []func() error) {
	for _, one := range all {
		todo = append(todo, func() error { return do(one) })
	}
	return todo
}

// offer offers one task to workers, or puts it into the backlog.
func (s *Service) offer(ctx context.Context, key schedule.Key, o execution.Offer) error {
	queue, waiting := backlog.TaskOf(key, &o)
	poller, stored, err := s.findPoll(ctx, &queue, waiting, &o)
	if stored || err != nil {
		return err
	}
	err = s.start(ctx, key, offer.Start{Task: waiting, Poller: poller}, queue.Name)
	if isNotFound(err) {
		err = nil // the task is no longer wanted
	}
	if err == nil { // otherwise it is offered again
		s.offers.Count(queue, waiting.Priority, 1, 1)
	}
	return err
}

// findPoll reserves a poll for a task, or puts the task into the backlog. The queue becomes the normal one if nobody is at the sticky one.
func (s *Service) findPoll(ctx context.Context, queue *offer.Queue, waiting offer.Task, o *execution.Offer) (poller offer.Poller, stored bool, err error) {
	select {
	case s.offering <- struct{}{}:
		defer func() { <-s.offering }()
	case <-ctx.Done():
		return poller, false, ctx.Err()
	}
	poller, err = s.offers.Offer(ctx, *queue, o.Patience)
	if o.Normal != "" && err == nil {
		metrics.StickyOffers.Add(ctx, 1, queue.Namespace, metrics.StickyTaken)
	}
	if errors.Is(err, offer.ErrNobody) && o.Normal != "" {
		metrics.StickyOffers.Add(ctx, 1, queue.Namespace, metrics.StickyMissed)
		queue.Name = o.Normal
		poller, err = s.offers.Offer(ctx, *queue, execution.NormalPatience)
	}
	if errors.Is(err, offer.ErrNobody) {
		if err = s.offers.Store(ctx, *queue, waiting); err == nil {
			metrics.BacklogStored.Add(ctx, 1, queue.Namespace, string(queue.Kind))
		}
		return poller, true, err
	}
	return poller, false, err
}

// start notes that a task has been started, and hands it to the poll that is reserved for it. Whatever goes wrong, the poll is set free. The
// error is Temporal's NotFound if the task is no longer wanted.
func (s *Service) start(ctx context.Context, key schedule.Key, start offer.Start, queue string) error {
	reply, err := s.transition(ctx, key, s.inputOf(start, queue))
	var data []byte
	if err == nil {
		data, err = proto.Marshal(reply)
	}
	// ctx may be over, and the poll must not wait for that.
	if handErr := s.offers.Hand(context.WithoutCancel(ctx), start.Poller, data); err == nil {
		err = handErr // the task's timeout brings it back
	}
	return err
}

// inputOf is the input for a task that a poll of a queue gets.
func (s *Service) inputOf(start offer.Start, queue string) execution.Input {
	t, poller, request := start.Task, start.Poller, s.config.NewID()
	if t.Kind == offer.Activity {
		return execution.StartActivity{
			RunID: t.RunID, Event: t.EventID, Attempt: t.Attempt, Stamp: t.Stamp, RequestID: request, Identity: poller.Identity,
		}
	}
	return execution.StartWorkflowTask{
		RunID: t.RunID, Event: t.EventID, Attempt: t.Attempt, Queue: queue, RequestID: request, Identity: poller.Identity,
	}
}

func isNotFound(err error) bool {
	var notFound *serviceerror.NotFound
	return errors.As(err, &notFound)
}

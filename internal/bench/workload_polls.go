package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	sdkclient "go.temporal.io/sdk/client"

	"github.com/carillon-scheduler/carillon/internal/sleep"
)

const (
	// pollsPerConnection is how many polls share a connection, as those of a worker do.
	pollsPerConnection = 100
	// pollPatience is how long a poll waits for its answer: longer than a server lets it wait.
	pollPatience = 90 * time.Second
	// pollAgain is how long a poll that was refused waits before the next.
	pollAgain = time.Second
	// polledWorkflows is how many workflows are started at the end, to see that the polls get them.
	polledWorkflows = 100
)

// standing are polls that wait. They are safe for concurrent use.
type standing struct {
	// waiting are polls that wait for their answer at this moment, renewed those that have ended without a task, failed those with an error.
	waiting, renewed, failed atomic.Int64
	last                     atomic.Pointer[error]
	// taken is told of each workflow whose task has come.
	taken func(id string, at time.Time)
}

// measurePolls lets polls wait for tasks that do not come. At the end some workflows are started, one after the other.
func measurePolls(ctx context.Context, s *session) error {
	tasks := newArrivals()
	polls := &standing{taken: tasks.note}
	stop, err := s.openPolls(ctx, polls)
	defer stop()
	if err != nil {
		return err
	}
	if err := s.awaitPolls(ctx, polls); err != nil {
		return err
	}
	from, to, err := s.during(ctx, func() error { return s.until(ctx, "waiting", time.Now().Add(time.Duration(s.Duration))) })
	if err != nil {
		return err
	}
	renewed, failed := polls.renewed.Load(), polls.failed.Load()
	s.result.time("waited", to.at.Sub(from.at))
	s.result.operation("poll that ended without a task", Operation{Count: int(renewed), Errors: int(failed)})
	s.noteMemory()
	return s.withClient(ctx, func(c sdkclient.Client) error { return s.startPolled(ctx, c, tasks) })
}

// awaitPolls waits until all polls wait. Some may be refused before, when they come at once. During the warm-up none may be: they would cost the
// server less than those that wait.
func (s *session) awaitPolls(ctx context.Context, polls *standing) error {
	deadline := time.Now().Add(grace)
	err := s.await(ctx, "polling", func() (int, int, error) {
		if time.Now().After(deadline) {
			return s.size(), s.size(), nil
		}
		return int(polls.waiting.Load()), s.size(), nil
	})
	if err != nil {
		return err
	}
	polls.failed.Store(0)
	if err := s.until(ctx, "warming up", time.Now().Add(time.Duration(s.Warmup))); err != nil {
		return err
	}
	if polls.failed.Load() > 0 {
		return fmt.Errorf("bench: only %d of %d polls wait: %w", polls.waiting.Load(), s.size(), *polls.last.Load())
	}
	return nil
}

// openPolls begins to poll, from several connections. The caller stops it, also if there is an error.
func (s *session) openPolls(ctx context.Context, polls *standing) (stop func(), err error) {
	polling, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	var connections []sdkclient.Client
	stop = func() {
		cancel()
		running.Wait()
		for _, c := range connections {
			c.Close()
		}
	}
	for first := 0; first < s.size(); first += pollsPerConnection {
		c, err := dialSDK(ctx, s.gateway, s.namespace())
		if err != nil {
			return stop, err
		}
		connections = append(connections, c)
		for range min(pollsPerConnection, s.size()-first) {
			running.Go(func() { s.keepPolling(polling, c, polls) })
		}
	}
	return stop, nil
}

// keepPolling polls again and again.
func (s *session) keepPolling(ctx context.Context, c sdkclient.Client, polls *standing) {
	for ctx.Err() == nil {
		polls.waiting.Add(1)
		id, err := s.pollFor(ctx, c, pollPatience)
		polls.waiting.Add(-1)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			polls.last.Store(&err)
			polls.failed.Add(1)
			_ = sleep.For(ctx, pollAgain)
		case id == "":
			polls.renewed.Add(1)
		default:
			polls.taken(id, time.Now())
		}
	}
}

// startPolled starts workflows, one after the other, and notes how long it takes until a poll has the task of each. Then it ends them.
func (s *session) startPolled(ctx context.Context, c sdkclient.Client, tasks *arrivals) error {
	latency := newHistogram()
	arrived := 0
	for i := range polledWorkflows {
		id := s.workflowID(kindEmpty, "polled", i)
		came := tasks.expect(id)
		asked := time.Now()
		if _, err := s.start(ctx, c, kindEmpty, id); err != nil {
			return err
		}
		select {
		case at := <-came:
			latency.add(at.Sub(asked))
			arrived++
		case <-time.After(grace):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := c.TerminateWorkflow(ctx, id, "", "measured"); err != nil {
			return fmt.Errorf("bench: end %s: %w", id, err)
		}
	}
	s.result.count(polledWorkflows, arrived)
	s.result.operation("from a start to the answer of a poll", Operation{Count: arrived, Latency: latency.quantiles()})
	return nil
}

// arrivals tells of tasks that come. It is safe for concurrent use.
type arrivals struct {
	mu   sync.Mutex
	came map[string]chan time.Time
}

func newArrivals() *arrivals { return &arrivals{came: map[string]chan time.Time{}} }

// expect returns where it is told when the first task of a workflow comes.
func (a *arrivals) expect(id string) <-chan time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	came := make(chan time.Time, 1)
	a.came[id] = came
	return came
}

func (a *arrivals) note(id string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if came := a.came[id]; came != nil {
		came <- at
		delete(a.came, id)
	}
}

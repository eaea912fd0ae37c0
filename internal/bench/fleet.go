package bench

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// makers is how many clients create schedules side by side.
const makers = 16

// forEach calls do for every number below n, from some clients, and shows its progress.
func (s *session) forEach(ctx context.Context, stage string, n int, do func(ctx context.Context, i int) error) error {
	return s.eachFrom(ctx, makers, stage, n, do)
}

// fromClients is forEach from as many clients as the scenario has, if it has any. It notes how long each call took, as an operation.
func (s *session) fromClients(ctx context.Context, operation string, n int, do func(ctx context.Context, i int) error) error {
	var mu sync.Mutex
	latency, began := newHistogram(), time.Now()
	err := s.eachFrom(ctx, cmp.Or(s.Clients, makers), operation, n, func(ctx context.Context, i int) error {
		asked := time.Now()
		err := do(ctx, i)
		mu.Lock()
		defer mu.Unlock()
		latency.add(time.Since(asked))
		return err
	})
	s.result.operation(operation, Operation{Count: n, PerS: Rate(float64(n) / time.Since(began).Seconds()), Latency: latency.quantiles()})
	return err
}

func (s *session) eachFrom(ctx context.Context, clients int, stage string, n int, do func(ctx context.Context, i int) error) error {
	var done atomic.Int64
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(clients)
	for i := range n {
		if working.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := do(working, i); err != nil {
				return err
			}
			s.config.Progress(stage, int(done.Add(1)), n)
			return nil
		})
	}
	return group.Wait()
}

// create creates identical schedules.
func (s *session) create(ctx context.Context, stage string, n int, name func(int) string, what schedule.Schedule) error {
	return s.forEach(ctx, stage, n, func(ctx context.Context, i int) error {
		_, err := s.client.Create(ctx, schedule.CreateRequest{ID: name(i), Schedule: what})
		return err
	})
}

// remove deletes schedules.
func (s *session) remove(ctx context.Context, n int, name func(int) string) error {
	return s.forEach(ctx, "deleting", n, func(ctx context.Context, i int) error { return s.client.Delete(ctx, name(i)) })
}

// createDormant creates schedules that exist beside the measured ones, and returns how long that took. It waits until all
// processes have finished with them.
func (s *session) createDormant(ctx context.Context, n int) (took time.Duration, err error) {
	if err := s.makeRoom(ctx, n); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := s.create(ctx, "creating dormant schedules", n, dormantID, dormant(time.Now())); err != nil {
		return 0, err
	}
	if err := s.settle(ctx); err != nil {
		return 0, err
	}
	took = time.Since(begin)
	return took, s.awaitIndex(ctx)
}

// makeRoom raises the limit of the namespace if n schedules beside the measured ones need it.
func (s *session) makeRoom(ctx context.Context, n int) error {
	if n < schedule.DefaultMaxSchedules/2 {
		return nil
	}
	_, err := s.client.UpdateNamespace(ctx, namespace, schedule.UpdateNamespaceRequest{
		Limits: schedule.NamespaceLimits{MaxSchedules: 2 * n},
	})
	return err
}

func dormantID(i int) string { return fmt.Sprintf("dormant-%07d", i) }

func benchID(i int) string { return fmt.Sprintf("bench-%06d", i) }

// dormant is a schedule that is due in half a year, and then every year.
func dormant(now time.Time) schedule.Schedule {
	const year = 365 * 24 * time.Hour
	return work(schedule.Spec{Intervals: []schedule.Interval{phased(year, now.Add(year/2))}}, schedule.OverlapAllowAll)
}

// phased is an interval that includes an instant.
func phased(every time.Duration, at time.Time) schedule.Interval {
	phase := time.Duration(at.Unix()%int64(every/time.Second)) * time.Second
	return schedule.Interval{Every: schedule.Duration(every), Phase: schedule.Duration(phase)}
}

// work is a schedule of the measured action.
func work(spec schedule.Spec, overlap schedule.OverlapPolicy) schedule.Schedule {
	return schedule.Schedule{
		Spec: spec, Action: schedule.Action{Type: actionType, TaskQueue: taskQueue}, Policies: schedule.Policies{Overlap: overlap},
	}
}

// expectAll puts into a ledger what the specification processor says is due, for identical schedules.
func expectAll(l *ledger, n int, name func(int) string, spec schedule.Spec, within span) error {
	compiled, err := specproc.Compile(spec)
	if err != nil {
		return err
	}
	for i := range n {
		id := name(i)
		seed := (&wire.Definition{Namespace: namespace, ID: id}).JitterSeed()
		var due []entry
		for t := range compiled.Between(within.from.Add(-time.Nanosecond), within.to.Add(-time.Nanosecond), seed) {
			due = append(due, entry{nominal: t.Nominal, due: t.Actual})
		}
		l.expect(id, due...)
	}
	return nil
}

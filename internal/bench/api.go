package bench

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/schedule"
)

func apiScenario() Scenario {
	return Scenario{
		Name:     "api",
		Short:    "create, describe, list and update, from N clients that wait for their answers",
		Takes:    []string{ParamSchedules, ParamClients, ParamDuration},
		Defaults: Parameters{Schedules: 10_000, Clients: 16, Duration: Seconds(5 * time.Second)},
		measure:  measureAPI,
	}
}

// apiPage is how many schedules a list asks for.
const apiPage = 100

func measureAPI(ctx context.Context, s *session) error {
	from, err := s.begin(ctx)
	if err != nil {
		return err
	}
	what := dormant(time.Now())
	created := func(done int64) bool { return done < int64(s.Schedules) }
	err = s.hammer(ctx, "create", created, func(ctx context.Context, i int64) error {
		_, err := s.client.Create(ctx, schedule.CreateRequest{ID: benchID(int(i)), Schedule: what})
		return err
	})
	if err != nil {
		return err
	}
	for _, request := range s.requests(what) {
		if err := s.quiet(ctx); err != nil { // work that earlier requests have left is not part of these
			return err
		}
		deadline := time.Now().Add(time.Duration(s.Duration))
		inTime := func(int64) bool { return time.Now().Before(deadline) }
		if err := s.hammer(ctx, request.name, inTime, request.do); err != nil {
			return err
		}
	}
	_, err = s.end(ctx, from)
	return err
}

// request is a kind of request.
type request struct {
	name string
	do   func(ctx context.Context, i int64) error
}

// requests are the requests that are made for some time, about random schedules.
func (s *session) requests(what schedule.Schedule) []request {
	anyID := func() string { return benchID(rand.IntN(s.Schedules)) }
	return []request{
		{"describe", func(ctx context.Context, _ int64) error {
			_, err := s.client.Describe(ctx, anyID())
			return err
		}},
		{"list", func(ctx context.Context, _ int64) error {
			_, err := s.client.List(ctx, schedule.ListRequest{PageSize: apiPage})
			return err
		}},
		{"update", func(ctx context.Context, _ int64) error {
			_, err := s.client.Update(ctx, schedule.UpdateRequest{ID: anyID(), Schedule: what})
			return err
		}},
	}
}

// hammer makes requests of one kind from all clients for as long as another one may begin, and notes the results. Refusals are
// counted, because they may happen under such a load. Only the end of ctx ends it early.
func (s *session) hammer(
	ctx context.Context, name string, another func(done int64) bool, do func(ctx context.Context, i int64) error,
) error {
	var (
		group   errgroup.Group
		next    atomic.Int64
		errs    atomic.Int64
		mu      sync.Mutex
		latency = newHistogram()
	)
	begin := time.Now()
	for range s.Clients {
		group.Go(func() error {
			own := newHistogram()
			for i := next.Add(1) - 1; another(i); i = next.Add(1) - 1 {
				asked := time.Now()
				if do(ctx, i) != nil {
					errs.Add(1)
				}
				own.add(time.Since(asked))
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				s.config.Progress(name, int(i), 0)
			}
			mu.Lock()
			defer mu.Unlock()
			latency.merge(own)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	count := int(latency.hdr.TotalCount())
	s.result.operation(name, Operation{
		Count: count, PerS: Rate(float64(count) / time.Since(begin).Seconds()), Errors: int(errs.Load()),
		Latency: latency.quantiles(),
	})
	return nil
}

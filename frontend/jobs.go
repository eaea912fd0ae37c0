package frontend

import (
	"context"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/frontend/internal/calendars"
	"github.com/carillon-scheduler/carillon/internal/jobs"
)

// works are what the background jobs of each kind do.
func (a *api) works() map[string]jobs.Work {
	works := a.bulk.Works(a.index != nil)
	works[calendars.KindReplan] = a.calendars.Work(a.replan)
	return works
}

// startJobs works on background jobs until ctx ends, or the function that it returns is called. That returns when the jobs
// have been given back to other frontends.
func (f *Frontend) startJobs(ctx context.Context, owner string) (stop func()) {
	works := f.api.works()
	works[kindRemoval] = &removal{api: f.api, settle: f.config.RequestTimeout + time.Second}
	runner := jobs.NewRunner(jobs.Config{
		Store: f.api.jobs, Works: works, Logger: f.config.Logger, Owner: owner, Now: f.config.Now,
	})
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { runner.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

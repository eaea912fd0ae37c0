package jobs

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// concurrency is how many items of a job are in progress at once, at most.
	concurrency = 16
	// lookAhead is how many IDs are requested at once: finding them may cost far more than a page is worth.
	lookAhead = 1000
	// nextTimeout bounds one such request, itemTimeout one attempt at an item, writeTimeout one write of the record.
	nextTimeout  = time.Minute
	itemTimeout  = 10 * time.Second
	writeTimeout = 2 * time.Second
	// grace is how long items in progress may take to end after the runner is told to stop.
	grace = 5 * time.Second
)

// attempt is the work on a job from the time a runner takes it until it lets go of it. Its fields belong to run unless their
// comments say otherwise.
type attempt struct {
	store   *Store
	work    Work
	metrics instruments
	log     *slog.Logger
	now     func() time.Time
	key     string

	// given is the job as it was taken. Every goroutine may read it.
	given *Job
	// job is the job as it will be written, and revision the revision of its record. unsaved means that they differ.
	job      Job
	revision uint64
	unsaved  bool
	// lost means that another runner has the job by now, or may have it.
	lost bool
	// ahead has the IDs after those of the page, as far as they have been requested.
	ahead []string

	limiter *rate.Limiter
	settled chan settlement
	// begin ends when nothing more may be begun. stop ends it, and may be called from anywhere. going ends when the work in
	// progress must be given up as well.
	begin, going context.Context
	stop, abort  context.CancelFunc
}

// settlement is an item and its result.
type settlement struct {
	id     string
	result ItemResult
}

func newAttempt(r *Runner, job Job, revision uint64) *attempt {
	given := job
	perSecond := cmp.Or(job.Rate, DefaultRate)
	a := &attempt{
		store: r.config.Store, work: r.config.Works[job.Kind], metrics: r.metrics, now: r.config.Now,
		log: r.config.Logger.With("namespace", job.Namespace, "job_id", job.ID, "kind", job.Kind),
		key: subjects.JobKey(job.Namespace, job.ID), given: &given, job: job, revision: revision,
		// The burst of a tenth of a second only hides how coarse timers are.
		limiter: rate.NewLimiter(rate.Limit(perSecond), max(perSecond/10, 1)), settled: make(chan settlement),
	}
	a.going, a.abort = context.WithCancel(context.Background()) //permit:context.Background an attempt ends by its own rules
	a.begin, a.stop = context.WithCancel(a.going)
	return a
}

// run works on the job until it has ended or must be let go, and records its progress.
func (a *attempt) run() {
	defer a.abort()
	for a.goesOn() {
		switch {
		case len(a.job.Page) > 0:
			ids := a.job.Page
			a.beside(func() { a.page(ids) })
		case a.job.Walked:
			a.job.end(Done, a.now())
		default:
			a.turn()
		}
	}
	a.letGo()
}

func (a *attempt) goesOn() bool { return a.begin.Err() == nil && !a.lost && !a.job.Ended() }

// turn begins a page. The page is written before any of its items is begun, so after a crash the next runner repeats exactly
// these items, and counts each once.
func (a *attempt) turn() {
	if len(a.ahead) == 0 {
		var err error
		after := a.job.Cursor
		a.beside(func() { a.ahead, err = a.next(after) })
		if err != nil {
			a.cannotGoOn(err)
			return
		}
	}
	size := min(pageSize(a.job.Rate), len(a.ahead))
	a.job.turn(a.ahead[:size:size])
	a.ahead, a.unsaved = a.ahead[size:], true
	for try := 1; a.goesOn() && a.unsaved; try++ {
		if err := a.keep(); err != nil {
			_ = sleep.For(a.begin, backoff(try))
		}
	}
}

// next asks for the next items until there is an answer. An error ends the job, unless the attempt ends.
func (a *attempt) next(after string) (ids []string, err error) {
	for try := 1; ; try++ {
		ids, err = callNext(a.begin, a.work, a.given, after)
		if err == nil || isFinal(err) {
			return ids, err
		}
		a.log.WarnContext(a.begin, "the next items of a job are not known, will ask again", "error", err)
		if sleep.For(a.begin, backoff(try)) != nil {
			return nil, err
		}
	}
}

func (a *attempt) cannotGoOn(err error) {
	if !isFinal(err) {
		return // the attempt has ended
	}
	a.log.WarnContext(a.going, "job cannot go on", "error", err)
	a.job.Error = cut(err.Error())
	a.job.end(Failed, a.now())
}

// page processes the items of a page, several at once, and no faster than the rate.
func (a *attempt) page(ids []string) {
	var doing errgroup.Group
	doing.SetLimit(concurrency)
	for _, id := range ids {
		if a.limiter.Wait(a.begin) != nil {
			break
		}
		doing.Go(func() error {
			a.item(id)
			return nil
		})
	}
	_ = doing.Wait() // no item returns an error
}

// item settles one item, unless the attempt ends first.
func (a *attempt) item(id string) {
	for try := 1; ; try++ {
		result, err := callDo(a.going, a.work, a.given, id)
		result, again := judge(result, err, try)
		if again {
			a.log.DebugContext(a.going, "item of a job will be tried again", "item", id, "error", err)
			if sleep.For(a.begin, backoff(try)) != nil {
				return
			}
			continue
		}
		if a.going.Err() != nil {
			return // an item that failed because the attempt was given up has not failed
		}
		a.report(id, result)
		a.settled <- settlement{id, result}
		return
	}
}

func (a *attempt) report(id string, result ItemResult) {
	reporter, ok := a.work.(Reporter)
	if !ok || result.Result != ItemFailed {
		return
	}
	ctx, cancel := context.WithTimeout(a.going, itemTimeout)
	defer cancel()
	if err := reporter.Report(ctx, a.given, Failure{ID: id, Reason: result.Reason}); err != nil {
		a.log.WarnContext(ctx, "failure of an item not reported", "item", id, "error", err)
	}
}

// beside calls a function. Meanwhile it notes what the function settles, and keeps the lease of the job. It returns when the
// function has returned. If the job is lost, or the grace is over, it makes the function hurry.
func (a *attempt) beside(work func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		work()
	}()
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	stopping := a.begin.Done()
	var late <-chan time.Time
	note := func(s settlement) {
		a.job.settle(s.id, s.result)
		a.unsaved = true
		a.metrics.settled(a.job.Kind, s.result.Result)
	}
	for {
		// Several settlements may have come while the record was written. The next write covers all that are noted by then.
		select {
		case s := <-a.settled:
			note(s)
			continue
		case <-ended:
			return
		default:
		}
		select {
		case s := <-a.settled:
			note(s)
		case <-tick.C:
			_ = a.keep() // tried again with the next tick
		case <-stopping:
			stopping, late = nil, time.After(grace)
		case <-late:
			a.abort()
		case <-ended:
			return
		}
	}
}

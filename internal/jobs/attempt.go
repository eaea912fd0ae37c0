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
	// concurrency is how many items of a job are done at once, at most.
	concurrency = 16
	// lookAhead is how many IDs are asked for at once: to find them may cost far more than a page is worth.
	lookAhead = 1000
	// nextTimeout bounds one such question, itemTimeout one attempt at an item, writeTimeout one write of the record.
	nextTimeout  = time.Minute
	itemTimeout  = 10 * time.Second
	writeTimeout = 2 * time.Second
	// grace is how long items that have been begun may take to end, once the runner is told to stop.
	grace = 5 * time.Second
)

// attempt is the work on a job from when a runner takes it to when it lets go of it. Its fields belong to run, but for what is
// said of them.
type attempt struct {
	store   *Store
	work    Work
	metrics instruments
	log     *slog.Logger
	now     func() time.Time
	key     string

	// given is the job as it was taken; everybody may read it.
	given *Job
	// job is the job as it will be written, revision that of its record, unsaved whether they differ.
	job      Job
	revision uint64
	unsaved  bool
	// lost says that the job is another's by now, or may be.
	lost bool
	// ahead are the IDs after those of the page, as far as they have been asked for.
	ahead []string

	limiter *rate.Limiter
	settled chan settlement
	// begin ends when nothing more is to be begun, which stop brings about; it may be called anywhere. going ends when what
	// has been begun is to be given up as well.
	begin, going context.Context
	stop, abort  context.CancelFunc
}

// settlement is what became of an item.
type settlement struct {
	id      string
	outcome Outcome
}

func newAttempt(r *Runner, job Job, revision uint64) *attempt {
	given := job
	perSecond := cmp.Or(job.Rate, DefaultRate)
	a := &attempt{
		store: r.config.Store, work: r.config.Works[job.Kind], metrics: r.metrics, now: r.config.Now,
		log: r.config.Logger.With("namespace", job.Namespace, "job_id", job.ID, "kind", job.Kind),
		key: subjects.JobKey(job.Namespace, job.ID), given: &given, job: job, revision: revision,
		// A burst of a tenth of a second hides how coarse timers are, and nothing else.
		limiter: rate.NewLimiter(rate.Limit(perSecond), max(perSecond/10, 1)), settled: make(chan settlement),
	}
	a.going, a.abort = context.WithCancel(context.Background()) //permit:context.Background an attempt ends by its own rules
	a.begin, a.stop = context.WithCancel(a.going)
	return a
}

// run works on the job until it has ended, or is to be let go of, and writes down how far it has come.
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

// turn begins a page. It is written down before any item of it is begun: whoever comes after a crash repeats these and no
// others, and counts each.
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

// next asks what comes next until there is an answer. An error is the end of the job, unless the attempt ends.
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

// page does the items of a page, several at once, and no faster than the rate.
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

// item settles one item, unless the attempt ends before.
func (a *attempt) item(id string) {
	for try := 1; ; try++ {
		outcome, err := callDo(a.going, a.work, a.given, id)
		outcome, again := judge(outcome, err, try)
		if again {
			a.log.DebugContext(a.going, "item of a job will be tried again", "item", id, "error", err)
			if sleep.For(a.begin, backoff(try)) != nil {
				return
			}
			continue
		}
		if a.going.Err() != nil {
			return // what failed because the attempt was given up has not failed
		}
		a.report(id, outcome)
		a.settled <- settlement{id, outcome}
		return
	}
}

func (a *attempt) report(id string, outcome Outcome) {
	reporter, ok := a.work.(Reporter)
	if !ok || outcome.Result != ItemFailed {
		return
	}
	ctx, cancel := context.WithTimeout(a.going, itemTimeout)
	defer cancel()
	if err := reporter.Report(ctx, a.given, Failure{ID: id, Reason: outcome.Reason}); err != nil {
		a.log.WarnContext(ctx, "failure of an item not reported", "item", id, "error", err)
	}
}

// beside calls a function, and meanwhile notes what it settles and holds on to the job. It returns when the function has, which
// it makes hurry where the job is lost or the grace over.
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
		a.job.settle(s.id, s.outcome)
		a.unsaved = true
		a.metrics.settled(a.job.Kind, s.outcome.Result)
	}
	for {
		// While the record was written more than one of these may have come. What is written next says all that is settled by then.
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

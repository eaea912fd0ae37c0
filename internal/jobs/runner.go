package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// slots is how many jobs a runner works on at once. Further jobs wait, or other runners take them.
	slots = 4
	// watchPause is the wait before a watch that has ended is restarted, and before a job that could not be taken is tried again.
	watchPause = time.Second
)

var errWatchEnded = errors.New("jobs: the watch has ended")

// Config is what a [Runner] needs. All fields are required.
type Config struct {
	Store *Store
	// Works has what the jobs of each kind do.
	Works  map[string]Work
	Logger *slog.Logger
	// Owner is the name of the runner. No other runner has it.
	Owner string
	// Now is the clock.
	Now func() time.Time
}

// Runner works on jobs. [NewRunner] makes it.
type Runner struct {
	config  Config
	metrics instruments
	// known has the jobs as the watch last showed them; held has those that this runner works on. Both belong to Run.
	known map[string]record
	held  map[string]*attempt
	ended chan *attempt
}

// record is a job and its revision.
type record struct {
	job      Job
	revision uint64
}

// NewRunner returns a runner that does nothing until Run is called.
func NewRunner(config Config) *Runner {
	return &Runner{
		config: config, metrics: instruments{},
		known: map[string]record{}, held: map[string]*attempt{}, ended: make(chan *attempt),
	}
}

// Run works on jobs until ctx ends, and then gives back those that it has. It returns when all its goroutines have ended. It may
// be called once.
func (r *Runner) Run(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	defer r.giveBack()
	for ctx.Err() == nil {
		if err := r.watch(ctx, &working); err != nil && ctx.Err() == nil {
			r.config.Logger.WarnContext(ctx, "watch of the jobs ended, will begin it anew", "error", err)
		}
		r.rest(ctx)
	}
}

// giveBack ends the work on all jobs.
func (r *Runner) giveBack() {
	for _, held := range r.held {
		held.stop()
	}
	for len(r.held) > 0 {
		r.drop(<-r.ended)
	}
}

// rest waits before the next watch.
func (r *Runner) rest(ctx context.Context) {
	pause := time.NewTimer(watchPause)
	defer pause.Stop()
	for {
		select {
		case <-pause.C:
			return
		case <-ctx.Done():
			return
		case done := <-r.ended:
			r.drop(done)
		}
	}
}

// watch follows the records of all jobs until the watch fails.
func (r *Runner) watch(ctx context.Context, working *sync.WaitGroup) error {
	watch, err := r.config.Store.cluster.Watch(ctx, subjects.AllJobKeys())
	if err != nil {
		return fmt.Errorf("jobs: watch: %w", err)
	}
	defer func() { _ = watch.Stop() }() // fails on a closed connection, which has no watch
	clear(r.known)
	wake := time.NewTimer(0)
	defer wake.Stop()
	current := false // whether the watch has shown everything that existed
	for {
		select {
		case <-ctx.Done():
			return nil
		case entry, ok := <-watch.Updates():
			if !ok {
				return errWatchEnded
			}
			current = current || entry == nil
			r.see(ctx, entry)
		case done := <-r.ended:
			r.drop(done)
		case <-wake.C:
		}
		shown, ok := r.catchUp(ctx, watch)
		if !ok {
			return errWatchEnded
		}
		current = current || shown
		if current {
			wake.Reset(r.act(ctx, working))
		}
	}
}

// catchUp processes all updates that have arrived, so that the next decision is based on the newest state, whatever order they
// came in. shown reports whether the watch has shown everything that existed; ok is false if the watch has ended.
func (r *Runner) catchUp(ctx context.Context, watch jetstream.KeyWatcher) (shown, ok bool) {
	for {
		select {
		case entry, ok := <-watch.Updates():
			if !ok {
				return shown, false
			}
			shown = shown || entry == nil
			r.see(ctx, entry)
			continue
		default:
		}
		select {
		case done := <-r.ended:
			r.drop(done)
		default:
			return shown, true
		}
	}
}

// see notes an update from the watch.
func (r *Runner) see(ctx context.Context, entry jetstream.KeyValueEntry) {
	if entry == nil {
		return
	}
	key := entry.Key()
	if entry.Operation() != jetstream.KeyValuePut {
		delete(r.known, key)
		return
	}
	var job Job
	if err := json.Unmarshal(entry.Value(), &job); err != nil || key != subjects.JobKey(job.Namespace, job.ID) {
		r.config.Logger.ErrorContext(ctx, "record of a job left alone", "key", key, "error", err)
		delete(r.known, key)
		return
	}
	r.known[key] = record{job, entry.Revision()}
	if held := r.held[key]; held != nil && job.Ended() {
		held.stop() // canceled: the next write would show it, but that may be a second from now
	}
}

// act does what the jobs need now, and returns how long to wait before the next look.
func (r *Runner) act(ctx context.Context, working *sync.WaitGroup) time.Duration {
	const longest = time.Hour
	pause := longest
	now := r.config.Now()
	for _, key := range slices.Sorted(maps.Keys(r.known)) {
		known := r.known[key]
		if r.held[key] != nil {
			continue
		}
		_, able := r.config.Works[known.job.Kind]
		switch what, until := next(&known.job, now, able); {
		case what == wait:
			pause = min(pause, until.Sub(now))
		case what == claim && len(r.held) < slots:
			if !r.take(ctx, known, working) {
				pause = min(pause, watchPause)
			}
		case what == remove:
			if !r.remove(ctx, known) {
				pause = min(pause, watchPause)
			}
		}
	}
	return pause
}

// take takes a job and works on it, unless another runner was faster. It returns false if the job must be tried again.
func (r *Runner) take(ctx context.Context, known record, working *sync.WaitGroup) bool {
	job := known.job
	job.claim(r.config.Owner, r.config.Now())
	// Not even a stop cuts the write short: nobody would know of the claim.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	revision, err := r.config.Store.write(ctx, &job, known.revision)
	if err != nil {
		return r.missed(ctx, &job, err)
	}
	held := newAttempt(r, job, revision)
	r.held[held.key] = held
	r.metrics.begun(job.Kind)
	held.log.InfoContext(ctx, "working on a job", "term", job.Term, "settled", job.Done+job.Skipped+job.Failed)
	// The work outlives ctx, to finish what it has begun.
	working.Go(func() {
		held.run()
		r.ended <- held
	})
	return true
}

// missed reports whether a write failed because another was faster. The watch will show that other write.
func (r *Runner) missed(ctx context.Context, job *Job, err error) bool {
	if errors.Is(err, kv.ErrConflict) {
		return true
	}
	r.config.Logger.WarnContext(ctx, "record of a job not written, will try again",
		"namespace", job.Namespace, "job_id", job.ID, "error", err)
	return false
}

func (r *Runner) remove(ctx context.Context, known record) bool {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := r.config.Store.remove(ctx, &known.job, known.revision); err != nil {
		return r.missed(ctx, &known.job, err)
	}
	return true
}

// drop forgets a job that this runner no longer works on.
func (r *Runner) drop(done *attempt) {
	delete(r.held, done.key)
	r.metrics.over(done.job.Kind)
}

// Work is what the jobs of one kind do. It must be safe for concurrent use. The job is as it was when the runner took it; nobody
// may change it.
type Work interface {
	// Next returns IDs of items, in ascending order and all greater than after, at most limit. None means that there are no more.
	// A *schedule.Error ends the job as failed, unless its code is unavailable. After any other error Next is called again.
	Next(ctx context.Context, job *Job, after string, limit int) (ids []string, err error)
	// Do settles one item. It may be called again for an item that it has settled, and concurrently for several items. A
	// *schedule.Error means that the item has failed, unless its code is unavailable. After any other error Do is called again,
	// and if that does not help the item has failed.
	Do(ctx context.Context, job *Job, id string) (ItemResult, error)
}

// Reporter is a [Work] that is told of failed items before they are counted. It may be told twice.
type Reporter interface {
	Report(ctx context.Context, job *Job, failure Failure) error
}

// instruments counts jobs and the results of their items.
type instruments struct{}

func (instruments) begun(kind string) { metrics.JobsRunning.Add(metrics.Untraced(), 1, kind) }

func (instruments) over(kind string) { metrics.JobsRunning.Add(metrics.Untraced(), -1, kind) }

func (instruments) settled(kind string, result Result) {
	metrics.JobItems.Add(metrics.Untraced(), 1, kind, string(result))
}

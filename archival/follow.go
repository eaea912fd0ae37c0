package archival

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/archive/progress"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// pageSize is how many entries of a journal stream are read at once.
	pageSize = 500
	// pagesAtOnce is how many pages of a shard are worked on before it is the turn of others.
	pagesAtOnce = 10
	// atOnce is how many runs of a page are archived at once.
	atOnce = 16
)

// follow reads the journals of a namespace in a shard, and archives the runs that have ended. One goroutine at a time uses it.
type follow struct {
	*Service
	place
	// address is the URL of the bucket.
	address string
	// next is where to read on; 0 before the first page.
	next     uint64
	progress progress.Progress
	revision uint64
	// retry is when the runs that were left behind are tried again.
	retry time.Time
}

// bind reads how far the shard is archived, and lets nothing count as safe that was archived in a bucket with another mark.
func (f *follow) bind(ctx context.Context, mark string) (err error) {
	if f.next == 0 {
		if f.progress, f.revision, err = f.records.Get(ctx, f.namespace, f.shard); err != nil {
			return err
		}
		f.next = 1 // what is safe is skipped: another stream may be there than the progress is about
	}
	if f.progress.IsOf(f.address, mark) {
		return nil
	}
	return f.anew(ctx, mark)
}

// anew lets nothing count as safe, and goes back to the first entry. It is stored at once, because history removes what counts as safe.
func (f *follow) anew(ctx context.Context, mark string) error {
	next, counted := f.progress.Anew(f.address, mark), f.progress.Through > 0
	f.next = 1
	if !counted {
		f.progress = next
		return nil
	}
	f.log.WarnContext(ctx, "the executions that are still there are archived again: the bucket or the journal is another one than before",
		"namespace", f.namespace, "shard", f.shard, "bucket", f.address)
	return f.store(ctx, next)
}

// round archives what there is, up to a number of pages. It reports whether there may be more. The shard is bound.
func (f *follow) round(ctx context.Context, in *bucket) (more bool, err error) {
	if err := f.retryLeft(ctx, in); err != nil {
		return false, err
	}
	names := f.config.Names
	for range pagesAtOnce {
		page, err := f.bus.Subject(ctx, names.JournalStream(f.shard), names.Journals(f.shard, f.namespace), f.next, pageSize)
		if err != nil || len(page) == 0 {
			return false, err
		}
		if err := f.page(ctx, in, endings(names, page)); err != nil {
			return false, err
		}
	}
	return true, ctx.Err()
}

// page archives the runs that have ended in a page, and stores that. In another stream, it goes back to the first page instead: earlier ones have been
// passed over.
func (f *follow) page(ctx context.Context, in *bucket, page []ended) error {
	if !isAbout(&f.progress, page) {
		return f.anew(ctx, f.progress.Mark)
	}
	todo := plan(&f.progress, page)
	if len(todo) > 0 {
		f.state.wait(f.place, todo[0].at, f.progress.Left)
	}
	done, left, failed := f.archiveAll(ctx, in, todo)
	if failed != nil {
		if page, left = before(todo[done].end, page, left); len(page) == 0 || ctx.Err() != nil {
			return failed
		}
	}
	next, ok := after(f.progress, page, left)
	if !ok {
		return fmt.Errorf("%d executions could not be archived, the last one because: %s", len(f.progress.Left)+len(left), left[len(left)-1].Reason)
	}
	if !changes(&f.progress, page) {
		f.progress = next
	} else if err := f.store(ctx, next); err != nil {
		return errors.Join(failed, err)
	}
	f.next = page[len(page)-1].sequence + 1
	if failed != nil {
		f.state.wait(f.place, todo[done].at, f.progress.Left)
		return failed
	}
	f.state.wait(f.place, oldest(f.progress.Left), f.progress.Left)
	return nil
}

// store stores how far the namespace is archived. If another process has stored something, it is read anew.
func (f *follow) store(ctx context.Context, next progress.Progress) error {
	revision, err := f.records.Put(ctx, f.namespace, f.shard, next, f.revision)
	if err != nil {
		f.next = 0
		return err
	}
	f.progress, f.revision = next, revision
	return nil
}

// archiveAll archives some runs, in their order. It returns how many are done with, from the first one on, and which of those cannot be archived for a
// reason of their own. An error is why the next one is not done with, and others could not be, either.
func (f *follow) archiveAll(ctx context.Context, in *bucket, todo []due) (done int, left []progress.Left, err error) {
	all, errs := make([]progress.Left, len(todo)), make([]error, len(todo))
	var stop atomic.Bool
	group, limited := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, d := range todo {
		if stop.Load() {
			break
		}
		group.Go(func() error {
			if all[i], errs[i] = f.archiveOne(limited, in, d); errs[i] != nil {
				stop.Store(true)
			}
			if errors.Is(errs[i], errSilent) {
				return errs[i] // the others need not wait for the bucket
			}
			return nil
		})
	}
	silent := group.Wait()
	if done = slices.IndexFunc(errs, func(err error) bool { return err != nil }); done < 0 {
		return len(todo), only(all), nil
	}
	return done, only(all[:done]), cmp.Or(silent, errs[done])
}

// archiveOne archives a run. The result says if it cannot be archived for a reason of its own.
func (f *follow) archiveOne(ctx context.Context, in *bucket, d due) (left progress.Left, err error) {
	reason := d.unread
	if reason == "" {
		reason, err = f.attempt(ctx, in, schedule.Key{Namespace: f.namespace, ID: d.workflowID}, d.runID, d.end, false)
	}
	if reason == "" || err != nil {
		return left, err
	}
	f.log.WarnContext(ctx, "an execution is archived later, and kept until then",
		"namespace", f.namespace, "workflow_id", d.workflowID, "run_id", d.runID, "error", reason)
	return progress.Left{End: d.end, WorkflowID: d.workflowID, RunID: d.runID, Since: f.config.Now(), Reason: reason}, nil
}

// only returns the runs that are there.
func only(left []progress.Left) (all []progress.Left) {
	for _, one := range left {
		if one.End != 0 {
			all = append(all, one)
		}
	}
	return all
}

// retryLeft tries the runs again that were left behind, if it is time.
func (f *follow) retryLeft(ctx context.Context, in *bucket) error {
	if len(f.progress.Left) == 0 || f.config.Now().Before(f.retry) {
		return nil
	}
	f.retry = f.config.Now().Add(f.config.RetryEvery)
	var still []progress.Left
	for _, one := range f.progress.Left {
		reason, err := f.again(ctx, in, one)
		if err != nil {
			return err
		}
		if one.Reason = reason; reason != "" {
			still = append(still, one)
		}
	}
	if len(still) == len(f.progress.Left) {
		return nil
	}
	if err := f.store(ctx, retried(f.progress, still)); err != nil {
		return err
	}
	f.state.wait(f.place, oldest(f.progress.Left), f.progress.Left)
	return nil
}

// again archives a run that was left behind. If its entry could not be read, it is read again: a later release may know it.
func (f *follow) again(ctx context.Context, in *bucket, one progress.Left) (reason string, err error) {
	key, runIDs := schedule.Key{Namespace: f.namespace, ID: one.WorkflowID}, []string{one.RunID}
	if one.RunID == "" {
		names := f.config.Names
		m, err := f.bus.Next(ctx, names.JournalStream(f.shard), names.Journal(f.shard, key), one.End)
		if errors.Is(err, bus.ErrNone) || err == nil && m.Sequence != one.End {
			return f.missing(ctx, key, "", one.End, true)
		}
		if err != nil {
			return "", err
		}
		e := endings(names, []bus.Message{m})[0]
		if e.unread != "" {
			return e.unread, nil
		}
		runIDs = e.runIDs
	}
	for _, runID := range runIDs {
		if reason, err := f.attempt(ctx, in, key, runID, one.End, true); reason != "" || err != nil {
			return reason, err
		}
	}
	return "", nil
}

// oldest returns since when the first run has been left behind; the zero time if there is none.
func oldest(left []progress.Left) (first time.Time) {
	for i := range left {
		if first.IsZero() || left[i].Since.Before(first) {
			first = left[i].Since
		}
	}
	return first
}

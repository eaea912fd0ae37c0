package consistency

import (
	"context"

	"github.com/carillon-scheduler/carillon/internal/sleep"
)

// Rebuilt is what [Checker.Rebuild] has done.
type Rebuilt struct {
	// Schedules and Workflows are how many were looked at. Repaired is how many repairs were made.
	Schedules, Workflows, Repaired int
	// Left are the findings that were not mended, because that failed or must not be.
	Left []Finding
}

// Rebuild makes again what the streams of tasks and delayed messages have lost, of all schedules and workflows, while no pool runs ([Config.Rebuilt]). Nearly each of
// them may need something, so Rebuild does not collect what it finds: it looks once, and mends what it finds at once. Nothing can be on its way. What would change or remove something
// is confirmed by a second look after a pause. A repair that fails is tried again twice. If Rebuild fails, what it has mended stays so, and it may be called again.
func (c *Checker) Rebuild(ctx context.Context) (Rebuilt, error) {
	r := rebuilding{Checker: c}
	for shard := range c.config.Shards {
		n, found, err := c.lookAtShard(ctx, shard, "")
		if err != nil {
			return r.Rebuilt, err
		}
		r.Schedules += n
		r.take(ctx, found)
	}
	strays, err := c.lookAtQueues(ctx, "")
	if err != nil {
		return r.Rebuilt, err
	}
	r.take(ctx, strays)
	l := c.newLook(false)
	l.take = r.take
	if err := l.all(ctx, ""); err != nil {
		return r.Rebuilt, err
	}
	r.Workflows = l.count
	if r.doubtful, err = c.lookAgain(ctx, r.doubtful); err != nil {
		return r.Rebuilt, err
	}
	r.mendThese(ctx, r.doubtful)
	return r.Rebuilt, r.mendFailed(ctx)
}

// rebuilding is a Rebuild on its way.
type rebuilding struct {
	*Checker
	Rebuilt
	// doubtful are the findings that wait for a second look, failed those whose repair did not work.
	doubtful, failed []Finding
}

// take mends what needs no second look.
func (r *rebuilding) take(ctx context.Context, found []Finding) {
	var now []Finding
	for i := range found {
		switch f := &found[i]; {
		case f.mend == nil || !r.config.Mends(f):
			r.Left = append(r.Left, *f)
		case addsOnly(f.mend):
			now = append(now, *f)
		default:
			r.doubtful = append(r.doubtful, *f)
		}
	}
	r.mendThese(ctx, now)
}

// mendThese mends findings, and takes note of those for which that did not work.
func (r *rebuilding) mendThese(ctx context.Context, found []Finding) {
	r.mendAll(ctx, found)
	for i := range found {
		if found[i].Problem == "" {
			r.Repaired++
		} else {
			r.failed = append(r.failed, found[i])
		}
	}
}

// mendFailed tries again what has failed, because NATS elected a leader for example.
func (r *rebuilding) mendFailed(ctx context.Context) error {
	for range mendRounds - 1 {
		if len(r.failed) == 0 {
			break
		}
		if err := sleep.For(ctx, r.config.Pause); err != nil {
			return err
		}
		failed := r.failed
		r.failed = nil
		for i := range failed {
			failed[i].Problem = ""
		}
		r.mendThese(ctx, failed)
	}
	r.Left = append(r.Left, r.failed...)
	return ctx.Err()
}

// addsOnly reports whether a repair adds what is missing, and neither changes a record nor takes anything away.
func addsOnly(m mend) bool {
	switch m.(type) {
	case wakeGenerator, wakeInvoker, wakeBackfill, again, armDeadline, wakeExecution, storeTask, redoEntry, tellEnd:
		return true
	}
	return false
}

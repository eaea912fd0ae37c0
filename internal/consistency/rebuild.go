package consistency

import "context"

// Rebuilt is what [Checker.Rebuild] has done.
type Rebuilt struct {
	// Schedules and Workflows are how many were looked at. Repaired is how many findings were mended, and Left how many were not, because that failed or must not be.
	Schedules, Workflows, Repaired, Left int
}

// Rebuild makes again what the streams of tasks and delayed messages have lost, of all schedules and workflows, while no pool runs ([Config.Rebuilt]). Nearly each of
// them may need something, so Rebuild does not collect what it finds: it looks once, and mends what it finds at once. Nothing can be on its way. Only what would give something up
// is confirmed by a second look. If it fails, what it has mended stays so, and it may be called again.
func (c *Checker) Rebuild(ctx context.Context) (Rebuilt, error) {
	r := rebuilding{Checker: c}
	for shard := range c.config.Shards {
		n, found, err := c.lookAtShard(ctx, shard, "")
		if err != nil {
			return r.Rebuilt, err
		}
		r.Schedules += n
		r.mendNow(ctx, found)
	}
	strays, err := c.lookAtQueues(ctx, "")
	if err != nil {
		return r.Rebuilt, err
	}
	r.mendNow(ctx, strays)
	l := c.newLook(false)
	l.take = r.mendNow
	if err := l.all(ctx, ""); err != nil {
		return r.Rebuilt, err
	}
	r.Workflows = l.count
	r.doubtful, err = c.lookAgain(ctx, r.doubtful)
	if err != nil {
		return r.Rebuilt, err
	}
	c.mendAll(ctx, r.doubtful)
	r.count(r.doubtful)
	return r.Rebuilt, ctx.Err()
}

// rebuilding is a Rebuild on its way.
type rebuilding struct {
	*Checker
	Rebuilt
	// doubtful are the findings that wait for a second look.
	doubtful []Finding
}

// mendNow mends what needs no second look.
func (r *rebuilding) mendNow(ctx context.Context, found []Finding) {
	var now []Finding
	for i := range found {
		switch f := &found[i]; {
		case f.mend == nil || !r.config.Mends(f):
			r.Left++
		case addsOnly(f.mend):
			now = append(now, *f)
		default:
			r.doubtful = append(r.doubtful, *f)
		}
	}
	r.mendAll(ctx, now)
	r.count(now)
}

// count counts what was to be mended.
func (r *rebuilding) count(found []Finding) {
	for i := range found {
		if found[i].Problem == "" {
			r.Repaired++
		} else {
			r.Left++
		}
	}
}

// addsOnly reports whether a repair adds what is missing, and takes nothing away.
func addsOnly(m mend) bool {
	switch m.(type) {
	case wakeGenerator, wakeInvoker, wakeBackfill, again, putGenerator, armDeadline, wakeExecution, storeTask, redoEntry, tellEnd:
		return true
	}
	return false
}

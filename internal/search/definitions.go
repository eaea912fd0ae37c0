package search

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/subjects"
)

// definitions are the contents of the buckets of schedules. Queries wait for the definitions in them. The pools write the rest, thousands of
// times a second in a busy installation, and only the last record of each key matters, so that is read in larger steps.
type definitions struct {
	put *statements
	log *slog.Logger
}

func (d definitions) apply(ctx context.Context, tx *sql.Tx, s *source, found []bus.Message) error {
	w := writer{ctx: ctx, tx: tx, put: d.put, log: d.log}
	for i := range found {
		if err := w.apply(s.name, &found[i]); err != nil {
			return err
		}
	}
	return nil
}

func (d definitions) indexes() string { return indexes }

// share is small: under load the index would rather be behind than in the way.
func (d definitions) expire(context.Context, *database, time.Time) error { return nil }

func (d definitions) share() time.Duration { return 40 }

func (d definitions) batch() int { return 256 }

// buckets are the sources of schedules.
func (x *Index) buckets() (all []source) {
	for shard := range x.config.Shards {
		name := x.config.Names.StateBucket(shard)
		all = append(all, x.ofShard(shard, name, subjects.BucketStream(name)))
	}
	return all
}

// Await waits until the index has all changes of definitions that NATS had acknowledged before, whoever made them. It returns false if the
// limit passes or ctx ends first, if the leader of a bucket does not answer, or if the index is being built.
func (x *Index) Await(ctx context.Context, limit time.Duration) bool {
	return x.schedules.await(ctx, limit)
}

// latest reads the definitions that have changed, ahead of everything else. If they are many, it is faster to read everything.
func (d definitions) latest(ctx context.Context, f *follower) error {
	found := make([][]bus.Message, len(f.sources))
	var group errgroup.Group // one shard that does not answer must not stop the others
	for i := range f.sources {
		group.Go(func() (err error) {
			s := &f.sources[i]
			filter := subjects.BucketSubject(s.name, "*.*."+subjects.KindDefinition)
			found[i], err = s.newest(ctx, filter, max(s.ahead, s.cursor.sequence), few)
			return err
		})
	}
	failed := group.Wait()
	full := false
	for i := range f.sources {
		s := &f.sources[i]
		if len(found[i]) == 0 {
			continue
		}
		if err := f.store(ctx, s, found[i], nil); err != nil {
			return err
		}
		s.ahead = found[i][len(found[i])-1].Sequence
		for rest := len(found[i]) == few; rest && ctx.Err() == nil; full = true {
			var err error
			if rest, err = f.readBatch(ctx, s, f.index.config.Now(), true); err != nil {
				return err
			}
		}
	}
	if failed == nil && full {
		return d.latest(ctx, f)
	}
	return failed
}

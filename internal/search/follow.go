package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// maxPause bounds how long nothing is read.
	maxPause = 15 * time.Second
	// completeEvery is how often the database analyses its contents, for the sake of good plans. It also does so after firstLook
	// changes, and then each time after twice as many as before, up to lastLook.
	completeEvery       = 10 * time.Minute
	firstLook, lastLook = 1000, 1 << 17
	// maxGap is how long the streams may go unfollowed before the index is useless: traces of deleted records vanish after a
	// time.
	maxGap = subjects.TombstoneAge / 2
)

// errOutdated means that the index cannot be brought up to date.
var errOutdated = errors.New("the streams have moved on without it, or gone back")

// follower brings what is new in some streams into the database.
type follower struct {
	index *Index
	db    *database
	of    contents
	state *progress
	// sources are the streams.
	sources []source
	// reached are the times up to which the streams have been read. completed is when the database last analysed its contents.
	reached   []time.Time
	completed time.Time
	// changes counts the changes since then; look is the number after which the next analysis is due.
	changes, look int
}

// contents is what the streams of a follower are about: schedules or executions.
type contents interface {
	// apply stores messages of a stream within a transaction.
	apply(ctx context.Context, tx *sql.Tx, s *source, found []bus.Message) error
	// latest reads what queries wait for.
	latest(ctx context.Context, f *follower) error
	// indexes are the statements that make what queries need to be fast. They may run again.
	indexes() string
	// expire removes what is kept no longer.
	expire(ctx context.Context, db *database, now time.Time) error
	// share bounds the time for following: one part in so many.
	share() time.Duration
	// batch is how many messages are read and stored at once.
	batch() int
}

// source is how far a stream has been read.
type source struct {
	// place is that among the sources of the follower.
	place  int
	name   string
	stream string
	reader func() *bus.Reader
	leader func() jetstream.JetStream
	cursor cursor
	// ahead is the sequence up to which nothing is missing of what queries wait for, if that is beyond the cursor.
	ahead uint64
}

// newFollower reads from the database how far it has come.
func newFollower(ctx context.Context, x *Index, db *database, of contents, state *progress, sources []source) (*follower, error) {
	f := &follower{
		index: x, db: db, of: of, state: state, sources: sources, reached: make([]time.Time, len(sources)), look: firstLook,
	}
	for i := range f.sources {
		s := &f.sources[i]
		var err error
		if s.cursor, err = readCursor(ctx, db.writer, s.stream); err != nil {
			return nil, err
		}
		s.place = i
	}
	return f, nil
}

// ofShard returns a source that is the stream of a shard.
func (x *Index) ofShard(shard int, name, stream string) source {
	return source{
		name: name, stream: stream,
		reader: func() *bus.Reader { return x.readers.Of(shard) },
		leader: func() jetstream.JetStream { return x.config.Lanes.Of(shard, x.config.JS) },
	}
}

// run follows the streams until ctx ends, or until the index turns out to be useless.
func (f *follower) run(ctx context.Context) error {
	if err := f.untilDone(ctx, f.check); err != nil {
		return err
	}
	if err := f.untilDone(ctx, f.catchUp); err != nil {
		return err
	}
	for pause := f.index.config.Interval; ctx.Err() == nil; {
		if err := f.attend(ctx, pause); err != nil {
			return err
		}
		begin := time.Now() //permit:time.Now how long reading takes
		if err := f.untilDone(ctx, f.catchUp); err != nil {
			return err
		}
		f.index.log.DebugContext(ctx, "search index has caught up", "took", time.Since(begin))
		pause = max(f.index.config.Interval, min(time.Since(begin)*(f.of.share()-1), maxPause))
	}
	return nil
}

var errDamaged = errors.New("the file is damaged")

// untilDone retries something until it succeeds, ctx ends, or a retry would not help.
func (f *follower) untilDone(ctx context.Context, do func(context.Context) error) error {
	for {
		err := do(ctx)
		var stored storeError
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if errors.As(err, &stored) || errors.Is(err, errOutdated) || errors.Is(err, errDamaged) {
			return err
		}
		f.index.log.WarnContext(ctx, "search index cannot follow", "error", err)
		if err := f.attend(ctx, retryDelay); err != nil {
			return err
		}
	}
}

// storeError is an error of the database, as opposed to NATS.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

// catchUp reads everything that is new.
func (f *follower) catchUp(ctx context.Context) error {
	asked := f.index.config.Now()
	news, err := f.news(ctx)
	if err != nil {
		return err
	}
	for i := range f.sources {
		b := &f.sources[i]
		begin := asked
		if news[i] {
			begin = f.index.config.Now()
		}
		if gap := begin.Sub(b.cursor.current); b.cursor.sequence > 0 && gap > maxGap {
			return fmt.Errorf("%w: nobody has read %s for %s", errOutdated, b.name, gap.Round(time.Second))
		}
		if err := f.read(ctx, b, begin, news[i]); err != nil {
			return err
		}
		f.reached[i] = begin
	}
	if err := f.of.expire(ctx, f.db, asked); err != nil {
		return err
	}
	if err := f.complete(ctx); err != nil {
		return storeError{fmt.Errorf("complete the index: %w", err)}
	}
	for i, reached := range f.reached {
		f.state.status.update(i, func(s *shardStatus) { s.upTo = reached })
	}
	return nil
}

// complete completes the database, if that is due.
func (f *follower) complete(ctx context.Context) error {
	now := f.index.config.Now()
	if f.changes < f.look && now.Sub(f.completed) <= completeEvery {
		return nil
	}
	if err := f.db.complete(ctx, f.of.indexes()); err != nil {
		return err
	}
	if f.changes >= f.look {
		f.look = min(2*f.look, lastLook)
	}
	f.changes, f.completed = 0, now
	return nil
}

// news returns which streams have something new. It asks them all at once: mostly there is nothing, and waking up for each answer
// separately would be much of what an idle process does.
func (f *follower) news(ctx context.Context) ([]bool, error) {
	news := make([]bool, len(f.sources))
	group, ctx := errgroup.WithContext(ctx)
	for i := range f.sources {
		s := &f.sources[i]
		group.Go(func() error {
			found, _, err := s.reader().Since(ctx, s.stream, s.cursor.sequence, 1)
			news[i] = len(found) > 0
			return err
		})
	}
	return news, group.Wait()
}

// read reads one stream to its end, or notes that there is nothing new. If there is much to read, half of the time is left to others.
func (f *follower) read(ctx context.Context, s *source, begin time.Time, news bool) error {
	for {
		batch := time.Now() //permit:time.Now how long reading takes
		rest, err := f.readBatch(ctx, s, begin, news)
		if err != nil || !rest {
			return err
		}
		if err := f.attend(ctx, time.Since(batch)); err != nil {
			return err
		}
	}
}

// readBatch reads the next messages of a stream, and stores them together with the new cursor. Rest says that there may be more.
func (f *follower) readBatch(ctx context.Context, s *source, begin time.Time, news bool) (rest bool, err error) {
	var found []bus.Message
	if news {
		found, rest, err = s.reader().Since(ctx, s.stream, s.cursor.sequence, f.of.batch())
		if err != nil {
			return false, err
		}
	}
	next := s.cursor.after(found)
	if !rest || s.cursor.sequence == 0 {
		next.current = begin
	}
	if len(found) == 0 && next.current.Sub(s.cursor.stored) < maxGap/10 {
		s.cursor.current = next.current // the database need not know each time that there is nothing new
		return false, nil
	}
	next.stored = next.current
	if err := f.store(ctx, s, found, &next); err != nil {
		return false, err
	}
	s.cursor = next
	f.state.status.update(s.place, func(s *shardStatus) { s.read += uint64(len(found)) })
	return rest, nil
}

// store writes messages of a stream, and how far it has been read, into the database in one transaction.
func (f *follower) store(ctx context.Context, s *source, found []bus.Message, reached *cursor) error {
	// A transaction is short, and the driver starts a goroutine to watch each statement that can be canceled.
	ctx = context.WithoutCancel(ctx)
	err := f.db.write(ctx, func(tx *sql.Tx) error {
		if err := f.of.apply(ctx, tx, s, found); err != nil || reached == nil {
			return err
		}
		return writeCursor(ctx, tx, s.stream, *reached)
	})
	if err != nil {
		return storeError{fmt.Errorf("write the index: %w", err)}
	}
	f.changes += len(found)
	return nil
}

package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/internal/bus"
)

// cursor is how far a bucket has been read.
type cursor struct {
	// sequence is the sequence of the last message, and time its time of storage, by the clock of NATS.
	sequence uint64
	time     time.Time
	// current is when nothing was left to read, or when the first reading began, by the clock of this machine. What has been
	// deleted since has left a trace after the cursor, which stays for subjects.TombstoneAge. stored is the value of current in
	// the database.
	current, stored time.Time
}

// after returns the cursor at the end of some messages.
func (c cursor) after(found []bus.Message) cursor {
	if len(found) == 0 {
		return c
	}
	last := &found[len(found)-1]
	c.sequence = last.Sequence
	if t, err := time.Parse(time.RFC3339Nano, last.Header.Get("Nats-Time-Stamp")); err == nil {
		c.time = t
	}
	return c
}

func readCursor(ctx context.Context, db *sql.DB, shard int) (cursor, error) {
	var sequence, at, current int64
	err := db.QueryRowContext(ctx, "SELECT sequence, time, current FROM cursors WHERE shard = ?", shard).
		Scan(&sequence, &at, &current)
	if errors.Is(err, sql.ErrNoRows) {
		return cursor{}, nil
	}
	if err != nil {
		return cursor{}, fmt.Errorf("read the cursor of shard %d: %w", shard, err)
	}
	seen := time.UnixMicro(current)
	return cursor{uint64(sequence), time.Unix(0, at), seen, seen}, nil
}

func writeCursor(ctx context.Context, tx *sql.Tx, shard int, c cursor) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO cursors VALUES (?, ?, ?, ?) ON CONFLICT (shard) DO UPDATE
		SET sequence = excluded.sequence, time = excluded.time, current = excluded.current`,
		shard, int64(c.sequence), c.time.UnixNano(), c.current.UnixMicro())
	return err
}

// check finds buckets that have gone back since they were read, as after the restore of a backup: they end before the cursor, or
// what was stored after it has a lower sequence. It also finds out how much there is to read.
func (f *follower) check(ctx context.Context) error {
	for i := range f.buckets {
		b := &f.buckets[i]
		stream, err := f.index.config.JS.Stream(ctx, b.stream())
		if err != nil {
			return fmt.Errorf("look at bucket %s: %w", b.name, err)
		}
		state := stream.CachedInfo().State
		if state.LastSeq < b.cursor.sequence {
			return fmt.Errorf("%w: %s ends at %d, and had been read up to %d", errOutdated, b.name, state.LastSeq, b.cursor.sequence)
		}
		if err := f.checkTime(ctx, b); err != nil {
			return err
		}
		f.index.status.update(b.shard, func(s *shardStatus) { s.total = state.Msgs })
	}
	return nil
}

// checkTime reads the first message that was stored after the cursor's message.
func (f *follower) checkTime(ctx context.Context, b *bucket) error {
	if b.cursor.sequence == 0 {
		return nil
	}
	found, err := f.index.readers.Of(b.shard).From(ctx, b.stream(), b.cursor.time.Add(1))
	if err != nil {
		return err
	}
	if found != nil && found.Sequence <= b.cursor.sequence {
		return fmt.Errorf("%w: message %d of %s is newer than what was read", errOutdated, found.Sequence, b.name)
	}
	return nil
}

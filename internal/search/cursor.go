package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/internal/bus"
)

// cursor is how far a stream has been read.
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
	} else if !last.Time.IsZero() {
		c.time = last.Time
	}
	return c
}

func readCursor(ctx context.Context, db *sql.DB, stream string) (cursor, error) {
	var sequence, at, current int64
	err := db.QueryRowContext(ctx, "SELECT sequence, time, current FROM cursors WHERE stream = ?", stream).
		Scan(&sequence, &at, &current)
	if errors.Is(err, sql.ErrNoRows) {
		return cursor{}, nil
	}
	if err != nil {
		return cursor{}, fmt.Errorf("read the cursor of %s: %w", stream, err)
	}
	seen := time.UnixMicro(current)
	return cursor{uint64(sequence), time.Unix(0, at), seen, seen}, nil
}

func writeCursor(ctx context.Context, tx *sql.Tx, stream string, c cursor) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO cursors VALUES (?, ?, ?, ?) ON CONFLICT (stream) DO UPDATE
		SET sequence = excluded.sequence, time = excluded.time, current = excluded.current`,
		stream, int64(c.sequence), c.time.UnixNano(), c.current.UnixMicro())
	return err
}

// check finds streams that have gone back since they were read, as after the restore of a backup: they end before the cursor, or
// what was stored after it has a lower sequence. It also finds out how much there is to read.
func (f *follower) check(ctx context.Context) error {
	for i := range f.sources {
		s := &f.sources[i]
		stream, err := f.index.config.JS.Stream(ctx, s.stream)
		if err != nil {
			return fmt.Errorf("look at %s: %w", s.name, err)
		}
		state := stream.CachedInfo().State
		if state.LastSeq < s.cursor.sequence {
			return fmt.Errorf("%w: %s ends at %d, and had been read up to %d", errOutdated, s.name, state.LastSeq, s.cursor.sequence)
		}
		if err := checkTime(ctx, s); err != nil {
			return err
		}
		left := min(state.Msgs, state.LastSeq-s.cursor.sequence) // some may be gone
		f.state.status.update(s.place, func(s *shardStatus) { s.total = left })
	}
	return nil
}

// checkTime reads the first message that was stored after the cursor's message.
func checkTime(ctx context.Context, s *source) error {
	if s.cursor.sequence == 0 {
		return nil
	}
	found, err := s.reader().From(ctx, s.stream, s.cursor.time.Add(1))
	if err != nil {
		return err
	}
	if found != nil && found.Sequence <= s.cursor.sequence {
		return fmt.Errorf("%w: message %d of %s is newer than what was read", errOutdated, found.Sequence, s.name)
	}
	return nil
}

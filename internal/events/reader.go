package events

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/subjects"
)

// Reader reads the event history. Each answer uses a few short-lived consumers of the event stream, which are gone when it returns, and
// memory for the events of one page. It is immutable and safe for concurrent use.
//
// It leaves out repeats of an event within a page. It skips and counts entries that cannot be read.
type Reader struct {
	js    jetstream.JetStream
	names subjects.Names
}

// NewReader returns a reader that uses the connection of js.
func NewReader(js jetstream.JetStream, names subjects.Names) *Reader {
	return &Reader{js: js, names: names}
}

// Page returns the first limit events of a query after a sequence of the stream, or fewer if they are large; 0 means from the beginning. It
// reads at most limit + [Beside] entries for that, unless it has to leave out some. The error comes from NATS or from ctx.
func (r *Reader) Page(ctx context.Context, query Query, after uint64, limit int) (Page, error) {
	from := position{time: query.From}
	if after > 0 {
		from = position{sequence: after + 1}
	}
	c, err := r.open(ctx, &query, from, limit+1)
	if err != nil {
		return Page{}, err
	}
	defer c.close(ctx)
	found := newCollector()
	found.page.Next = after
	for {
		entry, ok, err := c.next(ctx)
		found.account(c)
		switch {
		case err != nil:
			return Page{}, err
		case !ok || !query.To.IsZero() && entry.Stored.After(query.To):
			return found.page, nil
		case entry.Stored.Before(query.From) || found.has(&entry):
			continue
		case found.isFull(limit):
			found.page.More = true
			return found.page, nil
		}
		found.add(entry)
	}
}

// Newest returns the last limit events of a query.
func (r *Reader) Newest(ctx context.Context, query Query, limit int) (Page, error) {
	return r.Before(ctx, query, 0, limit)
}

// Beside is how many entries, at most, a page reads beside its own.
const Beside = 2 * fetchSize

// Before returns the last limit events of a query before a sequence of the stream, or fewer if they are large; 0 means before its end. For
// the events before those, pass the sequence of the first entry. It reads at most 4 * limit + [Beside] entries for that, unless it has to
// leave out some.
func (r *Reader) Before(ctx context.Context, query Query, before uint64, limit int) (Page, error) {
	s, err := r.newSearch(ctx, query, before)
	if err != nil || s.empty() {
		return Page{}, err
	}
	// Counted entries may be repeats or unreadable. Then more are needed.
	read, bytes := 0, 0
	for want := uint64(limit); ; want *= 2 {
		start, first, err := s.find(ctx, want)
		if err != nil {
			return Page{}, err
		}
		page, err := r.between(ctx, &query, start, s.end, limit)
		if err != nil {
			return Page{}, err
		}
		read, bytes = read+page.Read, bytes+page.Bytes
		if len(page.Entries) < limit && !first && !page.More {
			continue
		}
		page.More, page.Read, page.Bytes = page.More || !first, read, bytes
		return page, nil
	}
}

// between returns the last limit events from a position to a sequence, inclusive. More says that it had others.
func (r *Reader) between(ctx context.Context, query *Query, from position, end uint64, limit int) (Page, error) {
	c, err := r.open(ctx, query, from, fetchSize)
	if err != nil {
		return Page{}, err
	}
	defer c.close(ctx)
	found := newCollector()
	for {
		entry, ok, err := c.next(ctx)
		found.account(c)
		switch {
		case err != nil:
			return Page{}, err
		case !ok || entry.Sequence > end || !query.To.IsZero() && entry.Stored.After(query.To):
			return found.page, nil
		case !entry.Stored.Before(query.From) && !found.has(&entry):
			found.add(entry)
			found.keepLast(limit)
		}
	}
}

// search looks for the place in the stream from which on a query has a certain number of events. The server can count the events after a
// sequence or a time, but it cannot read backwards from the end.
type search struct {
	reader *Reader
	query  Query
	// first and end are the range of sequences to search, both inclusive.
	first, end uint64
	// total counts the events of the query after its From. beyond counts those among them that come after the end or after its To.
	total, beyond uint64
}

func (r *Reader) newSearch(ctx context.Context, query Query, before uint64) (*search, error) {
	stream, err := r.js.Stream(ctx, r.names.EventStream())
	if err != nil {
		return nil, fmt.Errorf("events: read: %w", err)
	}
	state := stream.CachedInfo().State
	s := &search{reader: r, query: query, first: state.FirstSeq, end: state.LastSeq}
	if before > 0 && before <= s.end {
		s.end = before - 1
		if s.beyond, err = s.count(ctx, position{sequence: before}); err != nil {
			return nil, err
		}
	}
	if !query.To.IsZero() {
		late, err := s.count(ctx, position{time: query.To.Add(time.Nanosecond)})
		if err != nil {
			return nil, err
		}
		s.beyond = max(s.beyond, late)
	}
	s.total, err = s.count(ctx, position{time: query.From})
	return s, err
}

func (s *search) empty() bool { return s.total <= s.beyond || s.end < s.first }

// count returns how many events the query has from a position on.
func (s *search) count(ctx context.Context, from position) (uint64, error) {
	c, err := s.reader.open(ctx, &s.query, from, 1)
	if err != nil {
		return 0, err
	}
	defer c.close(ctx)
	return c.pending, nil
}

// within returns how many events there are from a sequence to the end.
func (s *search) within(ctx context.Context, from uint64) (uint64, error) {
	n, err := s.count(ctx, position{sequence: from})
	return n - min(n, s.beyond), err
}

// find returns a place after which there are at least want events, and not many times more. first says that there are none before it. It
// goes back from the end in growing steps, and halves the last step if that was too long.
func (s *search) find(ctx context.Context, want uint64) (start position, first bool, err error) {
	if s.total-s.beyond <= want {
		return position{time: s.query.From}, true, nil
	}
	few, at, n := s.end+1, s.end+1, uint64(0)
	for step := want; n < want && at > s.first; step *= 4 {
		few = at
		at = max(s.first, s.end+1-min(step, s.end))
		if n, err = s.within(ctx, at); err != nil {
			return position{}, false, err
		}
	}
	for n > 4*want+fetchSize && few-at > 1 {
		middle := at + (few-at)/2
		m, err := s.within(ctx, middle)
		if err != nil {
			return position{}, false, err
		}
		if m >= want {
			at, n = middle, m
		} else {
			few = middle
		}
	}
	return position{sequence: max(at, 1)}, at <= s.first, nil
}

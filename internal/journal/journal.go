// Package journal stores and reads the journals of workflow executions. A journal belongs to one workflow ID: it is a subject of the stream
// of its shard, and each message is an entry.
//
//   - [Journals.Append] adds an entry behind the last one that the caller knows. If another entry is there, it adds nothing and returns
//     [ErrConflict]. Each entry has an ID, so Append recognizes its own entry after a lost acknowledgement, and has one of two outcomes as
//     long as the caller waits: the entry is in the journal, or it never will be.
//   - [Journals.Last] asks the leader of the stream, so it sees every entry that has been acknowledged. Where the stream has one replica, it
//     reads that directly.
//   - [Journals.Read] and [Journals.ReadRun] read in batches, from any replica, up to an entry that the caller has learned of from the leader. Where a replica
//     lags behind, Read asks the leader.
//
// The package knows no execution and must never look into an entry. Only history, archival and internal/consistency import it. It may import schedule, subjects,
// internal/bus and internal/sleep.
package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// HeaderID is the header with the ID of an entry.
	HeaderID = "Carillon-Entry"
	// headerPrevious is the header with the sequence of the entry before, in decimal; the first entry has none. The header by which NATS compares it says the same, but a
	// mirror drops that.
	headerPrevious = "Carillon-Previous"
)

const (
	// batch is how many entries one answer of NATS has at most.
	batch = 1000
	// firstPause is the wait before an entry is sent again. It doubles up to maxPause.
	firstPause = 2 * time.Millisecond
	maxPause   = 250 * time.Millisecond
)

var (
	// ErrConflict: the journal has another entry at that place, and the new one is not in it.
	ErrConflict = errors.New("journal: another entry was faster")
	// ErrUnknown: the caller stopped waiting before NATS said whether the entry is stored.
	ErrUnknown = errors.New("journal: it is not known whether the entry is stored")
	// ErrNone: the journal has no entry.
	ErrNone = errors.New("journal: no entry")
)

// Journals are the journals of an installation. They are safe for concurrent use.
type Journals struct {
	bus   bus.Streams
	names subjects.Names
}

// Entry is one entry of a journal.
type Entry struct {
	// Sequence is where the entry is; Append does not need it.
	Sequence uint64
	// Previous is the sequence of the entry before it, as its message says; zero if it is the first one, or if the message does not say. Append does
	// not need it.
	Previous uint64
	// ID is of the choice of whoever appends the entry, and belongs to this entry alone.
	ID   string
	Data []byte
	// Ends says that a run ends with the entry, for those who follow the journal: see [subjects.HeaderEnds]. It is not read back.
	Ends bool
}

// New returns the journals that a bus reaches. The caller closes the bus.
func New(b bus.Streams, names subjects.Names) *Journals { return &Journals{b, names} }

// MaxEntry is how many bytes an entry of a key may have.
func (j *Journals) MaxEntry(key schedule.Key) int {
	const headers = 256
	return int(j.bus.MaxPayload()) - headers - len(j.names.Journal(0, key))
}

// Append adds an entry behind the one with the sequence last, or as the first if last is 0, and returns its sequence. The error is or wraps:
//
//   - [ErrConflict]: the entry is not in the journal and never will be.
//   - [ErrUnknown]: ctx ended too early. The entry may be in the journal, now or some seconds later.
//   - another error: NATS refuses the entry, for example because it is too large.
func (j *Journals) Append(ctx context.Context, shard int, key schedule.Key, last uint64, e Entry) (uint64, error) {
	subject := j.names.Journal(shard, key)
	sequence, err := j.bus.Append(ctx, entryMessage(subject, last, e))
	if err == nil || isFinal(err) {
		return sequence, err
	}
	return j.resolve(ctx, shard, subject, last, e, err)
}

func entryMessage(subject string, last uint64, e Entry) *nats.Msg {
	header := nats.Header{nats.ExpectedLastSubjSeqHdr: {strconv.FormatUint(last, 10)}, HeaderID: {e.ID}}
	if last > 0 {
		header[headerPrevious] = header[nats.ExpectedLastSubjSeqHdr]
	}
	if e.Ends {
		header[subjects.HeaderEnds] = []string{"1"}
	}
	return &nats.Msg{Subject: subject, Data: e.Data, Header: header}
}

// isFinal reports whether NATS has refused an entry for a reason that stays.
func isFinal(err error) bool {
	return errors.Is(err, nats.ErrMaxPayload) || bus.CodeOf(err) != 0 && !bus.IsWrongSequence(err) && !isPassing(err)
}

// isPassing reports whether a refusal is due to the state of the cluster.
func isPassing(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) && refused.Code >= 500
}

// resolve finds out what has become of an entry that was refused, or not acknowledged. The next entry behind last tells: it is this one
// or another. If the journal has been purged, the entry never will be in it. Otherwise the entry is sent again. That is safe, because the stream
// takes only one entry that expects last.
//
// A stream with several replicas may refuse an entry that expects the right sequence, so a refusal alone does not tell.
func (j *Journals) resolve(
	ctx context.Context, shard int, subject string, last uint64, e Entry, reason error,
) (sequence uint64, err error) {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		next, err := j.bus.Next(ctx, j.names.JournalStream(shard), subject, last+1)
		switch {
		case err == nil && next.Header.Get(HeaderID) == e.ID:
			return next.Sequence, nil
		case err == nil, errors.Is(err, bus.ErrNone) && last > 0 && j.isPurged(ctx, shard, subject):
			return 0, fmt.Errorf("%w: %s after %d", ErrConflict, subject, last)
		}
		if sleep.For(ctx, pause) != nil {
			return 0, fmt.Errorf("%w: %s after %d: %w", ErrUnknown, subject, last, reason)
		}
		if !errors.Is(err, bus.ErrNone) {
			continue // the leader does not answer
		}
		sequence, err = j.bus.Append(ctx, entryMessage(subject, last, e))
		if err == nil || isFinal(err) {
			return sequence, err
		}
		reason = err
	}
}

// isPurged reports whether a journal has no entry, so that none can follow on another one.
func (j *Journals) isPurged(ctx context.Context, shard int, subject string) bool {
	_, err := j.bus.Last(ctx, j.names.JournalStream(shard), subject)
	return errors.Is(err, bus.ErrNone)
}

// Last returns the last entry of a journal, as the leader of the stream knows it; ErrNone if there is none.
func (j *Journals) Last(ctx context.Context, shard int, key schedule.Key) (Entry, error) {
	m, err := j.bus.Latest(ctx, j.names.JournalStream(shard), j.names.Journal(shard, key))
	if errors.Is(err, bus.ErrNone) {
		return Entry{}, fmt.Errorf("%w: %s/%s", ErrNone, key.Namespace, key.ID)
	}
	return EntryOf(m), err
}

// EntryOf returns the entry that a message of a journal is.
func EntryOf(m bus.Message) Entry {
	said := m.Header.Get(headerPrevious)
	if said == "" {
		said = m.Header.Get(nats.ExpectedLastSubjSeqHdr) // of an earlier release
	}
	previous, _ := strconv.ParseUint(said, 10, 64) // without a header it is not known
	return Entry{Sequence: m.Sequence, Previous: previous, ID: m.Header.Get(HeaderID), Data: m.Data}
}

// Read calls each for the entries of a journal with sequences of from to through, in their order, until it returns an error or false. The
// journal must have had an entry with the sequence through. If the journal is purged meanwhile, the error wraps ErrNone.
func (j *Journals) Read(
	ctx context.Context, shard int, key schedule.Key, from, through uint64, each func(Entry) (more bool, err error),
) error {
	stream, subject := j.names.JournalStream(shard), j.names.Journal(shard, key)
	for from = max(from, 1); from <= through; {
		found, err := j.some(ctx, stream, subject, from)
		if err != nil {
			return err
		}
		for _, m := range found {
			if m.Sequence > through {
				return nil
			}
			if more, err := each(EntryOf(m)); err != nil || !more {
				return err
			}
			from = m.Sequence + 1
		}
	}
	return nil
}

const (
	// apart is how far apart two entries of a journal may be, in messages of their stream, until NATS needs longer to find the next one than to return one whose
	// sequence is known: it looks at every message between them that is stored in the same block.
	apart = 500
	// few is how many entries are worth the questions for each.
	few = 12
)

// ReadRun is Read from the sequence first to an entry that the caller has. short says that there may be some ten entries at most: then they are read from the
// last one back, one by one, where they lie far apart.
func (j *Journals) ReadRun(
	ctx context.Context, shard int, key schedule.Key, first uint64, last Entry, short bool, each func(Entry) (more bool, err error),
) error {
	if short && last.Sequence > first && last.Sequence-first > apart {
		if all := j.back(ctx, shard, key, first, last); all[len(all)-1].Sequence == first {
			for _, e := range slices.Backward(all) {
				if more, err := each(e); err != nil || !more {
					return err
				}
			}
			return nil
		}
	}
	return j.Read(ctx, shard, key, first, last.Sequence, each)
}

// back returns an entry and those before it, down to the sequence first, the newest first. If one cannot be read, it returns those after it.
func (j *Journals) back(ctx context.Context, shard int, key schedule.Key, first uint64, last Entry) []Entry {
	stream, subject := j.names.JournalStream(shard), j.names.Journal(shard, key)
	found := []Entry{last}
	for len(found) < few {
		e := found[len(found)-1]
		if e.Sequence <= first || e.Previous < first || e.Previous >= e.Sequence {
			break
		}
		m, err := j.bus.At(ctx, stream, e.Previous)
		if err != nil || m.Subject != subject {
			break
		}
		found = append(found, EntryOf(m))
	}
	return found
}

// some returns one entry or more. It asks the leader if a replica does not know of any.
func (j *Journals) some(ctx context.Context, stream, subject string, from uint64) ([]bus.Message, error) {
	found, err := j.bus.Subject(ctx, stream, subject, from, batch)
	if err == nil && len(found) > 0 {
		return found, nil
	}
	m, err := j.bus.Next(ctx, stream, subject, from)
	if errors.Is(err, bus.ErrNone) {
		return nil, fmt.Errorf("%w: %s from %d", ErrNone, subject, from)
	}
	return []bus.Message{m}, err
}

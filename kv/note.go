package kv

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Note is what the trace of a deleted record says.
type Note struct {
	// Runs is what becomes of the runs of a schedule, if it is the definition that was deleted. It may be empty.
	Runs schedule.RunsPolicy
	// Deletion is which schedule was deleted, and by which request; nil where that is not to be remembered.
	Deletion *wire.Deletion
	// Closed is the incarnation of the schedule, if it is the definition that was deleted, and a generator has closed the schedule since
	// it was idle.
	Closed string
}

// The headers of the trace of a deleted record that bear its note. The second one has an incarnation and a request ID, which is
// escaped as in the query of a URL, with a blank between them. The third one has an incarnation.
const (
	runsHeader     = "Carillon-Note"
	deletionHeader = "Carillon-Deletion"
	closedHeader   = "Carillon-Closed"
)

// AddTo adds the note to the headers of a trace.
func (n Note) AddTo(header nats.Header) {
	if n.Runs != "" {
		header.Set(runsHeader, string(n.Runs))
	}
	if d := n.Deletion; d != nil {
		header.Set(deletionHeader, d.Incarnation+" "+url.QueryEscape(d.RequestID))
	}
	if n.Closed != "" {
		header.Set(closedHeader, n.Closed)
	}
}

// NoteIn returns the note in the headers of a trace.
func NoteIn(header nats.Header) Note {
	note := Note{Runs: schedule.RunsPolicy(header.Get(runsHeader)), Closed: header.Get(closedHeader)}
	incarnation, escaped, found := strings.Cut(header.Get(deletionHeader), " ")
	if requestID, err := url.QueryUnescape(escaped); found && err == nil {
		note.Deletion = &wire.Deletion{Incarnation: incarnation, RequestID: requestID}
	}
	return note
}

// Trace reads the trace of a deleted record: what was noted, and the revision at which the record was deleted, at which [Put]
// writes over it. Revision 0 means that the record was deleted more than subjects.TombstoneAge ago, or never, or is there. The error
// is one of NATS.
func Trace[T any](ctx context.Context, s *Store, key Key[T]) (Record[Note], error) {
	watch := begin(ctx, opGetLeader)
	note, revision, err := s.buckets.Trace(ctx, s.bucket(key.schedule), key.name)
	watch.end(ctx, err)
	if err != nil {
		return Record[Note]{}, fmt.Errorf("kv: read the trace of %s: %w", key.name, err)
	}
	return Record[Note]{Value: note, Revision: revision}, nil
}

// LastDeletion returns the last deletion of a schedule of an ID, as far as [LastEnding] knows; nil otherwise, and where the request
// had no ID. The error is one of NATS.
func LastDeletion(ctx context.Context, s *Store, key schedule.Key) (*wire.Deletion, error) {
	ending, err := LastEnding(ctx, s, key)
	return ending.Deletion, err
}

// Ending is what is remembered of how schedules of an ID have ended.
type Ending struct {
	// Deletion is the last deletion by a request that had an ID; nil if there is none.
	Deletion *wire.Deletion
	// Closed is the incarnation of the last schedule that is gone, if it was closed since it was idle; else empty.
	Closed string
}

// LastEnding returns how the last schedules of an ID have ended, as far as that is remembered: for subjects.TombstoneAge, and
// for as long as the next schedule of the ID exists that was created within that time. The error is one of NATS.
func LastEnding(ctx context.Context, s *Store, key schedule.Key) (Ending, error) {
	for last := false; ; last = true {
		definition, err := GetLeader(ctx, s, Definition(key))
		if err == nil {
			return Ending{definition.Value.Predecessor, definition.Value.PredecessorClosed}, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return Ending{}, err
		}
		trace, err := Trace(ctx, s, Definition(key))
		if err != nil || trace.Revision != 0 || last {
			return Ending{trace.Value.Deletion, trace.Value.Closed}, err
		}
		// There is no trace, or the next schedule has just been created over it, and has taken along what it said.
	}
}

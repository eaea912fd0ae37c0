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

// Note is the content of the trace of a deleted record.
type Note struct {
	// Deletion says which schedule was deleted, by which request, and what becomes of its runs, if the deleted record is a definition; nil if nobody
	// needs to remember that.
	Deletion *wire.Deletion
	// Closed is the incarnation of the schedule, if the deleted record is a definition and a generator closed the schedule because it
	// was idle.
	Closed string
}

// The headers that carry the note in the trace of a deleted record. The second one has an incarnation and a request ID, separated by a
// blank; the request ID is escaped as in the query of a URL. The third one has an incarnation.
const (
	runsHeader     = "Carillon-Note"
	deletionHeader = "Carillon-Deletion"
	closedHeader   = "Carillon-Closed"
)

// AddTo adds the note to the headers of a trace.
func (n Note) AddTo(header nats.Header) {
	if d := n.Deletion; d != nil {
		header.Set(runsHeader, string(d.Runs))
		header.Set(deletionHeader, d.Incarnation+" "+url.QueryEscape(d.RequestID))
	}
	if n.Closed != "" {
		header.Set(closedHeader, n.Closed)
	}
}

// NoteIn returns the note in the headers of a trace.
func NoteIn(header nats.Header) Note {
	note := Note{Closed: header.Get(closedHeader)}
	runs := schedule.RunsPolicy(header.Get(runsHeader))
	incarnation, escaped, found := strings.Cut(header.Get(deletionHeader), " ")
	requestID, err := url.QueryUnescape(escaped)
	switch {
	case found && err == nil:
		note.Deletion = &wire.Deletion{Incarnation: incarnation, RequestID: requestID, Runs: runs}
	case runs != "": // the request has no ID; an earlier release did not say of which schedule either
		note.Deletion = &wire.Deletion{Incarnation: incarnation, Runs: runs}
	}
	return note
}

// Trace reads the trace of a deleted record: its note, and the revision of the deletion, at which [Put] overwrites the trace. Revision 0
// means that there is no trace: the record exists, was never deleted, or was deleted more than subjects.TombstoneAge ago. The error is an
// error of NATS.
func Trace[T any](ctx context.Context, s *Store, key Key[T]) (Record[Note], error) {
	watch := begin(ctx, opGetLeader)
	note, revision, err := s.buckets.Trace(ctx, s.bucket(key.schedule), key.name)
	watch.end(ctx, err)
	if err != nil {
		return Record[Note]{}, fmt.Errorf("kv: read the trace of %s: %w", key.name, err)
	}
	return Record[Note]{Value: note, Revision: revision}, nil
}

// LastDeletion returns the last deletion of a schedule with this ID, as far as [LastEnding] knows it. It returns nil if there is none. The error
// is an error of NATS.
func LastDeletion(ctx context.Context, s *Store, key schedule.Key) (*wire.Deletion, error) {
	ending, err := LastEnding(ctx, s, key)
	return ending.Deletion, err
}

// LastEnding returns the note about how the last schedules with this ID ended. The store remembers an end for subjects.TombstoneAge. If the next schedule
// with the ID is created within that time, the store remembers the end as long as that schedule exists. The error is an error of NATS.
func LastEnding(ctx context.Context, s *Store, key schedule.Key) (Note, error) {
	for last := false; ; last = true {
		definition, err := GetLeader(ctx, s, Definition(key))
		if err == nil {
			return Note{definition.Value.Predecessor, definition.Value.PredecessorClosed}, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return Note{}, err
		}
		trace, err := Trace(ctx, s, Definition(key))
		if err != nil || trace.Revision != 0 || last {
			return trace.Value, err
		}
		// There is no trace, or the next schedule was just created over it and has taken over its note.
	}
}

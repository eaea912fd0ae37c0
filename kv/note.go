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
	// Runs says what happens to the runs of the schedule, if the deleted record is a definition. It may be empty.
	Runs schedule.RunsPolicy
	// Deletion says which schedule was deleted and by which request; nil if nobody needs to remember that.
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

// LastDeletion returns the last deletion of a schedule with this ID, as far as [LastEnding] knows it. It returns nil if there is none, or
// if the request had no ID. The error is an error of NATS.
func LastDeletion(ctx context.Context, s *Store, key schedule.Key) (*wire.Deletion, error) {
	ending, err := LastEnding(ctx, s, key)
	return ending.Deletion, err
}

// Ending is what the store remembers about the end of schedules with one ID.
type Ending struct {
	// Deletion is the last deletion by a request that had an ID; nil if there is none.
	Deletion *wire.Deletion
	// Closed is the incarnation of the last schedule that is gone, if it was closed because it was idle; else empty.
	Closed string
}

// LastEnding returns how the last schedules with this ID ended. The store remembers an end for subjects.TombstoneAge. If the next schedule
// with the ID is created within that time, the store remembers the end as long as that schedule exists. The error is an error of NATS.
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
		// There is no trace, or the next schedule was just created over it and has taken over its note.
	}
}

package replica

import (
	"context"
	"fmt"
	"time"
)

// sinceRequest is a direct get of several messages in the order of their sequences.
type sinceRequest struct {
	Sequence uint64 `json:"seq"`
	Batch    int    `json:"batch"`
	MaxBytes int    `json:"max_bytes"`
}

// Since returns the messages of a stream that have a sequence greater than after, in the order of their sequences, at most
// limit. What has been replaced meanwhile is passed over. Rest says that there are more. A replica that lags behind, after
// what another has answered, returns none.
func (r *Reader) Since(ctx context.Context, stream string, after uint64, limit int) (found []Message, rest bool, err error) {
	a, err := r.ask(ctx, stream, sinceRequest{after + 1, limit, maxBytes})
	if err == nil {
		found, rest, err = a.resultSince()
	}
	if err != nil {
		return nil, false, fmt.Errorf("replica: read %s after %d: %w", stream, after, err)
	}
	return found, rest, nil
}

// resultSince is result, but for an answer without messages: it says that none could be read, and means that none is left.
func (a *answer) resultSince() (found []Message, rest bool, err error) {
	if len(a.parts) == 1 && a.parts[0].Header.Get(headerStatus) == statusNone {
		return nil, false, nil
	}
	return a.result()
}

// fromRequest is a direct get of the first message that was stored at a time or later.
type fromRequest struct {
	StartTime time.Time `json:"start_time"`
	Batch     int       `json:"batch"`
}

// From returns the first message of a stream that was stored at a time or later, by the clock of NATS; nil if there is none.
func (r *Reader) From(ctx context.Context, stream string, t time.Time) (*Message, error) {
	a, err := r.ask(ctx, stream, fromRequest{t, 1})
	var found []Message
	if err == nil {
		found, _, err = a.resultSince()
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("replica: read %s from %s: %w", stream, t.UTC().Format(time.RFC3339Nano), err)
	case len(found) == 0:
		return nil, nil
	}
	return &found[0], nil
}

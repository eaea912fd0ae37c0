package bus

import (
	"context"
	"fmt"
)

// batchRequest is a direct get of the messages of a subject at or after a sequence.
type batchRequest struct {
	Sequence uint64 `json:"seq"`
	Next     string `json:"next_by_subj"`
	Batch    int    `json:"batch"`
	MaxBytes int    `json:"max_bytes"`
}

// Subject returns the first messages of a subject with sequences of from, which is 1 or more, and on, in their order: at most limit, which
// is 2 or more, and about a megabyte. All come from one replica. A replica that lags behind returns fewer, or none.
func (r *Reader) Subject(ctx context.Context, stream, subject string, from uint64, limit int) ([]Message, error) {
	found, err := r.subject(ctx, stream, batchRequest{from, subject, limit, maxBytes})
	if err != nil {
		return nil, fmt.Errorf("bus: read %s of %s from %d: %w", subject, stream, from, err)
	}
	return found, nil
}

func (r *Reader) subject(ctx context.Context, stream string, get batchRequest) ([]Message, error) {
	a, err := r.ask(ctx, stream, several, get)
	if err != nil {
		return nil, err
	}
	last := len(a.parts) - 1
	switch end := a.parts[last]; statusOf(end) {
	case statusEnd:
		found, _, err := directMessages(a.parts[:last], end)
		return found, err
	case statusNone:
		return nil, nil
	default:
		return nil, directRefusal(end)
	}
}

// atRequest is a direct get of the message at a sequence.
type atRequest struct {
	Sequence uint64 `json:"seq"`
}

// At returns the message at a sequence of a stream, which is 1 or more, as one replica knows it. The error is ErrNone if that has none.
func (r *Reader) At(ctx context.Context, stream string, sequence uint64) (Message, error) {
	return r.needed(ctx, stream, fmt.Sprintf("%d of %s", sequence, stream), atRequest{sequence})
}

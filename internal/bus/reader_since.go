package bus

import (
	"context"
	"fmt"
	"time"
)

// maxSide is how many messages Since asks for in parallel.
const maxSide = 64

// nextRequest is a direct get of the first message at or after a sequence or a time. The server could also answer with a batch of
// messages, but then it first counts the messages that are left. For that it walks through all subjects of the stream, and reads nothing
// else from the connection meanwhile.
type nextRequest struct {
	Sequence  uint64     `json:"seq,omitempty"`
	StartTime *time.Time `json:"start_time,omitempty"`
	Next      string     `json:"next_by_subj"`
}

// Since returns at most limit messages of a stream with sequences greater than after, in the order of their sequences. It skips messages
// that were replaced meanwhile. Rest says that there may be more messages. A replica that lags behind an earlier answer returns none.
func (r *Reader) Since(ctx context.Context, stream string, after uint64, limit int) (found []Message, rest bool, err error) {
	ctx, cancel := ForAnswer(ctx)
	defer cancel()
	rest = true
	for side := 1; rest && len(found) < limit; side = min(2*side, maxSide) {
		var more []Message
		more, rest, err = r.side(ctx, stream, after+1, min(side, limit-len(found)))
		if err != nil {
			return nil, false, fmt.Errorf("bus: read %s after %d: %w", stream, after, err)
		}
		if found = append(found, more...); len(found) > 0 {
			after = found[len(found)-1].Sequence
		}
	}
	return found, rest, nil
}

// side asks in parallel for the first message at or after each of several consecutive sequences. Rest says that there is a message at or
// after the last of them.
func (r *Reader) side(ctx context.Context, stream string, from uint64, sequences int) (found []Message, rest bool, err error) {
	answers := make([]*directAnswer, 0, sequences)
	defer func() {
		for _, a := range answers {
			r.forget(a)
		}
	}()
	for i := range sequences {
		a, err := r.send(stream, single, nextRequest{Sequence: from + uint64(i), Next: ">"})
		if err != nil {
			return nil, false, err
		}
		answers = append(answers, a)
	}
	for _, a := range answers {
		if err := a.wait(ctx); err != nil {
			return nil, false, err
		}
		switch m, err := a.message(); {
		case err != nil:
			return nil, false, err
		case m == nil:
			// Ignore the later answers: they may come from a replica that knows more, and the messages in between would be missing.
			return found, false, nil
		case len(found) == 0 || m.Sequence > found[len(found)-1].Sequence:
			found = append(found, *m)
		}
	}
	return found, true, nil
}

// From returns the first message of a stream that was stored at a time or later, by the clock of NATS, or nil if there is none.
func (r *Reader) From(ctx context.Context, stream string, t time.Time) (*Message, error) {
	found, err := r.one(ctx, stream, nextRequest{StartTime: &t, Next: ">"})
	if err != nil {
		return nil, fmt.Errorf("bus: read %s from %s: %w", stream, t.UTC().Format(time.RFC3339Nano), err)
	}
	return found, nil
}

// one sends a direct get of one message. It returns nil if there is none.
func (r *Reader) one(ctx context.Context, stream string, get any) (*Message, error) {
	a, err := r.ask(ctx, stream, single, get)
	if err != nil {
		return nil, err
	}
	return a.message()
}

// needed is one, and what says which message it is. The error is ErrNone if there is none.
func (r *Reader) needed(ctx context.Context, stream, what string, get any) (Message, error) {
	found, err := r.one(ctx, stream, get)
	switch {
	case err != nil:
		return Message{}, fmt.Errorf("bus: read %s: %w", what, err)
	case found == nil:
		return Message{}, fmt.Errorf("%w: %s", ErrNone, what)
	}
	return *found, nil
}

// message is the message of a single answer, or nil if there is none.
func (a *directAnswer) message() (*Message, error) {
	part := a.parts[0]
	switch statusOf(part) {
	case "":
		m, err := directMessage(part)
		return &m, err
	case statusNone:
		return nil, nil
	default:
		return nil, directRefusal(part)
	}
}

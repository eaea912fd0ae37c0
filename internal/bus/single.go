package bus

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// singleAge is how long NATS's answer about the replicas of a stream is trusted. An operator may add replicas in that time, but new
// replicas answer reads only after they have caught up.
const singleAge = 10 * time.Second

// Single knows whether a stream has one replica, which is its leader and may be read directly: that costs half of a request to a leader. The
// zero value knows nothing yet. It is safe for concurrent use.
type Single struct {
	known  atomic.Pointer[replicas]
	asking sync.Mutex
}

// replicas is an answer of NATS, and until when it is trusted.
type replicas struct {
	single bool
	until  time.Time
}

// Is reports whether the stream has one replica, as far as is known. Now and then one caller asks NATS, by the function ask, which returns the number of
// replicas; the other callers do not wait for the answer.
func (s *Single) Is(ctx context.Context, ask func(context.Context) (int, error)) bool {
	known := s.known.Load()
	if known != nil && time.Now().Before(known.until) { //permit:time.Now the age of an answer of NATS
		return known.single
	}
	if !s.asking.TryLock() {
		return false
	}
	defer s.asking.Unlock()
	limited, cancel := ForAnswer(ctx)
	defer cancel()
	count, err := ask(limited)
	if err != nil {
		return false
	}
	until := time.Now().Add(singleAge) //permit:time.Now the age of an answer of NATS
	s.known.Store(&replicas{single: count == 1, until: until})
	return count == 1
}

// lastRequest is a direct get of the last message of a subject.
type lastRequest struct {
	Last string `json:"last_by_subj"`
}

// Latest implements [Streams].
func (b *NATS) Latest(ctx context.Context, stream, subject string) (Message, error) {
	if b.isSingle(ctx, stream) {
		if m, err := b.reader.newest(ctx, stream, subject); err == nil || errors.Is(err, ErrNone) {
			return m, err
		} // whatever is wrong there, the API of JetStream may know more
	}
	return LeaderLast(ctx, b.js, stream, subject)
}

// isSingle reports whether a stream has one replica.
func (b *NATS) isSingle(ctx context.Context, stream string) bool {
	of, known := b.singles.Load(stream)
	if !known {
		of, _ = b.singles.LoadOrStore(stream, &Single{})
	}
	return of.(*Single).Is(ctx, func(ctx context.Context) (int, error) {
		s, err := b.js.Stream(ctx, stream)
		if err != nil {
			return 0, err
		}
		return s.CachedInfo().Config.Replicas, nil
	})
}

// newest returns the last message of a subject, as one replica knows it. The error is ErrNone if there is none.
func (r *Reader) newest(ctx context.Context, stream, subject string) (Message, error) {
	return r.needed(ctx, stream, subject, lastRequest{subject})
}

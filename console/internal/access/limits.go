package access

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// A user, a name by a proxy, or a network of whom nobody knows may send requestsPerSecond, and requestsAtOnce more after a pause. That is enough for 200
	// people who look at pages as the same user: a page asks for its changes every two seconds at most.
	requestsPerSecond = 100
	requestsAtOnce    = 400
	// A network may fail to log in loginsAtOnce times, and once more every loginPause. Attempts that have not ended count as failed.
	loginsAtOnce = 10
	loginPause   = 5 * time.Second
	// maxStreams is how many live streams of events one user may have, and maxStreamsOfOwner all users with the same [callers.Client.Owner] together:
	// each stream keeps a connection.
	maxStreams        = 50
	maxStreamsOfOwner = 500
	// maxBuckets is how many senders are told apart. All others count as one.
	maxBuckets = 4096
)

// limiter bounds how fast each sender may do something. It is safe for concurrent use.
type limiter struct {
	every rate.Limit
	burst int

	mu sync.Mutex
	of map[any]*rate.Limiter
}

func newLimiter(every rate.Limit, burst int) *limiter {
	return &limiter{every: every, burst: burst, of: map[any]*rate.Limiter{}}
}

// allow reports whether a sender may do it now, and otherwise how long to wait: whole seconds. undo lets it count no more.
func (l *limiter) allow(sender any, now time.Time) (wait time.Duration, undo func(), allowed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	bucket := l.of[sender]
	if bucket == nil {
		bucket = l.enter(sender, now)
	}
	one := bucket.ReserveN(now, 1)
	if delay := one.DelayFrom(now); delay > 0 {
		one.CancelAt(now)
		return time.Duration(max(1, math.Ceil(delay.Seconds()))) * time.Second, nil, false
	}
	return 0, func() { one.CancelAt(now) }, true
}

// enter makes room for another sender. Those who may do as much as at first are forgotten.
func (l *limiter) enter(sender any, now time.Time) *rate.Limiter {
	if len(l.of) >= maxBuckets {
		for other, bucket := range l.of {
			if bucket.TokensAt(now) >= float64(l.burst) {
				delete(l.of, other)
			}
		}
	}
	if len(l.of) >= maxBuckets {
		sender = nil
	}
	if l.of[sender] == nil {
		l.of[sender] = rate.NewLimiter(l.every, l.burst)
	}
	return l.of[sender]
}

// streams counts live streams by their users, and by the owners of these. The zero value is ready. It is safe for concurrent use.
type streams struct {
	mu sync.Mutex
	of map[any]int
}

// owner is who stands behind a user, and has streams of its own limit.
type owner string

// enter begins a stream, unless its user or the owner has too many. leave must follow.
func (s *streams) enter(user any, of owner) (leave func(), allowed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[user] >= maxStreams || s.of[of] >= maxStreamsOfOwner {
		return nil, false
	}
	if s.of == nil {
		s.of = map[any]int{}
	}
	s.of[user]++
	s.of[of]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, one := range []any{user, of} {
			if s.of[one]--; s.of[one] == 0 {
				delete(s.of, one)
			}
		}
	}, true
}

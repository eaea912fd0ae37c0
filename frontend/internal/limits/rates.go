package limits

import (
	"cmp"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/carillon-scheduler/carillon/schedule"
)

// longestWait is the longest time that a refused caller is told to wait, unless that would be in vain. Hardly anybody waits longer.
const longestWait = 10 * time.Second

// rateLimits holds the requests of each namespace to this frontend's share of the limit, and counts them. It is safe for concurrent use.
type rateLimits struct {
	mu sync.Mutex
	of map[string]*rateLimit
}

// rateLimit is the share of one namespace.
type rateLimit struct {
	// limiter is nil where there is no limit; share is what it was last set to.
	limiter *rate.Limiter
	share   share
	// promised is when the last of the refused callers comes again, if all of them wait as long as they were told.
	promised time.Time
	counts   requests
	// recent are the requests that were accepted between the last two beats.
	recent int
}

// share is what one frontend may accept: requests in a second, and at once.
type share struct {
	perSecond float64
	burst     int
}

func newRateLimits() *rateLimits { return &rateLimits{of: map[string]*rateLimit{}} }

// shareOf divides the limit of a namespace among frontends. Each may accept at least one request at once, or it could never
// accept any.
func shareOf(limits *schedule.NamespaceLimits, frontends int) share {
	burst := cmp.Or(limits.RequestBurst, int(math.Ceil(limits.RequestsPerSecond)))
	return share{
		perSecond: limits.RequestsPerSecond / float64(frontends),
		burst:     max(burst/frontends, 1),
	}
}

// admit counts a request, or refuses it with the time after which it would be accepted.
func (l *rateLimits) admit(namespace *schedule.Namespace, frontends int, now time.Time) *schedule.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := l.of[namespace.Name]
	if limit == nil {
		limit = &rateLimit{}
		l.of[namespace.Name] = limit
	}
	wait := limit.take(shareOf(&namespace.Limits, frontends), now)
	if wait > 0 {
		limit.counts.Refused++
		return errTooFast(namespace, wait)
	}
	limit.counts.Accepted++
	return nil
}

// take takes a request from the share, or returns how long to wait. Refused callers are told to come one after the other: if they came at
// the same time, all but one would be refused again.
func (l *rateLimit) take(s share, now time.Time) time.Duration {
	switch {
	case s.perSecond == 0:
		l.limiter, l.share = nil, s
		return 0
	case l.limiter == nil:
		l.limiter = rate.NewLimiter(rate.Limit(s.perSecond), s.burst)
	case l.share != s:
		l.limiter.SetLimitAt(now, rate.Limit(s.perSecond))
		l.limiter.SetBurstAt(now, s.burst)
	}
	l.share = s
	reservation := l.limiter.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait == 0 {
		return 0
	}
	reservation.CancelAt(now)
	step := time.Duration(min(1/s.perSecond, longestWait.Seconds()) * float64(time.Second))
	if inTurn := l.promised.Add(step).Sub(now); inTurn > wait && inTurn <= longestWait {
		wait = inTurn
	}
	l.promised = now.Add(wait)
	return wait
}

// turn ends the time between two beats, and returns what was counted in it. It forgets namespaces that no longer exist, and leaves out
// namespaces without counts.
func (l *rateLimits) turn(exists func(namespace string) bool) map[string]requests {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := map[string]requests{}
	for name, limit := range l.of {
		if !exists(name) {
			delete(l.of, name)
			continue
		}
		if limit.counts != (requests{}) {
			told[name] = limit.counts
		}
		limit.recent, limit.counts.Accepted = limit.counts.Accepted, 0
	}
	return told
}

// load returns how many requests of a namespace were accepted between the last two beats, and how many have ever been refused.
func (l *rateLimits) load(namespace string) (recent int, refused uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := l.of[namespace]
	if limit == nil {
		return 0, 0
	}
	return limit.recent, limit.counts.Refused
}

// errTooFast is the refusal of a request that would be accepted after the wait.
func errTooFast(namespace *schedule.Namespace, wait time.Duration) *schedule.Error {
	// Rounded up: a caller who waits for less would come in vain.
	wait = wait.Truncate(time.Millisecond) + time.Millisecond
	err := schedule.Errorf(schedule.CodeResourceExhausted,
		"namespace %q has had its %v requests a second (limits.requestsPerSecond): wait %s, and ask for less or for a higher limit",
		namespace.Name, namespace.Limits.RequestsPerSecond, wait)
	err.RetryAfter = schedule.Duration(wait)
	return err
}

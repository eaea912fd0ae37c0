// Package flood limits the rate of log lines that strangers can cause.
//
// A client or a worker that is refused something may try again thousands of times in a second. If each attempt were logged, five
// seconds could give 159 MB of warnings. Lines about an operator's actions or about the process itself do not go through this
// package, because each of them is needed.
//
// The package imports nothing of Carillon.
package flood

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// Burst is how many lines of a kind are logged at once. After that, one is logged in each Interval.
	Burst = 20
	// Interval is the time between two lines of a kind that has used its burst. The burst returns at the same rate.
	Interval = 5 * time.Second
	// maxKinds limits how many kinds are remembered. All later kinds count as one.
	maxKinds = 256
	// keyLeftOut is the attribute with the number of lines of the kind that were left out since the last one.
	keyLeftOut = "left_out"
)

// Limiter decides which lines are logged. The zero value is ready, and safe for concurrent use.
type Limiter struct {
	mu    sync.Mutex
	kinds map[string]*kind
}

type kind struct {
	limit   *rate.Limiter
	leftOut int
}

// Allow reports whether a line of a kind may be logged now, and if so, how many were left out since the last logged one.
func (l *Limiter) Allow(name string, now time.Time) (leftOut int, allowed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kind(name)
	if !k.limit.AllowN(now, 1) {
		k.leftOut++
		return 0, false
	}
	leftOut, k.leftOut = k.leftOut, 0
	return leftOut, true
}

func (l *Limiter) kind(name string) *kind {
	if l.kinds == nil {
		l.kinds = map[string]*kind{}
	}
	k := l.kinds[name]
	if k == nil && len(l.kinds) >= maxKinds {
		name = ""
		k = l.kinds[name]
	}
	if k == nil {
		k = &kind{limit: rate.NewLimiter(rate.Every(Interval), Burst)}
		l.kinds[name] = k
	}
	return k
}

// Limit returns a logger that logs [Burst] lines of each message at once, and after that one in each [Interval], with the number
// of lines that were left out. It does not count debug lines. Loggers derived from it by With share the count. To limit a limited
// logger changes nothing.
func Limit(log *slog.Logger) *slog.Logger {
	if _, is := log.Handler().(*handler); is {
		return log
	}
	return slog.New(&handler{log.Handler(), &Limiter{}})
}

// handler is a slog.Handler that leaves out lines.
type handler struct {
	next  slog.Handler
	limit *Limiter
}

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, line slog.Record) error {
	if line.Level > slog.LevelDebug {
		leftOut, allowed := h.limit.Allow(line.Message, line.Time)
		if !allowed {
			return nil
		}
		if leftOut > 0 {
			line = line.Clone()
			line.AddAttrs(slog.Int(keyLeftOut, leftOut))
		}
	}
	return h.next.Handle(ctx, line)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.next.WithAttrs(attrs), h.limit}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.next.WithGroup(name), h.limit}
}

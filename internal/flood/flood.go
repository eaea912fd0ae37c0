// Package flood keeps what strangers can have logged at a bounded rate.
//
// A client or a worker that is refused something may try again thousands of times in a second, and each attempt was a line: 159 MB of
// warnings have been seen after five seconds. Lines about what an operator does, or about the process itself, do not go through this
// package: each of them is needed.
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
	// Burst is how many lines of a kind are logged at once; from then on there is one in each Interval.
	Burst = 20
	// Interval is the time between two lines of a kind that has used up its burst. The burst comes back at the same rate.
	Interval = 5 * time.Second
	// maxKinds bounds what is remembered of kinds. All that come later are one kind.
	maxKinds = 256
	// keyLeftOut is the attribute that says how many lines of the kind were left out since the one before.
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

// Allow reports whether a line of a kind may be logged now, and if so, how many were left out since the last one that was.
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

// Limit returns a logger that logs [Burst] lines of each message at once, and one in each [Interval] from then on, with how many were left
// out. Lines for debugging are not counted. Loggers made of it by With share the count, and
// to limit one again changes nothing.
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

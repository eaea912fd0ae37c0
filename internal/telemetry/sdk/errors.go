package sdk

import (
	"log/slog"
	"sync"
	"time"
)

// errorInterval is how often at most the log is told that something cannot be exported: a collector that is away fails every
// few seconds.
const errorInterval = time.Minute

// errorLog logs errors of the exporters: the first at once, and from then on one for each interval, with the number of those
// that were left out. It implements otel.ErrorHandler and is safe for concurrent use.
type errorLog struct {
	log *slog.Logger
	now func() time.Time

	mu      sync.Mutex
	next    time.Time // when the next may be logged
	leftOut int       // since the last that was
}

func newErrorLog(log *slog.Logger, now func() time.Time) *errorLog {
	return &errorLog{log: log, now: now}
}

// Handle implements otel.ErrorHandler.
func (l *errorLog) Handle(err error) {
	if err == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if now.Before(l.next) {
		l.leftOut++
		return
	}
	l.log.Warn("traces or metrics cannot be exported", "error", err, "left_out", l.leftOut)
	l.next, l.leftOut = now.Add(errorInterval), 0
}

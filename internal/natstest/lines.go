package natstest

import (
	"bytes"
	"log/slog"
	"sync"
)

// Lines keeps what is logged, to be counted. The zero value is ready and safe for concurrent use.
type Lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Logger returns a logger that writes to it.
func (l *Lines) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// Write implements io.Writer.
func (l *Lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(line)
}

// Count returns how often a text has been logged.
func (l *Lines) Count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.all.Bytes(), []byte(text))
}

package natsserver

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// logger hands the server's log to slog and keeps the first fatal error, after which a server of its own process would
// exit. What the server calls notices are the steps of its start and the elections of its cluster: of interest to
// someone who debugs. Its own debug and trace messages are switched off.
type logger struct {
	log *slog.Logger
	// complained has an element when there was a warning or an error since somebody looked.
	complained chan struct{}

	mu    sync.Mutex
	fatal error
}

func newLogger(log *slog.Logger) *logger {
	return &logger{log: log, complained: make(chan struct{}, 1)}
}

func (l *logger) Noticef(format string, args ...any) { l.log.Debug(message(format, args)) }

func (l *logger) Warnf(format string, args ...any) {
	l.log.Warn(message(format, args))
	l.complain()
}

func (l *logger) Errorf(format string, args ...any) {
	l.log.Error(message(format, args))
	l.complain()
}

func (l *logger) complain() {
	select {
	case l.complained <- struct{}{}:
	default: // nobody has looked yet
	}
}

func (l *logger) Debugf(string, ...any) {}
func (l *logger) Tracef(string, ...any) {}

func (l *logger) Fatalf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == nil {
		l.fatal = errors.New(message(format, args))
	}
}

// forget lets a server that is started anew begin without the fatal error of the one before.
func (l *logger) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fatal = nil
}

// fatalErr returns what the server would have died of, or nil.
func (l *logger) fatalErr() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

func message(format string, args []any) string {
	return strings.TrimSpace(fmt.Sprintf(format, args...))
}

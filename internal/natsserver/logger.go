package natsserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/carillon-scheduler/carillon/internal/flood"
)

// logger passes the server's log to slog and keeps the first fatal error. A server in its own process would exit after that
// error. The notices of the server are the steps of its start and the elections of its cluster, which interest only someone who
// debugs. Its own debug and trace messages are switched off.
type logger struct {
	log *slog.Logger
	// limit limits what the server says about its clients: it logs each of their refused attempts.
	limit flood.Limiter
	// complained has an element if there was a warning or an error since the last look.
	complained chan struct{}

	mu    sync.Mutex
	fatal error
}

func newLogger(log *slog.Logger) *logger {
	return &logger{log: log, complained: make(chan struct{}, 1)}
}

func (l *logger) Noticef(format string, args ...any) { l.log.Debug(message(format, args)) }

func (l *logger) Warnf(format string, args ...any) {
	l.write(slog.LevelWarn, message(format, args))
	l.complain()
}

func (l *logger) Errorf(format string, args ...any) {
	l.write(slog.LevelError, message(format, args))
	l.complain()
}

// write logs a line, unless there have been too many of its kind.
func (l *logger) write(level slog.Level, line string) {
	leftOut, allowed := l.limit.Allow(kindOf(line), time.Now()) //permit:time.Now the rate of real lines
	switch {
	case !allowed:
	case leftOut > 0:
		l.log.Log(context.Background(), level, line, "left_out", leftOut) //permit:context.Background NATS logs without one
	default:
		l.log.Log(context.Background(), level, line) //permit:context.Background NATS logs without one
	}
}

// kindOf returns a line without what distinguishes one connection or attempt from another: only the letters outside quotation
// marks.
func kindOf(line string) string {
	quoted := false
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			quoted = !quoted
			return -1
		case quoted || !unicode.IsLetter(r):
			return -1
		}
		return r
	}, line)
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

// forget forgets the fatal error, so that a restarted server begins without the error of its predecessor.
func (l *logger) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fatal = nil
}

// fatalErr returns the fatal error of the server, or nil.
func (l *logger) fatalErr() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

func message(format string, args []any) string {
	return strings.TrimSpace(fmt.Sprintf(format, args...))
}

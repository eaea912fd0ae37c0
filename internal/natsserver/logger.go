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

	mu    sync.Mutex
	fatal error
}

func (l *logger) Noticef(format string, args ...any) { l.log.Debug(message(format, args)) }
func (l *logger) Warnf(format string, args ...any)   { l.log.Warn(message(format, args)) }
func (l *logger) Errorf(format string, args ...any)  { l.log.Error(message(format, args)) }
func (l *logger) Debugf(string, ...any)              {}
func (l *logger) Tracef(string, ...any)              {}

func (l *logger) Fatalf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == nil {
		l.fatal = errors.New(message(format, args))
	}
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

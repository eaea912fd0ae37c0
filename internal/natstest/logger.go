package natstest

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
)

// logLevelEnv chooses what tests log: debug, info, warn or error. The default is info.
const logLevelEnv = "CARILLON_TEST_LOG"

// Logger writes to the log of the test, which is shown when the test fails. After the end of the test it writes nothing.
func Logger(t testing.TB) *slog.Logger {
	w := &testWriter{t: t}
	t.Cleanup(w.close)
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: logLevel()}))
}

func stderrLogger() *slog.Logger {
	level := max(logLevel(), slog.LevelError)
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

func logLevel() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(os.Getenv(logLevelEnv))) // a text that is no level leaves info
	return level
}

// testWriter hands lines to a test. It drops those after the end, because they would make the test panic.
type testWriter struct {
	mu sync.Mutex
	t  testing.TB // nil after the end
}

func (w *testWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t != nil {
		w.t.Log(strings.TrimSuffix(string(line), "\n"))
	}
	return len(line), nil
}

func (w *testWriter) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t = nil
}

// Lines keeps log lines, to be counted. The zero value is ready and safe for concurrent use.
type Lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Logger returns a logger that writes to l.
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

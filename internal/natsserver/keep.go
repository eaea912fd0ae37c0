package natsserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/carillon-scheduler/carillon/internal/sleep"
)

const (
	// lookAgain is the time between two looks at a server that stores nothing.
	lookAgain = time.Second
	// keepRoom is how many bytes the disk must accept before a restart in place: what NATS writes at its start, and some more.
	keepRoom = 4 << 20
	// restartLimit limits the duration of one restart in place, maxRestarts how many may fail in a row.
	restartLimit = time.Minute
	maxRestarts  = 5
	// calmAfter is how long a server must have stored everything before another restart may follow without a pause. longestPause
	// is the longest pause before a restart.
	calmAfter    = time.Minute
	longestPause = time.Minute
)

// writeError is part of what NATS says about the health of a stream, or of its Raft group, that refuses to store for the rest of
// its life because one write failed. Only this text distinguishes it from a stream that is merely behind.
const writeError = "write error"

// Keep restarts the server in place when it has permanently stopped storing, until ctx ends. That happens after a failed write,
// usually because the disk is full. NATS then refuses all writes to the stream, or in a cluster to all streams of the node, until
// it is restarted, even when there is room again. Keep waits until the disk accepts writes; [Server.Trouble] says so meanwhile.
// The restart ends all connections, which then reconnect.
//
// It returns nil when ctx ends. It returns an error if several restarts failed; then only a new process helps. It must not run
// twice at a time.
func (s *Server) Keep(ctx context.Context) error {
	var restarted time.Time
	pause := time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.log.complained:
		}
		reason := storeFault(s.current())
		if reason == "" {
			continue
		}
		if time.Since(restarted) > calmAfter {
			pause = 0
		}
		if err := s.heal(ctx, reason, pause); err != nil {
			return err
		}
		restarted, pause = time.Now(), min(max(2*pause, lookAgain), longestPause) //permit:time.Now it measures NATS
	}
}

// Trouble tells users why the server stores nothing, and what it waits for; empty while all is well.
func (s *Server) Trouble() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble
}

func (s *Server) setTrouble(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = text
}

// storeFault returns why a server will not store again until it is restarted; empty if it stores.
func storeFault(ns *server.Server) string {
	if !ns.JetStreamEnabled() {
		return "JetStream has been switched off after a failed write"
	}
	var given []string
	cause := ""
	for _, e := range ns.Healthz(&server.HealthzOptions{Details: true}).Errors {
		_, text, found := strings.Cut(e.Error, writeError+": ")
		if !found {
			continue
		}
		cause = text
		if e.Stream != "" && !slices.Contains(given, e.Stream) {
			given = append(given, e.Stream)
		}
	}
	switch {
	case cause == "":
		return ""
	case len(given) == 0:
		return cause
	}
	return fmt.Sprintf("streams %s: %s", strings.Join(given, ", "), cause)
}

// heal waits until the disk accepts writes, and then restarts the server.
func (s *Server) heal(ctx context.Context, reason string, pause time.Duration) error {
	defer s.setTrouble("")
	s.setTrouble(fmt.Sprintf("room on the disk of %s: NATS stores no more after a failed write, and is restarted in place when there is "+
		"room (%s)", s.options.Dir, reason))
	s.log.log.ErrorContext(ctx, "NATS stores nothing any more after a failed write; it is restarted in place when the disk takes writes",
		"data", s.options.Dir, "reason", reason)
	for {
		if sleep.For(ctx, max(pause, lookAgain)) != nil {
			return nil
		}
		if err := tryDisk(s.options.Dir); err == nil {
			break
		}
		pause = 0
	}
	return s.restart(ctx)
}

// tryDisk writes a file of keepRoom bytes, syncs it to the disk, and removes it.
func tryDisk(dir string) error {
	path := filepath.Join(dir, "carillon.room")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, keepRoom))
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close(), os.Remove(path))
}

// restart stops the server and starts it again with the same data and port. The data folder stays locked meanwhile.
func (s *Server) restart(ctx context.Context) error {
	began := time.Now() //permit:time.Now it measures NATS
	var err error
	for attempt := range maxRestarts {
		if sleep.For(ctx, time.Duration(attempt)*lookAgain) != nil {
			return nil
		}
		s.close()
		s.log.forget()
		if err = s.reopen(ctx); err == nil {
			s.log.log.InfoContext(ctx, "NATS was restarted in place and stores again", "took", time.Since(began).Round(time.Millisecond))
			return nil
		}
		if ctx.Err() != nil {
			return nil
		}
		s.log.log.WarnContext(ctx, "NATS cannot be started again yet", "attempt", attempt+1, "error", err)
	}
	return fmt.Errorf("natsserver: it cannot be started again after a failed write, not in %d attempts: %w", maxRestarts, err)
}

func (s *Server) reopen(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, restartLimit)
	defer cancel()
	return s.open(ctx)
}

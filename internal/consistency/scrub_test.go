package consistency_test

import (
	"bytes"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// scrubber returns a scrubber that hurries. Without a logger it uses the logger of the test.
func (s *installation) scrubber(logger *slog.Logger) *consistency.Scrubber {
	s.Helper()
	config := s.config()
	if logger != nil {
		config.Logger = logger
	}
	scrubber, err := consistency.NewScrubber(consistency.ScrubberConfig{
		Config: config, Period: 200 * time.Millisecond, Rate: 200,
	})
	require.NoError(s, err)
	return scrubber
}

// TestScrubbersMend: two scrubbers at once mend what they find. Damage that stops a schedule has a test of its own.
func TestScrubbersMend(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	key, lost := started(s, "lost")
	s.unqueue(key, lost)
	s.plantStart("ready", schedule.PhaseReady)
	s.plantStart("deferred", schedule.PhaseDeferred)
	stale := s.plantSource("source")
	filled, gone := s.create("filled", time.Hour), schedule.Key{Namespace: "default", ID: "gone"}
	s.plantBackfills(filled, gone)
	put(s, kv.Generator(gone), func(g *wire.GeneratorState) { g.Incarnation = "i" })
	truncate(s, gone, kv.Generator(gone))
	left := s.plantLeftovers()
	over := s.plantPassedOver("passed-over")

	s.background(s.scrubber(nil).Run, s.scrubber(nil).Run)
	s.failsAsLost("lost", lost)
	s.completes("passed-over", over)
	s.areGone(left)
	s.eventually("the rest is mended", func() bool {
		source, err := kv.GetLeader(t.Context(), s.store, kv.Invoker(stale))
		require.NoError(t, err)
		_, kept := source.Value.Sources["b1"]
		return !kept && isGone(s, kv.Generator(gone)) && isGone(s, kv.Backfill(gone, "b3")) &&
			isGone(s, kv.Backfill(filled, "b1")) && isGone(s, kv.Backfill(filled, "b2")) && len(s.finds(false)) == 0
	})
	s.work()
	s.eventually("the starts have run", func() bool { return s.ran("ready") == 1 && s.ran("deferred") == 1 })
}

// TestScrubberLeavesToPeople: a scrubber leaves to people what only they can decide, and logs it.
func TestScrubberLeavesToPeople(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.plantDeadCompletion("completion")
	s.plantDeadRequest("request")
	result := s.create("result", time.Hour)
	put(s, kv.Result(result), func(r *wire.Result) { r.Incarnation = "i" })
	truncate(s, result, kv.Result(result))
	kinds := map[string]consistency.Kind{
		"completion": consistency.CompletionDead, "request": consistency.RequestDead, "result": consistency.RecordDamaged,
	}
	var log lines
	s.background(s.scrubber(slog.New(slog.NewTextHandler(&log, nil))).Run)
	for id, kind := range kinds {
		s.eventually("it tells of "+id, func() bool { return log.has("left to a person", "schedule_id="+id+" ", "kind="+string(kind)+" ") })
	}
	assert.False(t, log.has("inconsistency repaired"))
	found := s.finds(false)
	require.ElementsMatch(t, slices.Collect(maps.Values(kinds)), kindsOf(found))
	for _, f := range found {
		assert.True(t, f.Repairable, "%s: by a person", f.Kind)
	}
}

// lines is a log to look through.
type lines struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (l *lines) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.data.Write(data)
}

// has reports whether a line has all of some texts.
func (l *lines) has(texts ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.data.String()) {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			return true
		}
	}
	return false
}

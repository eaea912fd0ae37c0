package flood_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/flood"
)

// TestLimit floods a log and counts.
func TestLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		plain := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		log := flood.Limit(plain)
		lines := func(message string) int { return strings.Count(out.String(), message) }
		for n := range 10_000 {
			log.With("n", n).Warn("refused", "subject", n)
		}
		assert.Equal(t, flood.Burst, lines("refused"))
		assert.NotContains(t, out.String(), "left_out")

		log.Error("something else") // its lines are not left out because of the others
		assert.Equal(t, 1, lines("something else"))

		time.Sleep(flood.Interval)
		log.WithGroup("g").Warn("refused", "subject", "last")
		log.Warn("refused")
		assert.Equal(t, flood.Burst+1, lines("refused"))
		assert.Contains(t, out.String(), fmt.Sprintf("left_out=%d", 10_000-flood.Burst))

		time.Sleep(time.Hour)
		out.Reset()
		for range 100 {
			log.Warn("refused")
			log.Debug("looked at")
		}
		assert.Equal(t, flood.Burst, lines("refused"), "the burst has come back, and no more than that")
		assert.Contains(t, out.String(), "left_out=1\n")
		assert.Equal(t, 100, lines("looked at"))
	})
}

// TestKindsAreBounded: a stranger that invents a new kind for each line cannot use unbounded memory, or log unbounded lines.
func TestKindsAreBounded(t *testing.T) {
	t.Parallel()
	var limit flood.Limiter
	now, allowed, beside := time.Now(), 0, 0
	for n := range 100_000 {
		if _, may := limit.Allow(fmt.Sprint("kind ", n), now); may {
			allowed++
		}
		if _, may := limit.Allow("kind 0", now); may {
			beside++
		}
	}
	assert.Less(t, allowed, 300)
	assert.Equal(t, flood.Burst-1, beside)
}

func TestConcurrently(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := flood.Limit(slog.New(slog.NewTextHandler(&out, nil)))
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			for range 1000 {
				log.Warn("refused")
			}
		})
	}
	all.Wait()
	assert.LessOrEqual(t, strings.Count(out.String(), "\n"), flood.Burst+1)
}

package specproc

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

// TestReported has cron expressions that other schedulers, or earlier versions of this one, got wrong.
func TestReported(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/reported.jsonl")
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // nothing was written
	lines := bufio.NewScanner(file)
	read := 0
	for ; lines.Scan(); read++ {
		var c struct {
			ID, Cron, TimeZone, Why string
			After                   time.Time
			Next                    []time.Time
			Error                   bool
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		s, err := Compile(schedule.Spec{Cron: []string{c.Cron}, TimeZone: c.TimeZone})
		if c.Error {
			assert.Error(t, err, c.ID)
			continue
		}
		if !assert.NoError(t, err, c.ID) {
			continue
		}
		after := c.After
		for _, want := range c.Next {
			next, _ := s.Next(after, "")
			assert.Equal(t, want, next.Nominal, "%s: %s", c.ID, c.Why)
			after = next.Nominal
		}
	}
	require.NoError(t, lines.Err())
	assert.Greater(t, read, 15)
}

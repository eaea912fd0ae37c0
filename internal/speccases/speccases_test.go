package speccases_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/speccases"
	"github.com/carillon-scheduler/carillon/schedule"
)

// readAll returns the cases of a text, and the beginnings of their errors.
func readAll(r io.Reader) (cases []speccases.Case, errs []string) {
	for c, err := range speccases.Read(r) {
		text := ""
		if err != nil {
			text, _, _ = strings.Cut(err.Error(), ": ")
		}
		cases, errs = append(cases, c), append(errs, text)
	}
	return cases, errs
}

func TestRead(t *testing.T) {
	t.Parallel()
	cases, errs := readAll(strings.NewReader(`{"id": "a", "why": [1], "next": {}, "jitterSeed": "s",` +
		`"spec": {"intervals": [{"every": "1d12h", "phase": "1h0m0s"}], "jitter": "", "cron": ["@daily"],` +
		`"startTime": "2026-01-01T00:00:00.5+01:00"}, "after": "2026-01-01T00:00:00Z"}

{"id": "b", "spec": {"colour": 1}}
{"id": "c", "spec": {"jitter": "soon"}}
{"id": "d", "after": "today"}
{"id": 7}
nonsense
{"id": "last"}`))
	assert.Equal(t, []string{"", "spec.colour", "spec.jitter", "after", "line 6", "line 7", ""}, errs)
	want := schedule.Spec{
		Intervals: []schedule.Interval{{Every: schedule.Duration(36 * time.Hour), Phase: schedule.Duration(time.Hour)}},
		Cron:      []string{"@daily"}, StartTime: time.Date(2025, 12, 31, 23, 0, 0, 500_000_000, time.UTC),
	}
	assert.Equal(t, speccases.Case{
		ID: "a", Spec: want, JitterSeed: "s", After: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}, cases[0])
	var ids []string
	for _, c := range cases {
		ids = append(ids, c.ID)
	}
	assert.Equal(t, []string{"a", "b", "c", "d", "", "", "last"}, ids)
}

func TestReadReportsABrokenInput(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, errs := readAll(io.MultiReader(strings.NewReader("{\"id\": \"a\"}\n{\"i"), iotest.ErrReader(broken)))
	assert.Equal(t, "", errs[0])
	assert.Equal(t, "line 2", errs[len(errs)-1])
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		`"2d"`: 48 * time.Hour, `"1d12h"`: 36 * time.Hour, `"-43h"`: -43 * time.Hour, `"1.5s"`: 1500 * time.Millisecond, `""`: 0,
		`"9072h0m0s"`: 9072 * time.Hour, `"106751d"`: 106751 * 24 * time.Hour,
	} {
		spec, err := speccases.ParseSpec([]byte(`{"jitter": ` + text + `}`))
		require.NoError(t, err, text)
		assert.Equal(t, schedule.Duration(want), spec.Jitter, text)
	}
	for _, text := range []string{`"d"`, `"-1d"`, `"1x"`, `"106752d"`, `"106751d24h"`, `5`, `"1"`} {
		_, err := speccases.ParseSpec([]byte(`{"intervals": [{"every": ` + text + `}]}`))
		assert.ErrorContains(t, err, "intervals[0].every: ", text)
	}
}

// TestAllVectorsCanBeRead ensures that the form covers all vectors, including invalid ones: only validation must reject those.
func TestAllVectorsCanBeRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../specproc/testdata/vectors/*.jsonl")
	require.NoError(t, err)
	read := 0
	for _, path := range files {
		if filepath.Base(path) == "overlap.jsonl" {
			continue
		}
		file, err := os.Open(path)
		require.NoError(t, err)
		for c, err := range speccases.Read(file) {
			assert.NoError(t, err, c.ID)
			read++
		}
		require.NoError(t, file.Close())
	}
	assert.Greater(t, read, 1500)
}

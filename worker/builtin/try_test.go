package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

func TestMain(m *testing.M) {
	if path, ok := os.LookupEnv(executorEnv); ok {
		execute(path)
	}
	natstest.Main(m)
}

func runWith(input string) *worker.Run {
	return &worker.Run{ActionRequest: schedule.ActionRequest{
		WorkflowID: "wf", NominalTime: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Input: json.RawMessage(input),
	}}
}

func TestNoopReturnsItsInput(t *testing.T) {
	t.Parallel()
	result, err := noop(t.Context(), runWith(`{"a":1}`))
	require.NoError(t, err)
	assert.Equal(t, json.RawMessage(`{"a":1}`), result)
	result, err = noop(t.Context(), runWith(""))
	require.NoError(t, err)
	assert.Nil(t, result)
}

func TestParseSleep(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]time.Duration{
		`"90s"`:                   90 * time.Second,
		`{"duration":"1h30m"}`:    90 * time.Minute,
		`"0s"`:                    0,
		`{"duration":"0s","x":1}`: 0,
	} {
		got, err := parseSleep(json.RawMessage(input))
		require.NoError(t, err, input)
		assert.Equal(t, want, got, input)
	}
}

func TestParseSleepRefuses(t *testing.T) {
	t.Parallel()
	for _, input := range []string{``, `90`, `"90"`, `"-1s"`, `{}`, `{"duration":90}`, `null`, `[]`, `{"duration":null}`} {
		_, err := parseSleep(json.RawMessage(input))
		var typed *worker.Error
		require.ErrorAs(t, err, &typed, input)
		assert.Equal(t, worker.TypeInvalidInput, typed.Type, input)
		assert.True(t, typed.NonRetryable, input)
		assert.Contains(t, typed.Message, `"90s"`, input)
		assert.NotRegexp(t, `json:|struct|Go `, typed.Message, input)
	}
}

func TestSleepTakesItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := sleepHandler(t.Context(), runWith(`"90s"`))
		require.NoError(t, err)
		assert.Equal(t, 90*time.Second, time.Since(began))
	})
}

func TestSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		time.AfterFunc(time.Second, func() { cancel(gone) })
		_, err := sleepHandler(ctx, runWith(`"90s"`))
		assert.ErrorIs(t, err, gone)
	})
}

func TestLogSaysWhatAndWhen(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	result, err := logAction(slog.New(slog.NewTextHandler(&out, nil)))(t.Context(), runWith(`"hello"`))
	require.NoError(t, err)
	assert.Nil(t, result)
	assert.Contains(t, out.String(), "hello")
	assert.Contains(t, out.String(), "nominal_time=2026-01-02T03:04:05.000Z")
	assert.Contains(t, out.String(), "level=INFO")
}

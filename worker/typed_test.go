package worker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

func TestMisfitSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	type order struct {
		Cents  int8
		Big    int64
		Count  uint
		Small  uint8
		Rate   float64
		Name   *string
		Paid   bool
		Lines  []struct{ Price int }
		Labels map[string]string
		At     time.Time
		Wait   schedule.Duration
		Any    interface{ Close() }
	}
	for input, want := range map[string]string{
		`5`:                              "it must be an object, not a number",
		`{"Cents": "x"}`:                 "Cents must be a whole number, -128 to 127, not a string",
		`{"Cents": 300}`:                 "Cents must be a whole number, -128 to 127, not 300",
		`{"Big": 1.5}`:                   "Big must be a whole number, not 1.5",
		`{"Count": -1}`:                  "Count must be a whole number, 0 or more, not -1",
		`{"Small": 256}`:                 "Small must be a whole number, 0 to 255, not 256",
		`{"Rate": true}`:                 "Rate must be a number, not true or false",
		`{"Name": []}`:                   "Name must be a string, not an array",
		`{"Paid": {}}`:                   "Paid must be true or false, not an object",
		`{"Lines": {}}`:                  "Lines must be an array, not an object",
		`{"Lines": [{"Price": "free"}]}`: "Lines.Price must be a whole number, not a string",
		`{"Labels": "x"}`:                "Labels must be an object, not a string",
		`{"Wait": "soon"}`:               `"soon" is not a duration: write a number with a unit, such as 90s, 1h30m or 250ms`,
		`{"Any": 1}`:                     "Any must be something else, not a number",
	} {
		err := json.Unmarshal([]byte(input), &order{})
		require.Error(t, err, input)
		assert.Equal(t, want, misfit(err), input)
	}
	err := json.Unmarshal([]byte(`{"At": "noon"}`), &order{})
	assert.Contains(t, misfit(err), `"noon"`)
}

func TestLastResult(t *testing.T) {
	t.Parallel()
	with := func(request schedule.ActionRequest) context.Context {
		return context.WithValue(t.Context(), runKey{}, &Run{ActionRequest: request})
	}
	for name, test := range map[string]struct {
		ctx  context.Context
		want int
		ok   bool
		err  string
	}{
		"of no run": {ctx: t.Context()},
		"none":      {ctx: with(schedule.ActionRequest{})},
		"one":       {ctx: with(schedule.ActionRequest{LastSuccess: []byte("7")}), want: 7, ok: true},
		"misfit":    {ctx: with(schedule.ActionRequest{LastSuccess: []byte(`"x"`)}), err: "the last result does not fit: it must be a whole number"},
		"omitted":   {ctx: with(schedule.ActionRequest{LastSuccessOmitted: true}), err: "left out"},
	} {
		got, ok, err := LastResult[int](test.ctx)
		assert.Equal(t, test.want, got, name)
		assert.Equal(t, test.ok, ok, name)
		if test.err == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, test.err, name)
		}
	}
	_, ok, err := LastHeartbeat[int](t.Context())
	assert.False(t, ok)
	require.NoError(t, err)
}

func TestLoggerOutsideARun(t *testing.T) {
	t.Parallel()
	assert.Same(t, slog.Default(), Logger(t.Context()))
}

// TestErrorsOfEveryKindAreCompared makes sure that no type of error is too odd to be looked at.
func TestErrorsOfEveryKindAreCompared(t *testing.T) {
	t.Parallel()
	failure, _ := failureOf(listError{"a", "b"})
	assert.Equal(t, "worker.listError", failure.Type)
	failure, _ = failureOf(errors.Join(listError{"a"}, ErrCanceled))
	assert.Contains(t, failure.Message, "list")
}

type listError []string

func (listError) Error() string { return "list" }

package invoker_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestDecodeCompletion(t *testing.T) {
	t.Parallel()
	c, err := invoker.DecodeCompletion("r1", []byte(`{
		"requestId": "r1", "status": "completed", "result": {"rows": 7}, "attempt": 2, "worker": "w", "unknown": true,
		"startTime": "2026-03-01T12:00:00.5Z", "closeTime": "2026-03-01T13:00:00+01:00"
	}`))
	require.NoError(t, err)
	require.Equal(t, schedule.StatusCompleted, c.Status)
	require.JSONEq(t, `{"rows": 7}`, string(c.Result))
	require.Equal(t, 2, c.Attempt)
	require.True(t, c.CloseTime.Equal(origin))
}

func TestDecodeCompletionRefuses(t *testing.T) {
	t.Parallel()
	for body, message := range map[string]string{
		``:                                      "not valid JSON",
		`{`:                                     "not valid JSON",
		`"r1"`:                                  "not valid JSON",
		`{"requestId": 1}`:                      "not valid JSON",
		`{"requestId": "r1", "closeTime": "x"}`: "not valid JSON",
		`null`:                                  `for request ""`,
		`{}`:                                    `for request ""`,
		`{"requestId": "r2", "status": "failed"}`: `for request "r2"`,
		`{"requestId": "r1"}`:                     `status ""`,
		`{"requestId": "r1", "status": "done"}`:   `status "done"`,
		`{"requestId": "r1", "status": "FAILED"}`: `status "FAILED"`,
	} {
		_, err := invoker.DecodeCompletion("r1", []byte(body))
		require.ErrorContains(t, err, message, body)
	}
}

func TestDecodeCompletionBounds(t *testing.T) {
	t.Parallel()
	large := func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`) }
	decode := func(c schedule.Completion) *schedule.Completion {
		c.RequestID = "r1"
		data, err := json.Marshal(c)
		require.NoError(t, err)
		decoded, err := invoker.DecodeCompletion("r1", data)
		require.NoError(t, err)
		return decoded
	}
	fits := decode(schedule.Completion{Status: schedule.StatusCompleted, Result: large(512 << 10)})
	require.Equal(t, schedule.StatusCompleted, fits.Status)
	require.Len(t, fits.Result, 512<<10)

	over := decode(schedule.Completion{Status: schedule.StatusCompleted, Result: large(512<<10 + 1)})
	require.Equal(t, schedule.StatusFailed, over.Status, "it must not stay open for ever")
	require.Empty(t, over.Result)
	require.Equal(t, "result_too_large", over.Failure.Type)

	talk := decode(schedule.Completion{Status: schedule.StatusFailed, Worker: strings.Repeat("w", 999), Failure: &schedule.Failure{
		Message: strings.Repeat("ü", 9999), Type: strings.Repeat("t", 999), Details: large(65 << 10),
	}})
	require.LessOrEqual(t, len(talk.Failure.Message), 4<<10)
	require.True(t, utf8.ValidString(talk.Failure.Message))
	require.Len(t, talk.Failure.Type, 255)
	require.Len(t, talk.Worker, 255)
	require.Empty(t, talk.Failure.Details)
}

// FuzzDecodeCompletion: whatever comes is refused, or is a completion of that request that fits into the records.
func FuzzDecodeCompletion(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `[]`, `{"requestId":"r1"}`, `{"requestId":"r1","status":"completed","result":null}`,
		`{"requestId":"r1","status":"failed","failure":{"message":"m","type":"t","details":[1,{"a":2}]}}`,
		`{"requestId":"r1","status":"timed_out","closeTime":"2026-03-01T12:00:00Z","startTime":"0001-01-01T00:00:00Z"}`,
		`{"requestId":"r1","status":"canceled","attempt":9223372036854775807,"worker":"\u0000\ud800"}`,
		`{"requestid":"r1","STATUS":"terminated"} `, "{\"requestId\":\"r1\xff\",\"status\":\"failed\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := invoker.DecodeCompletion("r1", data)
		if err != nil {
			require.Nil(t, c)
			return
		}
		require.Equal(t, "r1", c.RequestID)
		require.True(t, c.Status.Valid())
		k := newHarness(t, pauseOnFailure)
		k.running(1)
		c.RequestID = k.find(1).RequestID
		k.transition(invoker.Input{Completions: []schedule.Completion{*c}})
		require.Equal(t, schedule.PhaseCompleted, k.find(1).Phase)
		result, _ := invoker.Fold(wire.Result{}, "inc", k.last.Ended)
		_, err = codec.Marshal(&result)
		require.NoError(t, err)
	})
}

package apitext

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Reading any text ends without a panic, and what was read stays the same when printed and read again.
func FuzzDecodeJSON(f *testing.F) {
	full, err := EncodeJSON(schedule.CreateRequest{ID: "daily", Schedule: scheduletest.Schedule()})
	require.NoError(f, err)
	f.Add(full)
	f.Add([]byte(`{"action":{"input":{"\ud800":[1e400,"\u0000"]},"headers":{"":"x"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		checkDecode(t, text, DecodeJSON)
	})
}

func FuzzDecodeYAML(f *testing.F) {
	full, err := EncodeYAML(schedule.CreateRequest{ID: "daily", Schedule: scheduletest.Schedule()})
	require.NoError(f, err)
	f.Add(full)
	f.Add([]byte("action: &a {input: [*a, !!float 1e400, 0x1F, ? {x: 1} : 2], <<: *a}"))
	f.Add([]byte("id: |+2\n\n   x\n--- # two\nid: >-\n  y\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		checkDecode(t, text, DecodeYAML)
		_, _ = DecodeYAMLDocuments[schedule.CreateRequest](text)
	})
}

func checkDecode(t *testing.T, text []byte, decode func([]byte, any) error) {
	t.Helper()
	var first, again schedule.CreateRequest
	if err := decode(text, &first); err != nil {
		require.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
		return
	}
	_ = first.Validate()
	printed, err := EncodeJSON(first)
	require.NoError(t, err)
	require.NoError(t, DecodeJSON(printed, &again), "%s", printed)
	require.Equal(t, first, again)
	_, err = EncodeYAML(first)
	require.NoError(t, err)
}

package schedule

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever the text is, reading it ends without a panic, and what was read is the same when printed and read again.
func FuzzDecodeJSON(f *testing.F) {
	full, err := EncodeJSON(CreateRequest{ID: "daily", Schedule: fullSchedule()})
	require.NoError(f, err)
	f.Add(full)
	f.Add([]byte(`{"action":{"input":{"\ud800":[1e400,"\u0000"]},"headers":{"":"x"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		checkDecode(t, text, DecodeJSON)
	})
}

func FuzzDecodeYAML(f *testing.F) {
	full, err := EncodeYAML(CreateRequest{ID: "daily", Schedule: fullSchedule()})
	require.NoError(f, err)
	f.Add(full)
	f.Add([]byte("action: &a {input: [*a, !!float 1e400, 0x1F, ? {x: 1} : 2], <<: *a}"))
	f.Add([]byte("id: |+2\n\n   x\n--- # two\nid: >-\n  y\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		checkDecode(t, text, DecodeYAML)
		_, _ = DecodeYAMLDocuments[CreateRequest](text)
	})
}

func checkDecode(t *testing.T, text []byte, decode func([]byte, any) error) {
	t.Helper()
	var first, again CreateRequest
	if err := decode(text, &first); err != nil {
		require.Equal(t, CodeInvalidArgument, CodeOf(err))
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

// Whatever the bytes are, decoding ends without a panic or a large allocation, and what was decoded is the same when
// encoded and decoded again.
func FuzzUnmarshal(f *testing.F) {
	samples := golden()
	for _, sample := range samples {
		data, err := Marshal(sample)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte{FormatVersion, 0xdf, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, sample := range samples {
			first, again := reflect.New(reflect.TypeOf(sample).Elem()), reflect.New(reflect.TypeOf(sample).Elem())
			if err := Unmarshal(data, first.Interface()); err != nil {
				require.ErrorIs(t, err, ErrFormat)
				continue
			}
			encoded, err := Marshal(first.Interface())
			require.NoError(t, err)
			require.NoError(t, Unmarshal(encoded, again.Interface()), "%x", encoded)
			reencoded, err := Marshal(again.Interface())
			require.NoError(t, err)
			require.Len(t, reencoded, len(encoded))
		}
	})
}

package codec_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/scheduletest"
)

// Decoding any bytes ends without a panic or a large allocation, and the result is the same after it is encoded and decoded
// again.
func FuzzUnmarshal(f *testing.F) {
	samples := scheduletest.Records()
	for _, sample := range samples {
		data, err := codec.Marshal(sample)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte{codec.FormatVersion, 0xdf, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, sample := range samples {
			first, again := reflect.New(reflect.TypeOf(sample).Elem()), reflect.New(reflect.TypeOf(sample).Elem())
			if err := codec.Unmarshal(data, first.Interface()); err != nil {
				require.ErrorIs(t, err, codec.ErrFormat)
				continue
			}
			encoded, err := codec.Marshal(first.Interface())
			require.NoError(t, err)
			require.NoError(t, codec.Unmarshal(encoded, again.Interface()), "%x", encoded)
			reencoded, err := codec.Marshal(again.Interface())
			require.NoError(t, err)
			require.Len(t, reencoded, len(encoded))
		}
	})
}

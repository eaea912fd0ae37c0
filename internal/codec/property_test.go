package codec_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/codec"
	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/scheduletest"
)

// A record that is stored and read again is the same, for any record.
func TestMarshalRoundTrip(t *testing.T) {
	t.Parallel()
	for name, sample := range scheduletest.Records() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				want, got := reflect.New(reflect.TypeOf(sample).Elem()), reflect.New(reflect.TypeOf(sample).Elem())
				scheduletest.Fill(t, want.Elem())
				data, err := codec.Marshal(want.Interface())
				require.NoError(t, err)
				require.NoError(t, codec.Unmarshal(data, got.Interface()), "%x", data)
				require.Equal(t, want.Interface(), got.Interface(), "%x", data)
			})
		})
	}
}

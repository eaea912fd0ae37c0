package codec_test

import (
	"bytes"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/internal/wire"
)

// The msgpack library wrote and read the records of earlier releases. This package must write and read the same.

// libraryEncoder returns an encoder with the settings of earlier releases.
func libraryEncoder(buf *bytes.Buffer) *msgpack.Encoder {
	encoder := msgpack.NewEncoder(buf)
	encoder.SetCustomStructTag("json")
	encoder.SetOmitEmpty(true)
	encoder.UseCompactInts(true)
	return encoder
}

func libraryMarshal(t require.TestingT, v any) []byte {
	buf := bytes.NewBuffer([]byte{codec.FormatVersion})
	require.NoError(t, libraryEncoder(buf).Encode(v))
	return buf.Bytes()
}

func libraryUnmarshal(data []byte, into any) error {
	decoder := msgpack.NewDecoder(bytes.NewReader(data[1:]))
	decoder.SetCustomStructTag("json")
	return decoder.Decode(into)
}

// content returns what a record says, regardless of the order of map entries. Numbers have the types in which they are written.
func content(t require.TestingT, data []byte) any {
	value, err := msgpack.NewDecoder(bytes.NewReader(data[1:])).DecodeInterface()
	require.NoError(t, err)
	return value
}

func TestMarshalWritesWhatTheLibraryDoes(t *testing.T) {
	t.Parallel()
	for name, sample := range scheduletest.Records() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireSameContent(t, sample)
			rapid.Check(t, func(t *rapid.T) {
				value := reflect.New(reflect.TypeOf(sample).Elem())
				scheduletest.Fill(t, value.Elem())
				requireSameContent(t, value.Interface())
			})
		})
	}
}

func requireSameContent(t require.TestingT, v any) {
	want := libraryMarshal(t, v)
	got, err := codec.Marshal(v)
	require.NoError(t, err)
	require.Len(t, got, len(want))
	require.Equal(t, content(t, want), content(t, got))
}

// The forms of numbers, lengths and times, at the limits between one form and the next.
func TestMarshalForms(t *testing.T) {
	t.Parallel()
	type forms struct {
		Int   int64                `json:"int"`
		Uint  uint64               `json:"uint"`
		Float float64              `json:"float"`
		Time  time.Time            `json:"time"`
		Text  string               `json:"text"`
		Bytes []byte               `json:"bytes"`
		List  []wire.Wake          `json:"list"`
		Map   map[string]time.Time `json:"map"`
		Lists [][]byte             `json:"lists"`
		Far   []*wire.Wake         `json:"far"`
	}
	values := []forms{
		{Float: math.Copysign(0, -1)}, {Float: math.Inf(1)}, {Text: "\xff\x00"}, {Bytes: []byte{}}, {Text: string(make([]byte, 1<<16))},
		{List: make([]wire.Wake, 3)}, {Map: map[string]time.Time{"": {}}}, {Lists: [][]byte{nil, {1}}}, {Far: []*wire.Wake{nil, {}}},
		{Time: time.Time{}.In(time.FixedZone("", 3600))},
	}
	for bits := range 64 {
		for _, n := range []uint64{1<<bits - 1, 1 << bits, 1<<bits + 1} {
			values = append(values, forms{Uint: n, Int: int64(n), Float: float64(n)}, forms{Int: -int64(n)})
			if bits < 40 {
				values = append(values, forms{Time: time.Unix(int64(n), 0)}, forms{Time: time.Unix(int64(n), 1)}, forms{Time: time.Unix(-int64(n), 0)})
			}
			if bits < 17 {
				values = append(values, forms{Text: string(make([]byte, n)), Bytes: make([]byte, n), List: make([]wire.Wake, n%1024)})
			}
		}
	}
	for _, want := range values {
		requireSameContent(t, want)
		data, err := codec.Marshal(want)
		require.NoError(t, err)
		var got forms
		require.NoError(t, codec.Unmarshal(data, &got))
		requireSameMeaning(t, want, got)
	}
}

// requireSameMeaning checks that both values are stored as the same record.
func requireSameMeaning(t require.TestingT, want, got any) {
	require.Equal(t, content(t, libraryMarshal(t, want)), content(t, libraryMarshal(t, got)))
}

// The codec reads what the library writes, whichever forms the library chooses.
func TestUnmarshalReadsWhatTheLibraryWrites(t *testing.T) {
	t.Parallel()
	for name, sample := range scheduletest.Records() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				want, got := reflect.New(reflect.TypeOf(sample).Elem()), reflect.New(reflect.TypeOf(sample).Elem())
				scheduletest.Fill(t, want.Elem())
				buf := bytes.NewBuffer([]byte{codec.FormatVersion})
				encoder := libraryEncoder(buf)
				encoder.SetOmitEmpty(rapid.Bool().Draw(t, "omit empty"))
				encoder.UseCompactInts(rapid.Bool().Draw(t, "compact ints"))
				require.NoError(t, encoder.Encode(want.Interface()))
				require.NoError(t, codec.Unmarshal(buf.Bytes(), got.Interface()))
				require.Equal(t, want.Interface(), got.Interface())
			})
		})
	}
}

// The codec reads or refuses scalars that no release writes there, as the library does.
func TestUnmarshalReadsOddScalarsAsTheLibraryDoes(t *testing.T) {
	t.Parallel()
	for name, sample := range scheduletest.Records() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			original := libraryMarshal(t, sample)
			rapid.Check(t, func(t *rapid.T) {
				odd := libraryMarshal(t, withOddScalars(t, content(t, original)))
				want, got := reflect.New(reflect.TypeOf(sample).Elem()), reflect.New(reflect.TypeOf(sample).Elem())
				wantErr, err := libraryUnmarshal(odd, want.Interface()), codec.Unmarshal(odd, got.Interface())
				require.Equal(t, wantErr == nil, err == nil, "library: %v, own: %v", wantErr, err)
				if err == nil {
					requireSameMeaning(t, want.Interface(), got.Interface())
				}
			})
		})
	}
}

// withOddScalars replaces a few of the values below v by other values of the same shape.
func withOddScalars(t *rapid.T, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			v[name] = withOddScalars(t, v[name])
		}
		return v
	case []any:
		for i := range v {
			v[i] = withOddScalars(t, v[i])
		}
		return v
	}
	if rapid.IntRange(0, 40).Draw(t, "odd") > 0 {
		return v
	}
	switch v := v.(type) {
	case time.Time:
		return time.Unix(rapid.Int64().Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
	case string:
		return rapid.SampledFrom([]any{[]byte(v), "", nil}).Draw(t, "text")
	case []byte:
		return rapid.SampledFrom([]any{string(v), nil}).Draw(t, "bytes")
	}
	return rapid.SampledFrom([]any{
		nil, true, false, int8(-1), int16(-300), int32(-70_000), int64(math.MinInt64), uint8(255), uint16(256), uint32(math.MaxUint32),
		uint64(math.MaxUint64), float32(1.5), 2.5,
	}).Draw(t, "scalar")
}

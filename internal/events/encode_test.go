package events

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestEncodeIsMarshal: byte by byte what json.Marshal gives, for any event whatsoever, and the same error for those that
// cannot be JSON. A field that encode does not know would be found here.
func TestEncodeIsMarshal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var event schedule.Event
		share := rapid.IntRange(0, 10).Draw(t, "share")
		fill(t, share, reflect.ValueOf(&event).Elem())
		want, wantErr := json.Marshal(&event)
		got, err := encode(&event)
		require.Equal(t, wantErr, err)
		require.Equal(t, string(want), string(got))
	})
}

// TestEncodeRefuses what json.Marshal refuses.
func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	for _, event := range []schedule.Event{
		{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		{CloseTime: time.Date(2026, 1, 1, 0, 0, 0, 0, time.FixedZone("", 24*3600))},
		{Outcome: schedule.Outcome{Result: json.RawMessage("{")}},
		{Outcome: schedule.Outcome{Failure: &schedule.Failure{Details: json.RawMessage("{")}}},
	} {
		_, want := json.Marshal(&event)
		_, err := encode(&event)
		require.Error(t, err)
		require.Equal(t, want, err)
	}
}

// fill gives fields below v any value, a share of ten of them.
func fill(t *rapid.T, share int, v reflect.Value) {
	if v.Kind() != reflect.Struct && rapid.IntRange(1, 10).Draw(t, "set") > share {
		return
	}
	switch target := v.Addr().Interface().(type) {
	case *time.Time:
		*target = anyTime(t)
		return
	case *json.RawMessage:
		*target = rapid.SampledFrom(rawValues).Draw(t, "raw")
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, share, v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, share, v.Elem())
	case reflect.String:
		v.SetString(anyText(t))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int:
		v.SetInt(rapid.Int64().Draw(t, "int"))
	default:
		t.Fatalf("cannot fill a %s", v.Type())
	}
}

// rawValues are JSON in several forms, and some that is none.
var rawValues = []json.RawMessage{
	nil, {}, json.RawMessage("{}"), json.RawMessage(" { \"a\" : [1, 2 ] }\n"), json.RawMessage(`"<b>&\u003c\u2028"`), json.RawMessage(`{"a":`),
}

func anyText(t *rapid.T) string {
	plain := rapid.StringMatching(`[a-zA-Z0-9 :./_-]{0,40}`)
	bytes := rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })
	awkward := rapid.SampledFrom([]string{"<", "a>b", "&", `"`, `\`, "\u2028", "\x7f", "\x00", "\t\n", "ä", "\xff"})
	return rapid.OneOf(plain, plain, rapid.String(), bytes, awkward).Draw(t, "text")
}

// anyTime also gives times that JSON cannot have, though not often.
func anyTime(t *rapid.T) time.Time {
	seconds := rapid.OneOf(rapid.Int64Range(0, 1<<32), rapid.Int64Range(-62135596800, 253402300800)).Draw(t, "seconds")
	at := time.Unix(seconds, rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(0, 999_999_999)).Draw(t, "nanoseconds"))
	if offset := rapid.OneOf(rapid.Just(0), rapid.IntRange(-24*3600, 24*3600)).Draw(t, "offset"); offset != 0 {
		return at.In(time.FixedZone("", offset))
	}
	return at.UTC()
}

package apitext

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// packed returns the msgpack library's encoding of a value.
func packed(t testing.TB, value any) []byte {
	t.Helper()
	data, err := msgpack.Marshal(value)
	require.NoError(t, err)
	return data
}

func object(key string, value any) map[string]any { return map[string]any{key: value} }

func TestDecodeMsgpack(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 5_000_000, time.FixedZone("", 3600))
	data := packed(t, map[string]any{
		"id":         "täglich \"x\"\n",
		"triggerNow": true,
		"backfills":  []any{map[string]any{"start": noon, "end": "2026-03-01T12:00:00Z", "overlap": nil}},
		"action": map[string]any{
			"priority": 5.0, "runTimeout": "90s", "retryPolicy": map[string]any{"backoffCoefficient": float32(1.25)},
			"input": []any{
				nil, true, -1, uint64(math.MaxUint64), 1.5, float32(0.1), 1e300, []byte("\x00bin"), noon, map[string]any{"a<b": ""},
			},
		},
	})
	var got schedule.CreateRequest
	require.NoError(t, DecodeMsgpack(data, &got))
	want := schedule.CreateRequest{
		ID: "täglich \"x\"\n", TriggerNow: true,
		Backfills: []schedule.BackfillRange{{Start: noon.UTC(), End: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}},
	}
	want.Action.Priority, want.Action.RunTimeout = 5, schedule.Duration(90*time.Second)
	want.Action.RetryPolicy = &schedule.RetryPolicy{BackoffCoefficient: 1.25}
	want.Action.Input = json.RawMessage(`[null,true,-1,18446744073709551615,1.5,0.10000000149011612,1e+300,"AGJpbg==",` +
		`"2026-03-01T11:00:00.005Z",{"a<b":""}]`)
	require.Equal(t, want, got)
}

func TestDecodeMsgpackErrors(t *testing.T) {
	t.Parallel()
	deep := append(bytes.Repeat([]byte{0x91}, jsontext.MaxDepth+1), 0xc0)
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"typo", packed(t, object("spec", object("intervalls", 1))), `spec.intervalls: unknown field, did you mean intervals?`},
		{"number for text", packed(t, object("id", 5)), `id: must be a string in quotes, not 5`},
		{"fraction", packed(t, object("action", object("priority", 1.5))), `action.priority: must be a whole number, not 1.5`},
		{"number for duration", packed(t, object("spec", object("jitter", 5))),
			`spec.jitter: 5 is not a duration: write a string with a unit, such as "90s"`},
		{"not a number", packed(t, object("action", object("input", []any{1, math.NaN()}))),
			`action.input[1]: NaN is not a number as JSON has them`},
		{"infinity", packed(t, object("action", object("input", math.Inf(-1)))), `action.input: -Inf is not a number as JSON has them`},
		{"time for text", packed(t, object("id", []time.Time{time.Unix(0, 0)})), `id: must be a string in quotes, not a list`},
		{"time beyond years", packed(t, object("spec", object("startTime", time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)))),
			`spec.startTime: is out of range: use the years 0000 to 9999 in UTC`},
		{"extension", append([]byte("\x81\xa2id"), 0xd4, 7, 7),
			`id: is an extension that is not a time: the only extension that is accepted is a timestamp, of type -1`},
		{"number as a key", packed(t, object("action", object("headers", map[int]string{1: "x"}))),
			`action.headers: has a key that is not text: use text for every key`},
		{"binary as a key", []byte("\x81\xc4\x02id\xa1x"), `has a key that is not text: use text for every key`},
		{"twice", []byte("\x82\xa2id\xa1x\xa2id\xa1y"), `id: stands twice: use each key once`},
		{"no UTF-8", []byte("\x81\xa2id\xa1\xff"), `id: is not valid UTF-8`},
		{"no UTF-8 as a key", []byte("\x81\xa1\xff\xa1x"), `is not valid UTF-8`},
		{"deep", deep, `is nested too deeply: at most 200 levels are accepted`},
		{"empty", nil, `is not valid msgpack: byte 1: the data is cut short`},
		{"cut short", []byte("\x81\xa2id\xa5x"), `is not valid msgpack: byte 6: the data is cut short`},
		{"long list", []byte("\xdd\xff\xff\xff\xff"), `is not valid msgpack: byte 6: the data is cut short`},
		{"no code", []byte("\x81\xa2id\xc1"), `is not valid msgpack: byte 5: no value begins with 0xc1`},
		{"trailing", []byte("\x80\x80\x80"), `is not valid msgpack: byte 2: 2 bytes too many`},
		{"JSON", []byte(`{"id":"x"}`), `is not valid msgpack: byte 2: 9 bytes too many`},
		{"nil", []byte("\xc0"), `must be an object, not null`},
		{"large", make([]byte, jsontext.MaxBytes+1), `the text is too large: at most 4194304 bytes (4 MiB) are read`},
		{"large as JSON", packed(t, object("id", strings.Repeat("\x01", jsontext.MaxBytes-100))),
			`the text is too large: at most 4194304 bytes (4 MiB) are read`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			into := schedule.CreateRequest{ID: "untouched"}
			scheduletest.RequireInvalid(t, DecodeMsgpack(test.data, &into), test.want)
			require.Equal(t, schedule.CreateRequest{ID: "untouched"}, into)
		})
	}
}

func TestEncodeMsgpack(t *testing.T) {
	t.Parallel()
	many := make([]int, 70_000)
	for _, test := range []struct {
		name  string
		value any
		want  any
	}{
		{"scalars", []any{nil, true, false, 0, -5, int64(math.MinInt64), uint64(math.MaxUint64), 1.5, 0.1, "é\x00"},
			[]any{nil, true, false, int8(0), int8(-5), int64(math.MinInt64), uint64(math.MaxUint64), float32(1.5), 0.1, "é\x00"}},
		{"numbers beyond", json.RawMessage(`[18446744073709551616,1e400,1e3]`), []any{float32(1 << 64), "1e400", float32(1000)}},
		{"duration and time", map[string]any{"d": schedule.Duration(90 * time.Second), "t": time.Unix(0, 0).UTC()},
			map[string]any{"d": "1m30s", "t": "1970-01-01T00:00:00Z"}},
		{"sixteen", many[:16], []any{int8(0), int8(0), int8(0), int8(0), int8(0), int8(0), int8(0), int8(0), int8(0), int8(0),
			int8(0), int8(0), int8(0), int8(0), int8(0), int8(0)}},
		{"empty", map[string]any{"a": map[string]any{}, "b": []int{}}, map[string]any{"a": map[string]any{}, "b": []any{}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			data, err := EncodeMsgpack(test.value)
			require.NoError(t, err)
			var got any
			require.NoError(t, msgpack.Unmarshal(data, &got))
			require.Equal(t, test.want, got)
		})
	}
	data, err := EncodeMsgpack(many)
	require.NoError(t, err)
	var got []int
	require.NoError(t, msgpack.Unmarshal(data, &got))
	require.Equal(t, many, got)
	_, err = EncodeMsgpack(make(chan int))
	require.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
}

// Any schedule stays the same when written as msgpack and read again, except for the numbers of raw JSON: they come out as
// msgpack can hold them, and then stay.
func TestMsgpackRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var want, got, again schedule.CreateRequest
		scheduletest.Fill(t, reflect.ValueOf(&want).Elem())
		for _, round := range []struct{ from, to *schedule.CreateRequest }{{&want, &got}, {&got, &again}} {
			data, err := EncodeMsgpack(round.from)
			require.NoError(t, err)
			var tree any
			require.NoError(t, msgpack.Unmarshal(data, &tree), "%x", data)
			require.NoError(t, DecodeMsgpack(data, round.to), "%x", data)
			require.Equal(t, loose(t, *round.from), loose(t, *round.to))
		}
		require.Equal(t, got, again)
	})
}

// loose returns a value as JSON has it, with the numbers as msgpack has them.
func loose(t *rapid.T, value any) any {
	text, err := EncodeJSON(value)
	require.NoError(t, err)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var tree any
	require.NoError(t, decoder.Decode(&tree))
	return loosened(tree)
}

func loosened(tree any) any {
	switch tree := tree.(type) {
	case json.Number:
		if f, err := tree.Float64(); err == nil {
			return f
		}
		return tree.String()
	case []any:
		for i := range tree {
			tree[i] = loosened(tree[i])
		}
	case map[string]any:
		for key := range tree {
			tree[key] = loosened(tree[key])
		}
	}
	return tree
}

func FuzzDecodeMsgpack(f *testing.F) {
	full, err := EncodeMsgpack(schedule.CreateRequest{ID: "daily", Schedule: scheduletest.Schedule()})
	require.NoError(f, err)
	f.Add(full)
	f.Add([]byte("\x81\xa2id\xd7\xff\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\xdf\xff\xff\xff\xff\xa1a\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		checkDecode(t, data, DecodeMsgpack)
		var request schedule.CreateRequest
		if DecodeMsgpack(data, &request) == nil {
			again, err := EncodeMsgpack(request)
			require.NoError(t, err)
			require.NoError(t, DecodeMsgpack(again, &request), "%x", again)
		}
	})
}

// BenchmarkMsgpack reads and writes a create request and its reply as the API does, in both formats.
func BenchmarkMsgpack(b *testing.B) {
	request := schedule.CreateRequest{ID: "daily-report", Schedule: scheduletest.SmallSchedule()}
	for name, form := range map[string]struct {
		encode func(any) ([]byte, error)
		decode func([]byte, any) error
	}{
		"json":    {EncodeJSON, DecodeJSON},
		"msgpack": {EncodeMsgpack, DecodeMsgpack},
	} {
		data, err := form.encode(request)
		require.NoError(b, err)
		b.Run("decode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = form.decode(data, new(schedule.CreateRequest))
			}
			b.ReportMetric(float64(len(data)), "bytes")
		})
		b.Run("encode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = form.encode(request)
			}
		})
	}
}

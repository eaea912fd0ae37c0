package codec_test

import (
	"encoding/json"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestMarshalRequests(t *testing.T) {
	t.Parallel()
	want := schedule.CreateRequest{ID: "daily", Schedule: scheduletest.Schedule(), RequestID: "r1", TriggerNow: true}
	data, err := codec.Marshal(want) // by value, as well as by pointer
	require.NoError(t, err)
	var got schedule.CreateRequest
	require.NoError(t, codec.Unmarshal(data, &got))
	require.Equal(t, want, got)
}

// The fields of embedded structs are fields of the outer one, in storage as in JSON.
func TestMarshalInlinesEmbedded(t *testing.T) {
	t.Parallel()
	data, err := codec.Marshal(wire.Enqueue{Source: schedule.SourceAuto, Span: wire.Span{From: scheduletest.At(1), To: scheduletest.At(2)}})
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, msgpack.Unmarshal(data[1:], &fields))
	require.ElementsMatch(t, []string{"source", "from", "to"}, keys(fields))
}

func keys(m map[string]any) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	return names
}

func TestUnmarshalTimesAreUTC(t *testing.T) {
	t.Parallel()
	berlin, err := schedule.LoadZone("Europe/Berlin")
	require.NoError(t, err)
	local := scheduletest.At(9).In(berlin)
	data, err := codec.Marshal(wire.InvokerState{
		Starts:  []wire.BufferedStart{{Nominal: local}},
		Sources: map[string]wire.SourceProgress{"a": {LastFrom: local, Covered: []wire.Span{{From: local}}}},
	})
	require.NoError(t, err)
	var got wire.InvokerState
	require.NoError(t, codec.Unmarshal(data, &got))
	require.Equal(t, scheduletest.At(9), got.Starts[0].Nominal)
	require.Equal(t, scheduletest.At(9), got.Sources["a"].LastFrom)
	require.Equal(t, scheduletest.At(9), got.Sources["a"].Covered[0].From)
	require.True(t, got.Sources["a"].Covered[0].To.IsZero())
}

func TestUnmarshalEmptyIsNil(t *testing.T) {
	t.Parallel()
	empty := schedule.Schedule{
		Spec:   schedule.Spec{Cron: []string{}, At: []time.Time{}, TimeZoneData: []byte{}},
		Action: schedule.Action{Headers: map[string]string{}, Input: json.RawMessage{}, RetryPolicy: &schedule.RetryPolicy{}},
	}
	data, err := codec.Marshal(empty)
	require.NoError(t, err)
	var got schedule.Schedule
	require.NoError(t, codec.Unmarshal(data, &got))
	require.Equal(t, schedule.Schedule{Action: schedule.Action{RetryPolicy: &schedule.RetryPolicy{}}}, got)

	// Also if another writer wrote them.
	data = append([]byte{codec.FormatVersion}, msgpackOf(t, map[string]any{
		"action": map[string]any{"headers": map[string]string{}, "input": []byte{}},
		"spec":   map[string]any{"cron": []string{}, "timeZoneData": []byte{}},
	})...)
	require.NoError(t, codec.Unmarshal(data, &got))
	require.Equal(t, schedule.Schedule{}, got)
}

func TestUnmarshalReplaces(t *testing.T) {
	t.Parallel()
	data, err := codec.Marshal(wire.Wake{Reason: wire.ReasonDue})
	require.NoError(t, err)
	into := wire.Wake{Incarnation: "old", Version: 7}
	require.NoError(t, codec.Unmarshal(data, &into))
	require.Equal(t, wire.Wake{Reason: wire.ReasonDue}, into)
}

// A newer release may have added fields of any shape.
func TestUnmarshalIgnoresUnknownFields(t *testing.T) {
	t.Parallel()
	data := append([]byte{codec.FormatVersion}, msgpackOf(t, map[string]any{
		"reason": "due",
		"later":  map[string]any{"when": scheduletest.At(9), "list": []any{1, "two", 3.5, nil, true, []byte{4}}},
	})...)
	var got wire.Wake
	require.NoError(t, codec.Unmarshal(data, &got))
	require.Equal(t, wire.Wake{Reason: wire.ReasonDue}, got)
}

func TestUnmarshalErrors(t *testing.T) {
	t.Parallel()
	body := func(bytes ...byte) []byte { return append([]byte{codec.FormatVersion}, bytes...) }
	field := func(name string, value ...byte) []byte {
		return body(append(append([]byte{0x81, 0xa0 | byte(len(name))}, name...), value...)...)
	}
	const prefix = "not a record this release can read: "
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"no data", nil, "no data"},
		{"version", []byte{9, 0x80}, "format version 9, this release reads version 1"},
		{"json", []byte(`{"id":1}`), "format version 123, this release reads version 1"},
		{"no body", body(), "byte 1: the data is cut short"},
		{"nothing", body(0xc0), "byte 2: a scalar where a InvokerState is expected"},
		{"list", body(0x90), "byte 2: a list where a InvokerState is expected"},
		{"trailing", body(0x80, 0x80), "1 bytes too many"},
		{"reserved code", body(0xc1), "byte 2: no value begins with 0xc1"},
		{"number as field name", body(0x81, 1, 1), "byte 3: a scalar where a field name is expected"},
		{"text for list", field("starts", 0xa1, 'x'), "byte 10: text where a list of BufferedStart is expected"},
		{"time for map", field("sources", 0xd6, 0xff, 0xde, 0xff, 0xff, 0), "byte 11: a time where a map of SourceProgress is expected"},
		{"time for map within embedded", field("outbox", 0x91, 0x81, 0xa4, 't', 'i', 'm', 'e', 0xc0), "byte 17: a scalar where a time is expected"},
		{"truth for number", field("limitUsed", 0xc3), "byte 13: a scalar of another kind than expected"},
		{"number for truth", field("hasResult", 1), "byte 13: a scalar of another kind than expected"},
		{"fraction for number", field("limitUsed", 0xca, 0, 0, 0, 0), "byte 17: a scalar of another kind than expected"},
		{"another extension", field("outbox", 0x91, 0x81, 0xa4, 't', 'i', 'm', 'e', 0xd4, 1, 0), "byte 19: an extension that is not a time"},
		{"time of no form", field("outbox", 0x91, 0x81, 0xa4, 't', 'i', 'm', 'e', 0xd5, 0xff, 0, 0), "byte 20: a time of 2 bytes"},
		{"claimed list", field("starts", 0xdd, 0, 0, 0xff, 0xff), "byte 14: the data is cut short"},
		{"huge claimed list", field("starts", 0xdd, 0xff, 0xff, 0xff, 0xff), "byte 14: 4294967295 entries, at most 65536 are accepted"},
		{"huge claimed map", field("sources", 0xdf, 0xff, 0xff, 0xff, 0xff), "byte 15: 4294967295 entries, at most 65536 are accepted"},
		{"huge claimed text", field("incarnation", 0xdb, 0xff, 0xff, 0xff, 0xff), "byte 19: the data is cut short"},
		{"huge claimed extension", field("unknown", 0xc9, 0xff, 0xff, 0xff, 0xff), "byte 15: the data is cut short"},
		{"deep", field("unknown", []byte(strings.Repeat("\x91", 1_000_000))...), "byte 74: nested more than 64 levels deep"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			into := wire.InvokerState{Incarnation: "untouched"}
			err := codec.Unmarshal(test.data, &into)
			require.EqualError(t, err, "decode InvokerState: "+prefix+test.want)
			require.ErrorIs(t, err, codec.ErrFormat)
			require.Equal(t, wire.InvokerState{Incarnation: "untouched"}, into)
		})
	}
}

// The msgpack library, with which earlier releases read records, accepts an embedded struct by the name of its type.
func TestUnmarshalEmbeddedByName(t *testing.T) {
	t.Parallel()
	data := append([]byte{codec.FormatVersion}, msgpackOf(t, map[string]any{
		"source": "auto", "Span": map[string]any{"from": scheduletest.At(1)},
	})...)
	var got wire.Enqueue
	require.NoError(t, codec.Unmarshal(data, &got))
	require.Equal(t, wire.Enqueue{Source: schedule.SourceAuto, Span: wire.Span{From: scheduletest.At(1)}}, got)
}

// If a list or map occurs twice, the last one counts.
func TestUnmarshalRepeatedField(t *testing.T) {
	t.Parallel()
	body := "\x84\xa6starts\x92\x81\xa5phase\xa1x\x80\xa6starts\x91\x80" +
		"\xa7sources\x81\xa1a\x80\xa7sources\x81\xa1b\x80"
	var got wire.InvokerState
	require.NoError(t, codec.Unmarshal(append([]byte{codec.FormatVersion}, body...), &got))
	require.Equal(t, wire.InvokerState{Starts: make([]wire.BufferedStart, 1), Sources: map[string]wire.SourceProgress{"b": {}}}, got)
}

func TestUnmarshalCutShort(t *testing.T) {
	t.Parallel()
	data, err := codec.Marshal(scheduletest.Records()["invoker"])
	require.NoError(t, err)
	for n := range data {
		require.ErrorIs(t, codec.Unmarshal(data[:n], new(wire.InvokerState)), codec.ErrFormat, "first %d bytes", n)
	}
}

// The size of what is decoded depends on the size of the data, whatever the data claims. This test is not parallel, because it
// measures the memory of the whole process.
func TestUnmarshalMemory(t *testing.T) {
	claims := [][]byte{
		append([]byte{codec.FormatVersion, 0x81, 0xa6}, "starts\xdd\x00\x01\x00\x00"...),
		append([]byte{codec.FormatVersion, 0x81, 0xa7}, "sources\xd6\xff\xdf\xff\xff\xff\xff"...),
		append([]byte{codec.FormatVersion, 0x81, 0xa7}, "sources\xdf\x00\x01\x00\x00"...),
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, data := range claims {
		require.ErrorIs(t, codec.Unmarshal(data, new(wire.InvokerState)), codec.ErrFormat)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

func TestUnmarshalNeedsPointer(t *testing.T) {
	t.Parallel()
	for _, into := range []any{nil, wire.Wake{}, (*wire.Wake)(nil)} {
		require.ErrorContains(t, codec.Unmarshal([]byte{codec.FormatVersion, 0x80}, into), "is not a pointer to a value")
	}
}

func TestMarshalErrors(t *testing.T) {
	t.Parallel()
	_, err := codec.Marshal(struct{ C chan int }{make(chan int)})
	require.ErrorContains(t, err, "unsupported chan int")
	for _, nothing := range []any{nil, (*wire.Wake)(nil)} {
		_, err = codec.Marshal(nothing)
		require.ErrorContains(t, err, "there is no value")
	}
	_, err = codec.Marshal(wire.InvokerState{Starts: make([]wire.BufferedStart, 1<<16+1)})
	require.ErrorContains(t, err, "65537 entries, at most 65536 are accepted")
	require.ErrorContains(t, codec.Unmarshal([]byte{codec.FormatVersion, 0x80}, &struct{ C chan int }{}), "unsupported chan int")
}

// Encoders and buffers are reused, but no call may see what another wrote.
func TestMarshalResultIsOwned(t *testing.T) {
	t.Parallel()
	first, err := codec.Marshal(wire.Wake{Incarnation: "first", Reason: wire.ReasonDue})
	require.NoError(t, err)
	kept := slices.Clone(first)
	for range 10 {
		_, err = codec.Marshal(wire.Wake{Incarnation: "other", Reason: wire.ReasonIdle, Version: math.MaxUint64})
		require.NoError(t, err)
	}
	require.Equal(t, kept, first)
}

func msgpackOf(t *testing.T, v any) []byte {
	t.Helper()
	data, err := msgpack.Marshal(v)
	require.NoError(t, err)
	return data
}

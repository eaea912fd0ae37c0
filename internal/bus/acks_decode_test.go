package bus

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]ackAnswer{
		`{"stream":"S","seq":12}`:                         {sequence: 12},
		`{"stream":"S", "seq":12}`:                        {sequence: 12},
		`{"stream":"S","domain":"hub","seq":12}`:          {sequence: 12},
		`{"stream":"S","seq":12,"duplicate":true}`:        {sequence: 12, repeated: true},
		`{"stream":"S","seq":18446744073709551615}`:       {sequence: 1<<64 - 1},
		`{"stream":"S","seq":18446744073709551616}`:       {err: jetstream.ErrInvalidJSAck},
		`{"stream":"S","seq":012}`:                        {err: jetstream.ErrInvalidJSAck},
		`{"stream":"","seq":12}`:                          {err: jetstream.ErrInvalidJSAck},
		`{"seq":12}`:                                      {err: jetstream.ErrInvalidJSAck},
		`{"stream":"S","seq":12`:                          {err: jetstream.ErrInvalidJSAck},
		``:                                                {err: jetstream.ErrInvalidJSAck},
		`{"error":{"code":503,"err_code":10023},"seq":0}`: {err: &jetstream.APIError{Code: 503, ErrorCode: 10023}},
		// Answers of the API of JetStream, and of a frontend, which others may have sent to where an acknowledgement is waited for.
		`{"type":"io.nats.jetstream.api.v1.stream_info_response","error":{"code":404,"err_code":10059}}`: {err: jetstream.ErrInvalidJSAck},
		`{"type":"io.nats.jetstream.api.v1.x","stream":"S","seq":12}`:                                    {err: jetstream.ErrInvalidJSAck},
		`{"error":{"code":"internal","message":"no"}}`:                                                   {err: jetstream.ErrInvalidJSAck},
	} {
		require.Equal(t, want, decode(&nats.Msg{Data: []byte(data)}), data)
	}
	nobody := &nats.Msg{Header: nats.Header{"Status": {statusNobody}}}
	require.Equal(t, ackAnswer{err: jetstream.ErrNoStreamResponse}, decode(nobody))
}

// FuzzScan: what it reads, any JSON decoder reads so.
func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"stream":"S","seq":12}`))
	f.Add([]byte(`{"stream":"S","seq":12,"duplicate":true}`))
	f.Add([]byte(`{"stream":"\u0053","seq":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		sequence, ok := scan(data)
		if ok && json.Valid(data) { // a name with control characters is none for a decoder
			require.Equal(t, ackAnswer{sequence: sequence}, decodeJSON(data), "%q", data)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	msg := &nats.Msg{Data: fmt.Appendf(nil, `{"stream":%q,"seq":%d}`, "carillon_TASKS-3", 1_234_567)}
	b.ReportAllocs()
	for b.Loop() {
		decode(msg)
	}
}

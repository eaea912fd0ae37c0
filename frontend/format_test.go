package frontend_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	mediaJSON    = "application/json"
	mediaMsgpack = "application/msgpack"
)

// send sends a request with headers in the default namespace.
func (in *installation) send(verb string, header nats.Header, body []byte) *nats.Msg {
	in.t.Helper()
	reply, err := in.conn.RequestMsg(&nats.Msg{
		Subject: in.names.API("default", subjects.ThingSchedule, verb), Header: header, Data: body,
	}, patience)
	require.NoError(in.t, err)
	return reply
}

func TestFormatsOfRequestsAndReplies(t *testing.T) {
	t.Parallel()
	in := installed(t)
	empty := map[string][]byte{mediaJSON: []byte("{}"), mediaMsgpack: {0x80}}
	for _, test := range []struct{ contentType, accept, body, reply, err string }{
		{"", "", mediaJSON, mediaJSON, ""},
		{"application/json; charset=utf-8", "", mediaJSON, mediaJSON, ""},
		{"application/msgpack", "", mediaMsgpack, mediaMsgpack, ""},
		{"Application/X-Msgpack", "", mediaMsgpack, mediaMsgpack, ""},
		{"application/vnd.msgpack", " ", mediaMsgpack, mediaMsgpack, ""},
		{"", mediaMsgpack, mediaJSON, mediaMsgpack, ""},
		{mediaMsgpack, "application/json", mediaMsgpack, mediaJSON, ""},
		{mediaMsgpack, "*/*", mediaMsgpack, mediaMsgpack, ""},
		{mediaMsgpack, "text/html, application/json;q=0.9, */*", mediaMsgpack, mediaJSON, ""},
		{"", "application/*", mediaJSON, mediaJSON, ""},

		{"text/plain", "", mediaJSON, mediaJSON, `the content type "text/plain" is not accepted: use application/json or`},
		{"text/plain", mediaMsgpack, mediaJSON, mediaJSON, "is not accepted"},
		{mediaMsgpack, "text/html", mediaMsgpack, mediaMsgpack, `a reply cannot be made as "text/html"`},
		{mediaMsgpack, strings.Repeat("x,", 100_000), mediaMsgpack, mediaMsgpack, "…"},
		{mediaMsgpack, "", mediaJSON, mediaMsgpack, "is not valid msgpack"},
		{"", "", mediaMsgpack, mediaJSON, "is not valid UTF-8"},
	} {
		header := nats.Header{"Content-Type": {test.contentType}, "Accept": {test.accept}}
		reply := in.send("list", header, empty[test.body])
		name := test.contentType + " → " + test.accept[:min(len(test.accept), 20)]
		assert.Equal(t, test.reply, reply.Header.Get("Content-Type"), name)
		var body struct {
			Schedules []schedule.Description
			Error     *schedule.Error `json:"error"`
		}
		require.NoError(t, decodeAs(reply, &body), name)
		if test.err == "" {
			assert.Empty(t, reply.Header.Get(micro.ErrorHeader), name)
			assert.Nil(t, body.Error, name)
			continue
		}
		require.NotNil(t, body.Error, name)
		assert.Contains(t, body.Error.Message, test.err, name)
		assert.Equal(t, body.Error.Error(), reply.Header.Get(micro.ErrorHeader), name)
		assert.Equal(t, "invalid_argument", reply.Header.Get(micro.ErrorCodeHeader), name)
	}
}

// decodeAs leniently decodes a reply in the format that the reply names.
func decodeAs(reply *nats.Msg, into any) error {
	data := reply.Data
	if reply.Header.Get("Content-Type") == mediaMsgpack {
		var raw json.RawMessage
		if err := apitext.DecodeMsgpack(data, &raw); err != nil {
			return err
		}
		data = raw
	}
	return json.Unmarshal(data, into)
}

func TestBothFormatsSayTheSame(t *testing.T) {
	t.Parallel()
	in := installed(t)
	body, err := apitext.EncodeMsgpack(json.RawMessage(createBody("nightly",
		`,"policies":{"catchupWindow":"90s"},"state":{"notes":"é"},"requestId":"r"`)))
	require.NoError(t, err)
	reply := in.send("create", nats.Header{"Content-Type": {mediaMsgpack}}, body)
	require.Empty(t, reply.Header.Get(micro.ErrorHeader))
	var created schedule.Description
	require.NoError(t, apitext.DecodeMsgpack(reply.Data, &created))
	assert.Equal(t, "é", created.State.Notes)

	for _, verb := range []string{"describe", "matchingTimes", "history", "runs"} {
		request := `{"id":"nightly"}`
		if verb == "matchingTimes" {
			request = `{"id":"nightly","from":"2026-01-01T00:00:00Z","to":"2026-01-01T05:00:00Z"}`
		}
		asJSON, asMsgpack := in.send(verb, nil, []byte(request)), in.send(verb, nats.Header{"Accept": {mediaMsgpack}}, []byte(request))
		var raw json.RawMessage
		require.NoError(t, apitext.DecodeMsgpack(asMsgpack.Data, &raw))
		assert.JSONEq(t, string(asJSON.Data), string(raw), verb)
		assert.Less(t, len(asMsgpack.Data), len(asJSON.Data), verb)
	}
}

func TestRefusedAtTheGateInItsFormat(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	in := installed(t, func(c *frontend.Config) { c.Concurrency, c.Backlog = 1, 1 }, holdBack(let))
	defer close(let)
	for _, id := range []string{"worked-on", "waits"} {
		require.NoError(t, in.conn.PublishRequest(
			in.names.API("default", subjects.ThingSchedule, "create"), in.conn.NewInbox(), []byte(createBody(id, ""))))
	}
	reply := in.send("create", nats.Header{"Accept": {mediaMsgpack}}, []byte(createBody("refused", "")))
	assert.Equal(t, mediaMsgpack, reply.Header.Get("Content-Type"))
	assert.Equal(t, "resource_exhausted", reply.Header.Get(micro.ErrorCodeHeader))
}

// holdBack makes a frontend store nothing until let is closed or the time for a request is over.
func holdBack(let <-chan struct{}) func(*frontend.Config) {
	return hook(func(ctx context.Context, _ *nats.Msg) error {
		select {
		case <-let:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

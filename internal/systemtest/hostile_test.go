package systemtest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// hostile is a request that must be refused, and how.
type hostile struct {
	name string
	// thing and namespace are parts of the subject; empty means a schedule of the default namespace.
	thing, namespace, verb string
	header                 nats.Header
	body                   string
	// code and field are exact; says is a part of the message.
	code  schedule.Code
	field string
	says  string
}

// TestHostileRequests: each request gets its error and changes nothing, and the installation works afterwards.
func TestHostileRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of requests take too long for short mode")
	}
	t.Parallel()
	s := single(t)
	runs := s.work(s.conn, "q", nil)
	victim := every(time.Hour)
	victim.State.Paused = true
	s.create("victim", victim)
	for shard := range s.store.Shards() {
		stream := s.names.TaskStream(shard)
		require.NoError(t, natstest.StopPulse(t.Context(), s.js, stream, s.names.PulseTimer(shard), s.names.Pulse(shard)))
	}
	s.awaitQuiet()
	described, before := s.describe("victim"), s.stored()

	endpoints := s.endpoints()
	table := append(hostileByHand(), hostileIDs()...)
	for _, e := range endpoints {
		table = append(table, hostileTexts(e)...)
		table = append(table, hostileFields(t, e)...)
	}
	require.Greater(t, len(table), 300)
	t.Logf("%d requests to %d verbs", len(table), len(endpoints))
	failures := 0
	for i := range table {
		if !s.refused(&table[i]) {
			if failures++; failures == 20 {
				t.FailNow() // one defect may show in a thousand rows
			}
		}
	}
	s.shouted(t)

	assert.Equal(t, before, s.stored(), "nothing is stored")
	assert.Equal(t, described, s.describe("victim"))
	s.create("healthy", every(time.Second))
	natstest.Eventually(t, natstest.Patience, "an action", func() bool { return len(runs.of("healthy")) > 0 })
}

// refused sends a request and reports whether it is refused as it should be.
func (s *system) refused(h *hostile) bool {
	s.t.Helper()
	namespace, thing := h.namespace, h.thing
	if namespace == "" {
		namespace = "default"
	}
	if thing == "" {
		thing = subjects.ThingSchedule
	}
	name := thing + "." + h.verb + ": " + h.name
	reply, err := s.conn.RequestMsg(&nats.Msg{
		Subject: s.names.API(namespace, thing, h.verb), Header: h.header, Data: []byte(h.body),
	}, patience)
	if !assert.NoError(s.t, err, name) {
		return false
	}
	var text json.RawMessage = reply.Data
	if reply.Header.Get("Content-Type") == "application/msgpack" {
		require.NoError(s.t, apitext.DecodeMsgpack(reply.Data, &text), name)
	}
	var body struct{ Error *schedule.Error }
	if !assert.NoError(s.t, json.Unmarshal(text, &body), name) || !assert.NotNil(s.t, body.Error, "%s: %s", name, text) {
		return false
	}
	line := reply.Header.Get(micro.ErrorHeader)
	return assert.Equal(s.t, h.code, body.Error.Code, "%s: %s", name, text) &&
		assert.Equal(s.t, h.field, body.Error.Field, "%s: %s", name, text) &&
		assert.Contains(s.t, body.Error.Message, h.says, name) &&
		assert.Equal(s.t, string(h.code), reply.Header.Get(micro.ErrorCodeHeader), name) &&
		assert.Equal(s.t, len(line), len(body.Error.Error()), "%s: %s", name, line) &&
		assert.Less(s.t, len(line), 2000, name) &&
		assert.False(s.t, strings.ContainsAny(line, "\r\n\x00") || strings.Contains(line, "goroutine"), "%s: %s", name, line)
}

// shouted sends messages that get no answer, or none that anybody hears.
func (s *system) shouted(t *testing.T) {
	t.Helper()
	list := s.names.API("default", subjects.ThingSchedule, "list")
	for _, reply := range []string{
		s.names.Event(schedule.Key{Namespace: "default", ID: "victim"}, schedule.EventDeleted),
		"$KV." + s.names.StateBucket(0) + ".x", "$JS.API.STREAM.DELETE." + s.names.EventStream(),
		list, s.names.API("default", subjects.ThingSchedule, "delete"),
	} {
		require.NoError(t, s.conn.PublishRequest(list, reply, []byte("{}")), reply)
	}
	for _, verb := range []string{"list", "describe", "create"} { // without a reply subject
		require.NoError(t, s.conn.Publish(s.names.API("default", subjects.ThingSchedule, verb), []byte(`{"id":5}`)))
	}
	err := s.conn.Publish(s.names.API("default", subjects.ThingSchedule, "create"), make([]byte, s.conn.MaxPayload()+1))
	require.ErrorIs(t, err, nats.ErrMaxPayload)
	large := &nats.Msg{Subject: list, Header: nats.Header{schedule.HeaderIdentity: {strings.Repeat("x", int(s.conn.MaxPayload()))}}}
	require.ErrorIs(t, s.conn.PublishMsg(large), nats.ErrMaxPayload)
	_, err = s.conn.Request(s.names.API("default", subjects.ThingSchedule, "explode"), nil, patience)
	require.ErrorIs(t, err, nats.ErrNoResponders)
	require.True(t, s.refused(&hostile{verb: "describe", name: "after all", code: schedule.CodeInvalidArgument, field: "id",
		says: "empty"}))
}

// stored is the contents of each stream and bucket of the installation.
func (s *system) stored() map[string]jetstream.StreamState {
	s.t.Helper()
	states := map[string]jetstream.StreamState{}
	streams := s.js.ListStreams(s.t.Context())
	for info := range streams.Info() {
		if s.isOurs(info.Config.Name) {
			state := info.State
			states[info.Config.Name] = jetstream.StreamState{
				Msgs: state.Msgs, Bytes: state.Bytes, FirstSeq: state.FirstSeq, LastSeq: state.LastSeq, NumDeleted: state.NumDeleted,
			}
		}
	}
	require.NoError(s.t, streams.Err())
	require.NotEmpty(s.t, states)
	return states
}

func (s *system) isOurs(stream string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimPrefix(stream, "KV_")), s.names.Prefix()+"_") ||
		strings.HasPrefix(strings.ToLower(strings.TrimPrefix(stream, "KV_")), s.names.Prefix()+"-")
}

// awaitQuiet waits until nothing has been stored for a moment.
func (s *system) awaitQuiet() {
	s.t.Helper()
	last, since := s.stored(), time.Now()
	natstest.Eventually(s.t, patience, "nothing to be stored any more", func() bool {
		if now := s.stored(); !assert.ObjectsAreEqual(last, now) {
			last, since = now, time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
}

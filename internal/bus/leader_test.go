package bus_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

func TestLeaderLastReadsWhatIsStored(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	name := strings.ToUpper(natstest.Names(t).Prefix())
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}})
	require.NoError(t, err)

	_, err = bus.LeaderLast(t.Context(), js, name, name+".a")
	require.ErrorIs(t, err, bus.ErrNone)

	header := nats.Header{"traceparent": {"00-trace"}, "Two": {"one", "two: three"}, "Empty": {""}}
	body := []byte("\x00\xff any bytes \r\n\r\n")
	_, err = js.Publish(t.Context(), name+".a", []byte("old"))
	require.NoError(t, err)
	ack, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: name + ".a", Header: header, Data: body})
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), name+".b", []byte("other"))
	require.NoError(t, err)
	message, err := bus.LeaderLast(t.Context(), js, name, name+".a")
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), message.Time, time.Minute)
	message.Time = time.Time{}
	require.Equal(t, bus.Message{Subject: name + ".a", Sequence: ack.Sequence, Header: header, Data: body}, message)

	message, err = bus.LeaderLast(t.Context(), js, name, name+".b")
	require.NoError(t, err)
	require.Empty(t, message.Header)

	_, err = bus.LeaderLast(t.Context(), js, name+"_NONE", name+".a")
	require.NotErrorIs(t, err, bus.ErrNone, "no stream is not the same as no message")
	require.Error(t, err)
}

func TestLeaderSubjectsCountsThoseWithMessages(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	name := strings.ToUpper(natstest.Names(t).Prefix())
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}})
	require.NoError(t, err)
	count := func() int {
		n, err := bus.LeaderSubjects(t.Context(), js, name, name+".a.>")
		require.NoError(t, err)
		return n
	}
	require.Zero(t, count())
	for _, subject := range []string{".a.x.1", ".a.x.1", ".a.y.2", ".b.x.1"} {
		_, err := js.Publish(t.Context(), name+subject, nil)
		require.NoError(t, err)
	}
	require.Equal(t, 2, count())
	require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject(name+".a.y.2")))
	require.Equal(t, 1, count())
	_, err = bus.LeaderSubjects(t.Context(), js, name+"_NONE", name+".a.>")
	require.Error(t, err)
}

func TestLeaderSequenceIsThatOfTheLastMessage(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	name := strings.ToUpper(natstest.Names(t).Prefix())
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}})
	require.NoError(t, err)
	sequence := func() uint64 {
		n, err := bus.LeaderSequence(t.Context(), js, name)
		require.NoError(t, err)
		return n
	}
	require.Zero(t, sequence())
	for _, subject := range []string{".a", ".b"} {
		_, err := js.Publish(t.Context(), name+subject, nil)
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, sequence())
	require.NoError(t, stream.DeleteMsg(t.Context(), 2))
	require.EqualValues(t, 2, sequence(), "it is gone")
	_, err = bus.LeaderSequence(t.Context(), js, name+"_NONE")
	require.Error(t, err)
}

func TestParseLeader(t *testing.T) {
	t.Parallel()
	m, err := bus.ParseLeader("s", []byte(`{"message":{"subject":"s","seq":7,"hdrs":"TkFUUy8xLjANCkE6IGINCg0K","data":"aGk="}}`))
	require.NoError(t, err)
	require.Equal(t, bus.Message{Subject: "s", Sequence: 7, Header: nats.Header{"A": {"b"}}, Data: []byte("hi")}, m)

	_, err = bus.ParseLeader("s", []byte(`{"error":{"code":404,"err_code":10037,"description":"no message found"}}`))
	require.ErrorIs(t, err, bus.ErrNone)

	_, err = bus.ParseLeader("s", []byte(`{"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}}`))
	require.NotErrorIs(t, err, bus.ErrNone)
	var api *jetstream.APIError
	require.ErrorAs(t, err, &api)
	require.EqualValues(t, 10008, api.ErrorCode)

	for _, text := range []string{"", "nonsense", `{"message":{"data":"not base64"}}`, `[]`} {
		_, err = bus.ParseLeader("s", []byte(text))
		require.ErrorContains(t, err, "bus: read s from the leader")
	}
	// An answer with neither a message nor an error is not one: it must not pass for an empty record.
	for _, text := range []string{`{}`, `null`, `{"message":null}`} {
		_, err = bus.ParseLeader("s", []byte(text))
		require.ErrorContains(t, err, "bus: read s from the leader", text)
		require.NotErrorIs(t, err, bus.ErrNone)
	}
}

func TestParseHeader(t *testing.T) {
	t.Parallel()
	for block, want := range map[string]nats.Header{
		"":                                 {},
		"NATS/1.0\r\n\r\n":                 {},
		"NATS/1.0\r\nA: b\r\n\r\n":         {"A": {"b"}},
		"NATS/1.0\r\nA:b\r\nA:  c\r\n\r\n": {"A": {"b", "c"}},
		"NATS/1.0\r\nA: b: c\r\n\r\n":      {"A": {"b: c"}},
		"NATS/1.0\r\na: b\r\nA:\r\n\r\n":   {"a": {"b"}, "A": {""}},
		"NATS/1.0\r\nno colon\r\nA: b\r\n": {"A": {"b"}},
		"NATS/1.0 404 No Messages\r\n\r\n": {},
	} {
		require.Equal(t, want, bus.ParseHeader([]byte(block)), "%q", block)
	}
}

// FuzzParse: whatever the answer, there is a message with a sequence or an error.
func FuzzParseLeader(f *testing.F) {
	f.Add([]byte(`{"message":{"seq":7,"hdrs":"TkFUUy8xLjANCkE6IGINCg0K","data":"aGk="}}`))
	f.Add([]byte(`{"error":{"err_code":10037}}`))
	f.Add([]byte(`{"message":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := bus.ParseLeader("s", data)
		require.Equal(t, err == nil, m.Sequence != 0)
	})
}

// FuzzParseHeader: what is written as a header block is read as it was.
func FuzzParseHeader(f *testing.F) {
	f.Add("A", "b", "c")
	f.Add("traceparent", "", " x")
	f.Fuzz(func(t *testing.T, name, first, second string) {
		if name == "" || strings.ContainsAny(name, ":\r\n") || strings.ContainsAny(first+second, "\r\n") || !utf8.ValidString(name) {
			return
		}
		first, second = strings.TrimLeft(first, " "), strings.TrimLeft(second, " ")
		header := bus.ParseHeader([]byte("NATS/1.0\r\n" + name + ": " + first + "\r\n" + name + ": " + second + "\r\n\r\n"))
		require.Equal(t, nats.Header{name: {first, second}}, header)
		_, err := json.Marshal(header)
		require.NoError(t, err)
	})
}

func TestLeaderNextReadsFromASequenceOn(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	name := strings.ToUpper(natstest.Names(t).Prefix())
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}})
	require.NoError(t, err)
	for _, subject := range []string{"a.1", "b.1", "a.2", "a.1"} {
		_, err := js.Publish(t.Context(), name+"."+subject, []byte(subject))
		require.NoError(t, err)
	}
	next := func(filter string, from uint64) uint64 {
		message, err := bus.LeaderNext(t.Context(), js, name, name+"."+filter, from)
		require.NoError(t, err)
		return message.Sequence
	}
	require.EqualValues(t, 1, next("a.*", 1))
	require.EqualValues(t, 3, next("a.*", 2))
	require.EqualValues(t, 4, next("a.1", 2))
	_, err = bus.LeaderNext(t.Context(), js, name, name+".b.*", 3)
	require.ErrorIs(t, err, bus.ErrNone)

	message, err := bus.LeaderAt(t.Context(), js, name, 2)
	require.NoError(t, err)
	message.Time = time.Time{}
	require.Equal(t, bus.Message{Subject: name + ".b.1", Sequence: 2, Header: nats.Header{}, Data: []byte("b.1")}, message)
	_, err = bus.LeaderAt(t.Context(), js, name, 5)
	require.ErrorIs(t, err, bus.ErrNone)
}

package bus_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// bundle is a stream of its own, and a reader of its connection.
type bundle struct {
	*testing.T
	js     jetstream.JetStream
	stream string
	reader *bus.Reader
}

func setupReader(t *testing.T) *bundle {
	t.Helper()
	_, js := natstest.Connect(t, natstest.Shared(t))
	name := strings.ToUpper(natstest.Names(t).Prefix())
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: name, Subjects: []string{name + ".>"}, AllowDirect: true, MaxMsgsPerSubject: 1,
	})
	require.NoError(t, err)
	return &bundle{T: t, js: js, stream: name, reader: bus.NewReader(js)}
}

// publish stores a message, and returns it as the reader should.
func (b *bundle) publish(subject string, header nats.Header, data string) bus.Message {
	b.Helper()
	msg := &nats.Msg{Subject: b.stream + "." + subject, Header: header, Data: []byte(data)}
	ack, err := b.js.PublishMsg(b.Context(), msg)
	require.NoError(b, err)
	return bus.Message{Subject: msg.Subject, Sequence: ack.Sequence, Header: header, Data: msg.Data}
}

// fill stores many small messages on subjects of their own.
func (b *bundle) fill(subject string, count int) {
	b.Helper()
	for i := range count {
		_, err := b.js.PublishAsync(fmt.Sprintf("%s.%s.%d", b.stream, subject, i), nil)
		require.NoError(b, err)
	}
	select {
	case <-b.js.PublishAsyncComplete():
	case <-time.After(time.Minute):
		b.Fatal("not all messages were stored")
	}
}

func (b *bundle) last(filters ...string) (found []bus.Message, rest bool) {
	b.Helper()
	for i := range filters {
		filters[i] = b.stream + "." + filters[i]
	}
	found, rest, err := b.reader.Last(b.Context(), b.stream, filters...)
	require.NoError(b, err)
	return found, rest
}

func TestReaderLastReadsTheNewestOfEachSubject(t *testing.T) {
	t.Parallel()
	b := setupReader(t)
	found, rest := b.last("a", "b.*")
	require.Empty(t, found)
	require.False(t, rest)

	_, upTo, _, err := b.reader.LastUpTo(t.Context(), b.stream, b.stream+".a")
	require.NoError(t, err)
	require.Zero(t, upTo, "the server does not say where there is nothing")

	b.publish("a", nil, "old")
	b.publish("c", nil, "not asked for")
	_, upTo, _, err = b.reader.LastUpTo(t.Context(), b.stream, b.stream+".a")
	require.NoError(t, err)
	require.EqualValues(t, 2, upTo)
	want := []bus.Message{
		b.publish("b.1", nats.Header{"One": {"1"}, "Two": {"1", "2"}}, "body"),
		b.publish("b.2", nil, ""),
		b.publish("a", nil, "\x00\xff any bytes \r\n\r\n"),
	}
	found, rest = b.last("a", "b.*", "none")
	require.False(t, rest)
	require.Len(t, found, len(want))
	for i := range want {
		assert.Equal(t, want[i].Subject, found[i].Subject)
		assert.Equal(t, want[i].Sequence, found[i].Sequence)
		assert.Equal(t, string(want[i].Data), string(found[i].Data))
		for name, values := range want[i].Header {
			assert.Equal(t, values, found[i].Header.Values(name))
		}
	}
}

// TestMoreThanTheServerAnswersFor: of 1,024 subjects it tells, of one more it tells none.
func TestMoreThanTheServerAnswersFor(t *testing.T) {
	t.Parallel()
	b := setupReader(t)
	b.fill("few", 1024)
	found, rest := b.last("few.*")
	require.Len(t, found, 1024)
	require.False(t, rest)
	b.publish("few.more", nil, "")
	found, rest = b.last("few.*")
	require.Empty(t, found)
	require.True(t, rest)
	found, rest = b.last("few.7", "few.more")
	require.Len(t, found, 2)
	require.False(t, rest)
}

// TestLargeMessagesAreCutOff: an answer ends after the first megabyte, and says so. The first message is always in it.
func TestLargeMessagesAreCutOff(t *testing.T) {
	t.Parallel()
	b := setupReader(t)
	large := strings.Repeat("x", 400<<10)
	for i := range 5 {
		b.publish(fmt.Sprint(i), nil, large)
	}
	found, rest := b.last("*")
	require.Len(t, found, 3)
	require.True(t, rest)
	for i, m := range found {
		require.Equal(t, fmt.Sprint(b.stream, ".", i), m.Subject)
		require.Equal(t, large, string(m.Data))
	}
	found, rest = b.last("0", "1", "2")
	require.Len(t, found, 3)
	require.False(t, rest, "nothing is left, though the limit is reached")

	b.publish("full", nil, strings.Repeat("x", int(b.js.Conn().MaxPayload())-1024))
	found, rest = b.last("full")
	require.Len(t, found, 1)
	require.False(t, rest)
}

func TestReaderManyAtOnce(t *testing.T) {
	t.Parallel()
	b := setupReader(t)
	for i := range 20 {
		for j := range i {
			b.publish(fmt.Sprintf("%d.%d", i, j), nil, "")
		}
	}
	var running sync.WaitGroup
	for i := range 200 {
		running.Go(func() {
			subject := fmt.Sprintf("%s.%d", b.stream, i%20)
			found, rest, err := b.reader.Last(t.Context(), b.stream, subject+".*")
			assert.NoError(t, err)
			assert.False(t, rest)
			assert.Len(t, found, i%20)
			for _, m := range found {
				assert.True(t, strings.HasPrefix(m.Subject, subject+"."))
			}
		})
	}
	running.Wait()
}

func TestErrorsAreNotAbsence(t *testing.T) {
	t.Parallel()
	b := setupReader(t)
	_, _, err := b.reader.Last(t.Context(), b.stream+"_NONE", "x")
	require.ErrorIs(t, err, nats.ErrNoResponders)
	_, _, err = b.reader.Last(t.Context(), b.stream)
	require.ErrorContains(t, err, "the server says 408 Empty Request", "no filter is not all")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = b.reader.Last(ctx, b.stream, "x")
	require.ErrorIs(t, err, context.Canceled)

	conn, js := natstest.Connect(t, natstest.Shared(t))
	reader := bus.NewReader(js)
	_, _, err = reader.Last(t.Context(), b.stream, "x")
	require.NoError(t, err)
	conn.Close()
	_, _, err = reader.Last(t.Context(), b.stream, "x")
	require.ErrorIs(t, err, nats.ErrConnectionClosed)
	_, _, err = bus.NewReader(js).Last(t.Context(), b.stream, "x")
	require.ErrorIs(t, err, nats.ErrConnectionClosed)
}

// TestTornAnswers: what the server has sent and the client has lost must not look like records that are not there.
func TestTornAnswers(t *testing.T) {
	t.Parallel()
	part := func(sequence, previous string) *nats.Msg {
		return &nats.Msg{Header: nats.Header{"Nats-Sequence": {sequence}, "Nats-Last-Sequence": {previous}}}
	}
	end := func(previous, pending string) *nats.Msg {
		return &nats.Msg{Header: nats.Header{
			"Status": {"204"}, "Description": {"EOB"}, "Nats-Last-Sequence": {previous}, "Nats-Num-Pending": {pending},
		}}
	}
	found, rest, err := bus.Result(part("3", "0"), part("8", "3"), end("8", "0"))
	require.NoError(t, err)
	require.False(t, rest)
	require.Len(t, found, 2)
	_, rest, err = bus.Result(part("3", "0"), part("8", "3"), end("8", "4"))
	require.NoError(t, err)
	require.True(t, rest)
	for name, parts := range map[string][]*nats.Msg{
		"the first": {part("8", "3"), end("8", "0")},
		"the last":  {part("3", "0"), end("8", "0")},
		"one":       {part("3", "0"), part("9", "8"), end("9", "0")},
		"all":       {end("9", "0")},
		"a header":  {part("", "0"), end("", "0")},
	} {
		_, _, err := bus.Result(parts...)
		require.Error(t, err, name)
	}
	// The server says so where a message that it was about to send has vanished from its store.
	_, _, err = bus.Result(part("3", "0"), &nats.Msg{Header: nats.Header{
		"Status": {"404"}, "Description": {"Message Not Found"},
	}})
	require.ErrorContains(t, err, "404 Message Not Found")
}

func TestAPIPrefix(t *testing.T) {
	t.Parallel()
	require.Equal(t, "$JS.API.", bus.APIPrefix(jetstream.JetStreamOptions{}))
	require.Equal(t, "$JS.hub.API.", bus.APIPrefix(jetstream.JetStreamOptions{Domain: "hub"}))
	require.Equal(t, "my.", bus.APIPrefix(jetstream.JetStreamOptions{APIPrefix: "my"}))
	require.Equal(t, "my.", bus.APIPrefix(jetstream.JetStreamOptions{APIPrefix: "my."}))
}

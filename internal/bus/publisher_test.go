package bus_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

func setupPublisher(t *testing.T) (p *bus.Publisher, stream jetstream.Stream, subject string) {
	t.Helper()
	_, js := natstest.Connect(t, natstest.Shared(t))
	names := natstest.Names(t)
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: names.EventStream(), Subjects: []string{names.Prefix() + ".>"}, Storage: jetstream.MemoryStorage, MaxMsgSize: 100,
	})
	require.NoError(t, err)
	p = bus.NewPublisher(js)
	t.Cleanup(p.Close)
	return p, stream, names.Prefix() + ".a"
}

func message(subject string, size int) *nats.Msg {
	return &nats.Msg{Subject: subject, Data: make([]byte, size)}
}

func TestPublish(t *testing.T) {
	t.Parallel()
	p, stream, subject := setupPublisher(t)
	sequence, err := p.Publish(t.Context(), message(subject, 1))
	require.NoError(t, err)
	require.EqualValues(t, 1, sequence)
	require.NoError(t, p.PublishAll(t.Context(), []*nats.Msg{message(subject, 2), message(subject, 3)}))
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, info.State.Msgs)
}

// TestRefused: what the server says reaches the caller, also of one among several.
func TestPublishRefused(t *testing.T) {
	t.Parallel()
	p, _, subject := setupPublisher(t)
	var refused *jetstream.APIError
	_, err := p.Publish(t.Context(), message(subject, 101))
	require.ErrorAs(t, err, &refused)
	err = p.PublishAll(t.Context(), []*nats.Msg{message(subject, 1), message(subject, 101), message(subject, 1)})
	require.ErrorAs(t, err, &refused)
	_, err = p.Publish(t.Context(), &nats.Msg{Subject: "nobody.listens"})
	require.ErrorIs(t, err, jetstream.ErrNoStreamResponse)
}

// hear subscribes to a subject of which no stream knows.
func hear(t *testing.T) (nc *nats.Conn, subject string, heard *nats.Subscription) {
	t.Helper()
	nc, _ = natstest.Connect(t, natstest.Shared(t))
	subject = nc.NewInbox()
	heard, err := nc.SubscribeSync(subject)
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	return nc, subject, heard
}

// TestNoAcknowledgement: where nobody answers, the waiting ends.
func TestNoAcknowledgement(t *testing.T) {
	t.Parallel()
	p, _, subject := setupPublisher(t)
	_, silent, _ := hear(t)
	_, err := p.Publish(t.Context(), message(subject, 1))
	require.NoError(t, err)
	_, err = p.Publish(t.Context(), message(silent, 1))
	require.ErrorIs(t, err, jetstream.ErrAsyncPublishTimeout)
}

// TestWhatIsNoAcknowledgement: whoever hears a message may answer it, as a frontend does that is asked to answer there. That ends no waiting.
func TestWhatIsNoAcknowledgement(t *testing.T) {
	t.Parallel()
	p, _, _ := setupPublisher(t)
	nc, _ := natstest.Connect(t, natstest.Shared(t))
	subject := nc.NewInbox()
	_, err := nc.Subscribe(subject, func(msg *nats.Msg) {
		for _, body := range []string{`{"namespace":"n","id":"s"}`, `[]`, `null`, ``, `{"stream":""}`, `{"error":{}}`, `{"stream":"s","seq":7}`} {
			_ = msg.Respond([]byte(body))
		}
	})
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	sequence, err := p.Publish(t.Context(), message(subject, 1))
	require.NoError(t, err)
	require.EqualValues(t, 7, sequence)
}

// TestNoAcknowledgementIsGuessed: who has heard where the last message is to be acknowledged knows nothing of the next.
func TestNoAcknowledgementIsGuessed(t *testing.T) {
	t.Parallel()
	p, _, _ := setupPublisher(t)
	nc, subject, heard := hear(t)
	sent := make(chan error, 2)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 {
		go func() {
			_, err := p.Publish(ctx, message(subject, 1))
			sent <- err
		}()
	}
	first, err := heard.NextMsg(5 * time.Second)
	require.NoError(t, err)
	_, err = heard.NextMsg(5 * time.Second)
	require.NoError(t, err)
	require.NoError(t, first.Respond([]byte(`{"stream":"s","seq":1}`)))
	require.NoError(t, <-sent)
	place := strings.LastIndexByte(first.Reply, '.') + 1
	number, err := strconv.ParseUint(first.Reply[place:], 36, 64)
	require.NoError(t, err)
	for near := number - 1000; near != number+1000; near++ {
		require.NoError(t, nc.Publish(first.Reply[:place]+strconv.FormatUint(near, 36), []byte(`{"stream":"s","seq":2}`)))
	}
	require.NoError(t, nc.Flush())
	cancel()
	require.ErrorIs(t, <-sent, context.Canceled)
}

// TestNothingIsSentForNobody: a context that has ended is respected before anything leaves the process.
func TestNothingIsSentForNobody(t *testing.T) {
	t.Parallel()
	p, stream, subject := setupPublisher(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Publish(ctx, message(subject, 1))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, p.PublishAll(ctx, []*nats.Msg{message(subject, 1)}), context.Canceled)
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	require.Zero(t, info.State.Msgs)
}

// TestLostConnection: who waits for an acknowledgement learns at once that it will not come.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	server := natstest.Server(t)
	_, js := natstest.Connect(t, server)
	held, err := js.Conn().Subscribe("held", func(*nats.Msg) {}) // and never answers
	require.NoError(t, err)
	require.NoError(t, js.Conn().Flush())
	t.Cleanup(func() { _ = held.Unsubscribe() })
	for name, c := range map[string]struct {
		lose func(nc *nats.Conn)
		want error
	}{
		"reconnects": {func(nc *nats.Conn) { require.NoError(t, nc.ForceReconnect()) }, nats.ErrDisconnected},
		"is closed":  {func(nc *nats.Conn) { nc.Close() }, nats.ErrConnectionClosed},
	} {
		nc, js := natstest.Connect(t, server)
		p := bus.NewPublisher(js)
		result := make(chan error, 1)
		go func() {
			_, err := p.Publish(t.Context(), message("held", 1))
			result <- err
		}()
		require.Eventually(t, func() bool { return nc.Stats().OutMsgs > 0 }, natstest.Patience, time.Millisecond)
		c.lose(nc)
		require.ErrorIs(t, <-result, c.want, name)
		p.Close()
		_, err := p.Publish(t.Context(), message("held", 1))
		require.ErrorIs(t, err, nats.ErrConnectionClosed, "closed as well")
	}
}

// TestEachItsOwn: many goroutines on one connection get their own sequences.
func TestEachAcknowledgementIsItsOwn(t *testing.T) {
	t.Parallel()
	p, stream, subject := setupPublisher(t)
	var publishing errgroup.Group
	for i := range 20 {
		publishing.Go(func() error {
			for j := range 50 {
				body := fmt.Sprintf("%d.%d", i, j)
				sequence, err := p.Publish(t.Context(), &nats.Msg{Subject: subject, Data: []byte(body)})
				if err != nil {
					return err
				}
				stored, err := stream.GetMsg(t.Context(), sequence)
				if err != nil {
					return err
				}
				if string(stored.Data) != body {
					return fmt.Errorf("sequence %d has %s, not %s", sequence, stored.Data, body)
				}
			}
			return nil
		})
	}
	require.NoError(t, publishing.Wait())
}

func BenchmarkPublish(b *testing.B) {
	_, js := natstest.Connect(b, natstest.Shared(b))
	names := natstest.Names(b)
	_, err := js.CreateStream(b.Context(), jetstream.StreamConfig{
		Name: names.EventStream(), Subjects: []string{names.Prefix() + ".a"}, Storage: jetstream.MemoryStorage, MaxMsgs: 1000,
	})
	require.NoError(b, err)
	p := bus.NewPublisher(js)
	defer p.Close()
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := p.Publish(b.Context(), message(names.Prefix()+".a", 600)); err != nil {
				b.Error(err)
			}
		}
	})
}

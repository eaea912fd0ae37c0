package backup

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/sleep"
)

// message is a message that a stream has got since its snapshot.
type message struct {
	Sequence uint64      `json:"sequence"`
	Subject  string      `json:"subject"`
	Header   nats.Header `json:"header,omitempty"`
	Data     []byte      `json:"data,omitempty"`
}

const (
	// tailBatch is how many messages are requested at once, tailPause the wait for a replica that does not have all of them yet.
	tailBatch = 500
	tailPause = 20 * time.Millisecond
	// tailIdle is how long the server keeps a consumer whose reader has died.
	tailIdle = time.Minute
)

// follow visits the messages that a stream got after a sequence, in order, and returns at a moment when there are no more. The
// stream keeps its messages. Then every message that the stream has at that moment has been visited, or was there during the
// whole snapshot and is in it. A message that is replaced disappears before or after its visit, and its replacement is visited
// later.
//
// A replica that lags behind may serve the consumer. follow waits until it has what the leader had when follow was called.
func (a api) follow(ctx context.Context, name string, after uint64, visit func(*message) error) error {
	var consumer jetstream.Consumer
	var until uint64
	err := patiently(ctx, func() error {
		stream, err := a.js.Stream(ctx, name)
		if err != nil {
			return err
		}
		until = stream.CachedInfo().State.LastSeq
		consumer, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
			DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
			AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: tailIdle,
		})
		return err
	})
	if err != nil {
		return err
	}
	defer a.drop(ctx, consumer)
	for last := after; ; {
		var count int
		err := patiently(ctx, func() (err error) {
			count, err = take(consumer, func(m *message) error {
				last = m.Sequence
				return visit(m)
			})
			return err
		})
		if err != nil {
			return err
		}
		if count > 0 {
			continue
		}
		if last >= until {
			return nil
		}
		// Nobody needs to wait for a message that is gone again.
		if _, err := a.next(ctx, name, until, ">"); errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		if err := sleep.For(ctx, tailPause); err != nil {
			return err
		}
	}
}

// take visits the messages that a consumer has right now, and returns how many there were.
func take(consumer jetstream.Consumer, visit func(*message) error) (int, error) {
	batch, err := consumer.FetchNoWait(tailBatch)
	if err != nil {
		return 0, err
	}
	count := 0
	var failed error
	for msg := range batch.Messages() {
		count++
		meta, err := msg.Metadata()
		if err == nil && failed == nil {
			err = visit(&message{Sequence: meta.Sequence.Stream, Subject: msg.Subject(), Header: msg.Headers(), Data: msg.Data()})
		}
		failed = errors.Join(failed, err)
	}
	if failed != nil || count > 0 {
		return count, failed // the next call reports what is wrong with the rest
	}
	return 0, batch.Error()
}

func (a api) drop(ctx context.Context, consumer jetstream.Consumer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	info := consumer.CachedInfo()
	_ = a.js.DeleteConsumer(ctx, info.Stream, info.Name) // otherwise the server does it later
}

// walk visits the messages of a work queue that match a subject, from one sequence to another, both inclusive. A work queue gives
// its messages to no second consumer, so walk asks the leader for one after the other.
func (a api) walk(ctx context.Context, stream string, from, to uint64, subject string, visit func(*message) error) error {
	for from <= to {
		m, err := a.next(ctx, stream, from, subject)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return nil
		case err != nil:
			return err
		case m.Sequence > to:
			return nil
		}
		if err := visit(m); err != nil {
			return err
		}
		from = m.Sequence + 1
	}
	return nil
}

// next asks the leader for the first message from a sequence on that matches a subject; jetstream.ErrMsgNotFound if there is
// none.
func (a api) next(ctx context.Context, stream string, from uint64, subject string) (*message, error) {
	var answer struct {
		Message struct {
			Sequence uint64 `json:"seq"`
			Subject  string `json:"subject"`
			Header   []byte `json:"hdrs"`
			Data     []byte `json:"data"`
		} `json:"message"`
	}
	request := map[string]any{"seq": max(from, 1), "next_by_subj": subject}
	err := patiently(ctx, func() error { return a.call(ctx, "STREAM.MSG.GET", stream, request, &answer) })
	if bus.CodeOf(err) == jetstream.JSErrCodeMessageNotFound {
		return nil, jetstream.ErrMsgNotFound
	}
	if err != nil {
		return nil, err
	}
	m := &message{Sequence: answer.Message.Sequence, Subject: answer.Message.Subject, Data: answer.Message.Data}
	if len(answer.Message.Header) > 0 {
		if m.Header, err = nats.DecodeHeadersMsg(answer.Message.Header); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// writeTail writes a message as a line of JSON.
func writeTail(to io.Writer, m *message) error { return json.NewEncoder(to).Encode(m) }

// readTail visits the messages of a tail.
func readTail(dir string, stream *Stream, visit func(*message) error) error {
	file, err := stream.Tail.open(dir)
	if err != nil {
		return err
	}
	defer file.Close()
	decoder := json.NewDecoder(bufio.NewReader(file))
	for {
		var m message
		switch err := decoder.Decode(&m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return damaged("%s: %v", stream.Tail.Name, err)
		}
		if err := visit(&m); err != nil {
			return fmt.Errorf("%s: %w", stream.Tail.Name, err)
		}
	}
}

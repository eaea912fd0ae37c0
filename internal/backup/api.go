package backup

import (
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

const (
	// chunkSize is how much of a snapshot goes into one message, windowSize how much may be in transit at once.
	chunkSize  = 128 << 10
	windowSize = 4 << 20
	// answerTimeout limits the wait for an answer, and for the next chunk. Before it takes a snapshot, a server reads the
	// messages of a stream that has not been used for long.
	answerTimeout = 30 * time.Second
	// finishTimeout limits the wait until a stream is there, once all of its snapshot has been sent.
	finishTimeout = 5 * time.Minute
)

// api is the part of the JetStream API that nats.go does not offer.
type api struct {
	js   jetstream.JetStream
	conn *nats.Conn
}

func newAPI(js jetstream.JetStream) api { return api{js: js, conn: js.Conn()} }

// call sends a request and decodes the answer. If the answer has an error, call returns it.
func (a api) call(ctx context.Context, verb, stream string, request, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	reply, err := bus.Ask(ctx, a.js, verb+"."+stream, request)
	if err != nil {
		return err
	}
	return decodeAnswer(reply.Data, answer)
}

func decodeAnswer(data []byte, answer any) error {
	var failed struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(data, &failed); err != nil {
		return fmt.Errorf("the answer of the server cannot be read: %w", err)
	}
	if failed.Error != nil {
		return failed.Error
	}
	return json.Unmarshal(data, answer)
}

// snapshot is what the server says about a snapshot.
type snapshot struct {
	Config json.RawMessage `json:"config"`
	State  json.RawMessage `json:"state"`
}

// sequences is the part of the state of a stream that a backup needs.
type sequences struct {
	Messages uint64 `json:"messages"`
	LastSeq  uint64 `json:"last_seq"`
}

func (s *snapshot) sequences() (sequences, error) {
	var state sequences
	err := json.Unmarshal(s.State, &state)
	return state, err
}

// download copies the snapshot of a stream without its consumers. A work queue needs none: what it stores has not been
// acknowledged, and nothing else matters.
func (a api) download(ctx context.Context, stream string, to io.Writer) (snapshot, error) {
	var s snapshot
	inbox := a.conn.NewInbox()
	sub, err := a.conn.SubscribeSync(inbox)
	if err != nil {
		return s, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := sub.SetPendingLimits(-1, -1); err != nil { // the window limits it
		return s, err
	}
	request := map[string]any{
		"deliver_subject": inbox, "no_consumers": true, "jsck": true,
		"chunk_size": min(chunkSize, int(a.conn.MaxPayload())/2), "window_size": windowSize,
	}
	if err := a.call(ctx, "STREAM.SNAPSHOT", stream, request, &s); err != nil {
		return s, err
	}
	for {
		done, err := a.chunk(ctx, sub, to)
		if done || err != nil {
			return s, err
		}
	}
}

// chunk receives one message of a snapshot. An empty one is the end. If its status is not success, it says why.
func (a api) chunk(ctx context.Context, sub *nats.Subscription, to io.Writer) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	msg, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		return false, fmt.Errorf("the server has stopped sending: %w", err)
	}
	if len(msg.Data) == 0 {
		if status := msg.Header.Get("Status"); status != "" && status != "204" {
			return false, fmt.Errorf("the server has given up: %s %s", status, msg.Header.Get("Description"))
		}
		return true, nil
	}
	if _, err := to.Write(msg.Data); err != nil {
		return false, err
	}
	if msg.Reply == "" {
		return false, nil // the last chunk
	}
	return false, a.conn.Publish(msg.Reply, nil)
}

// upload restores a stream from a snapshot.
func (a api) upload(ctx context.Context, stream string, config, state json.RawMessage, from io.Reader) error {
	var accepted struct {
		Deliver string `json:"deliver_subject"`
	}
	request := map[string]json.RawMessage{"config": config, "state": state}
	if err := a.call(ctx, "STREAM.RESTORE", stream, request, &accepted); err != nil {
		return err
	}
	chunk := make([]byte, min(chunkSize, int(a.conn.MaxPayload())/2))
	for {
		n, err := io.ReadFull(from, chunk)
		if n == 0 {
			if err == io.EOF {
				return a.send(ctx, accepted.Deliver, nil, finishTimeout)
			}
			return err
		}
		if err := a.send(ctx, accepted.Deliver, chunk[:n], answerTimeout); err != nil {
			return err
		}
	}
}

// send sends one chunk and waits until the server has dealt with it. It repeats only a chunk that nobody has received.
func (a api) send(ctx context.Context, subject string, chunk []byte, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		reply, err := a.conn.RequestWithContext(ctx, subject, chunk)
		switch {
		case errors.Is(err, nats.ErrNoResponders):
			if err := sleep.For(ctx, patienceDelay); err != nil {
				return nats.ErrNoResponders
			}
		case err != nil || len(reply.Data) == 0:
			return err
		default:
			return decodeAnswer(reply.Data, &struct{}{})
		}
	}
}

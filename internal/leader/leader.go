// Package leader reads messages from the leader of a stream, and counts them.
//
// Streams that allow direct reads are answered by any replica, which may lag behind; nats.go always asks that way. Where
// a decision needs what was acknowledged before, this package asks the leader instead. It may be imported by kv and the
// pools, and must never grow beyond reading.
package leader

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/replica"
)

// ErrNone: the subject has no message.
var ErrNone = errors.New("leader: no message on the subject")

// Message is a stored message.
type Message struct {
	Subject  string
	Time     time.Time
	Sequence uint64
	Header   nats.Header
	Data     []byte
}

// timeout bounds a read: while a stream has no leader nobody answers.
const timeout = 5 * time.Second

// Last returns the last message of a subject. The error is ErrNone or one of NATS, which may be tried again.
func Last(ctx context.Context, js jetstream.JetStream, stream, subject string) (Message, error) {
	return get(ctx, js, stream, subject, map[string]any{"last_by_subj": subject})
}

// Next returns the first message from a sequence on, which is 1 or more, whose subject matches a filter. The errors are those of Last.
func Next(ctx context.Context, js jetstream.JetStream, stream, filter string, from uint64) (Message, error) {
	return get(ctx, js, stream, filter, map[string]any{"seq": from, "next_by_subj": filter})
}

// At returns the message that a stream has at a sequence, which is 1 or more. The errors are those of Last.
func At(ctx context.Context, js jetstream.JetStream, stream string, sequence uint64) (Message, error) {
	return get(ctx, js, stream, strconv.FormatUint(sequence, 10), map[string]any{"seq": sequence})
}

func get(ctx context.Context, js jetstream.JetStream, stream, subject string, what map[string]any) (Message, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := json.Marshal(what)
	if err != nil {
		return Message{}, err
	}
	reply, err := js.Conn().RequestWithContext(ctx, replica.APIPrefix(js.Options())+"STREAM.MSG.GET."+stream, request)
	if err != nil {
		return Message{}, fmt.Errorf("leader: read %s: %w", subject, err)
	}
	return parse(subject, reply.Data)
}

// beyond is behind the last subject of any stream.
const beyond = math.MaxInt32

// Subjects counts the subjects of a stream that have messages and match a filter. The server lists them from an offset on, so
// it is asked for those behind the last: then the answer is small, however many there are.
func Subjects(ctx context.Context, js jetstream.JetStream, stream, filter string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var info struct {
		Total int `json:"total"`
	}
	err := ask(ctx, js, stream, map[string]any{"subjects_filter": filter, "offset": beyond}, &info)
	if err != nil {
		return 0, fmt.Errorf("leader: count subjects of %s: %w", stream, err)
	}
	return info.Total, nil
}

// Sequence returns the sequence of the last message of a stream, which may be gone again; 0 of one that never had any.
func Sequence(ctx context.Context, js jetstream.JetStream, stream string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var info struct {
		State *struct {
			Last uint64 `json:"last_seq"`
		} `json:"state"`
	}
	err := ask(ctx, js, stream, map[string]any{}, &info)
	if err == nil && info.State == nil {
		err = errors.New("the answer holds no state of the stream and no error")
	}
	if err != nil {
		return 0, fmt.Errorf("leader: ask for the last sequence of %s: %w", stream, err)
	}
	return info.State.Last, nil
}

// ask asks the leader of a stream about it.
func ask(ctx context.Context, js jetstream.JetStream, stream string, question map[string]any, info any) error {
	request, err := json.Marshal(question)
	if err != nil {
		return err
	}
	reply, err := js.Conn().RequestWithContext(ctx, replica.APIPrefix(js.Options())+"STREAM.INFO."+stream, request)
	if err != nil {
		return err
	}
	var failure struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &failure); err != nil {
		return err
	}
	if failure.Error != nil {
		return failure.Error
	}
	return json.Unmarshal(reply.Data, info)
}

// answer is the part of the server's reply that matters here.
type answer struct {
	Error   *jetstream.APIError `json:"error"`
	Message struct {
		Subject  string    `json:"subject"`
		Time     time.Time `json:"time"`
		Sequence uint64    `json:"seq"`
		Header   []byte    `json:"hdrs"`
		Data     []byte    `json:"data"`
	} `json:"message"`
}

func parse(subject string, data []byte) (Message, error) {
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return Message{}, fmt.Errorf("leader: read %s: %w", subject, err)
	}
	if a.Error != nil {
		if a.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
			return Message{}, fmt.Errorf("%w: %s", ErrNone, subject)
		}
		return Message{}, fmt.Errorf("leader: read %s: %w", subject, a.Error)
	}
	if a.Message.Sequence == 0 {
		return Message{}, fmt.Errorf("leader: read %s: the answer holds no message and no error", subject)
	}
	return Message{Subject: a.Message.Subject, Time: a.Message.Time, Sequence: a.Message.Sequence, Header: parseHeader(a.Message.Header), Data: a.Message.Data}, nil
}

// parseHeader reads the NATS/1.0 header block: a version line, then one "Name: value" a line.
func parseHeader(block []byte) nats.Header {
	_, rest, _ := bytes.Cut(block, []byte("\r\n"))
	header := nats.Header{}
	for line := range strings.SplitSeq(string(rest), "\r\n") {
		name, value, ok := strings.Cut(line, ":")
		if ok {
			header.Add(name, strings.TrimLeft(value, " "))
		}
	}
	return header
}

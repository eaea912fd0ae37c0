package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrNone: the subject has no message.
var ErrNone = errors.New("bus: no message on the subject")

// Message is a stored message.
type Message struct {
	Subject string
	// Time is when NATS stored the message, by its own clock. It is zero in messages that a [Reader] returns.
	Time     time.Time
	Sequence uint64
	Header   nats.Header
	Data     []byte
}

// LeaderLast asks the leader of a stream for the last message of a subject. The error is [ErrNone], or an error of NATS; the caller may
// try again after the latter.
func LeaderLast(ctx context.Context, js jetstream.JetStream, stream, subject string) (Message, error) {
	return leaderGet(ctx, js, stream, subject, map[string]any{"last_by_subj": subject})
}

// LeaderNext returns the first message at or after a sequence, which is 1 or more, whose subject matches a filter. It has the errors of
// [LeaderLast].
func LeaderNext(ctx context.Context, js jetstream.JetStream, stream, filter string, from uint64) (Message, error) {
	return leaderGet(ctx, js, stream, filter, map[string]any{"seq": from, "next_by_subj": filter})
}

// LeaderAt returns the message at a sequence of a stream, which is 1 or more. It has the errors of [LeaderLast].
func LeaderAt(ctx context.Context, js jetstream.JetStream, stream string, sequence uint64) (Message, error) {
	return leaderGet(ctx, js, stream, strconv.FormatUint(sequence, 10), map[string]any{"seq": sequence})
}

func leaderGet(ctx context.Context, js jetstream.JetStream, stream, subject string, what map[string]any) (Message, error) {
	ctx, cancel := ForAnswer(ctx)
	defer cancel()
	reply, err := Ask(ctx, js, "STREAM.MSG.GET."+stream, what)
	if err != nil {
		return Message{}, fmt.Errorf("bus: read %s from the leader: %w", subject, err)
	}
	return parseLeader(subject, reply.Data)
}

// beyondAll is an offset behind the last subject of any stream.
const beyondAll = math.MaxInt32

// LeaderSubjects counts the subjects of a stream that have messages and match a filter. The server lists subjects from an offset on and
// tells their number. The offset here is behind the last subject, so the list is empty and the answer small.
func LeaderSubjects(ctx context.Context, js jetstream.JetStream, stream, filter string) (int, error) {
	ctx, cancel := ForAnswer(ctx)
	defer cancel()
	var info struct {
		Total int `json:"total"`
	}
	err := leaderInfo(ctx, js, stream, map[string]any{"subjects_filter": filter, "offset": beyondAll}, &info)
	if err != nil {
		return 0, fmt.Errorf("bus: count subjects of %s: %w", stream, err)
	}
	return info.Total, nil
}

// leaderCounts returns how many messages each subject has that matches a filter.
func leaderCounts(ctx context.Context, js jetstream.JetStream, stream, filter string) (map[string]uint64, error) {
	ctx, cancel := ForAnswer(ctx)
	defer cancel()
	all := map[string]uint64{}
	for {
		var info struct {
			Total int `json:"total"`
			State struct {
				Subjects map[string]uint64 `json:"subjects"`
			} `json:"state"`
		}
		err := leaderInfo(ctx, js, stream, map[string]any{"subjects_filter": filter, "offset": len(all)}, &info)
		if err != nil {
			return nil, fmt.Errorf("bus: count messages of %s: %w", stream, err)
		}
		before := len(all)
		maps.Copy(all, info.State.Subjects)
		if len(all) >= info.Total || len(all) == before {
			return all, nil
		}
	}
}

// LeaderSequence returns the sequence of the last message that a stream has stored, even if the message is gone; 0 if it never had one.
func LeaderSequence(ctx context.Context, js jetstream.JetStream, stream string) (uint64, error) {
	ctx, cancel := ForAnswer(ctx)
	defer cancel()
	var info struct {
		State *struct {
			Last uint64 `json:"last_seq"`
		} `json:"state"`
	}
	err := leaderInfo(ctx, js, stream, map[string]any{}, &info)
	if err == nil && info.State == nil {
		err = errors.New("the answer holds no state of the stream and no error")
	}
	if err != nil {
		return 0, fmt.Errorf("bus: ask for the last sequence of %s: %w", stream, err)
	}
	return info.State.Last, nil
}

// leaderInfo asks the leader of a stream about it.
func leaderInfo(ctx context.Context, js jetstream.JetStream, stream string, question map[string]any, info any) error {
	reply, err := Ask(ctx, js, "STREAM.INFO."+stream, question)
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

// leaderAnswer is the part of the server's reply that matters here.
type leaderAnswer struct {
	Error   *jetstream.APIError `json:"error"`
	Message struct {
		Subject  string    `json:"subject"`
		Time     time.Time `json:"time"`
		Sequence uint64    `json:"seq"`
		Header   []byte    `json:"hdrs"`
		Data     []byte    `json:"data"`
	} `json:"message"`
}

func parseLeader(subject string, data []byte) (Message, error) {
	var a leaderAnswer
	if err := json.Unmarshal(data, &a); err != nil {
		return Message{}, fmt.Errorf("bus: read %s from the leader: %w", subject, err)
	}
	if a.Error != nil {
		if a.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
			return Message{}, fmt.Errorf("%w: %s", ErrNone, subject)
		}
		return Message{}, fmt.Errorf("bus: read %s from the leader: %w", subject, a.Error)
	}
	if a.Message.Sequence == 0 {
		return Message{}, fmt.Errorf("bus: read %s from the leader: the answer holds no message and no error", subject)
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

package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// defaultNATSTimeout bounds the wait for a reply or an acknowledgement.
const defaultNATSTimeout = 5 * time.Second

// TypeNATS is the type of the failures of the nats action. They are retryable.
const TypeNATS = "nats"

// natsInput is the input of the nats action.
type natsInput struct {
	Subject string            `json:"subject"`
	Headers map[string]string `json:"headers"`
	// Body is the data of the message. A text is sent as it is, anything else as JSON.
	Body json.RawMessage `json:"body"`
	// Mode is publish (the default), request or stream.
	Mode natsMode `json:"mode"`
	// Timeout bounds the wait for a reply or an acknowledgement.
	Timeout schedule.Duration `json:"timeout"`
}

// natsMode says what the nats action waits for.
type natsMode string

const (
	// natsPublish waits until the server has received the message.
	natsPublish natsMode = "publish"
	// natsRequest waits for a reply, which becomes the result.
	natsRequest natsMode = "request"
	// natsStream waits until a stream has stored the message. The message ID is the request ID, so the stream stores repeats within its
	// window only once.
	natsStream natsMode = "stream"
)

// NATSStored is the result of the nats action in mode stream.
type NATSStored struct {
	Stream    string `json:"stream"`
	Sequence  uint64 `json:"sequence"`
	Duplicate bool   `json:"duplicate,omitempty"`
}

// natsAction sends messages over the connection of the worker, with its permissions.
type natsAction struct {
	conn   *nats.Conn
	prefix string
}

func (n *natsAction) handle(ctx context.Context, run *worker.Run) (any, error) {
	var in natsInput
	if err := decode(run, &in); err != nil {
		return nil, err
	}
	msg, err := n.message(run, &in)
	if err != nil {
		return nil, err
	}
	ctx, cancel := withTimeout(ctx, in.Timeout, defaultNATSTimeout)
	defer cancel()
	telemetry.Inject(ctx, msg.Header)
	result, err := n.send(ctx, in.Mode, msg)
	if err != nil {
		return nil, &worker.Error{Type: TypeNATS, Message: "subject " + msg.Subject, Err: because(ctx, err)}
	}
	return result, nil
}

// message makes the message that the input asks for.
func (n *natsAction) message(run *worker.Run, in *natsInput) (*nats.Msg, error) {
	expand := newExpander(run)
	msg := nats.NewMsg(expand.text("subject", in.Subject, subjectToken))
	for name, value := range expand.texts("headers", in.Headers) {
		if strings.HasPrefix(strings.ToLower(name), "nats-") || strings.ContainsAny(name+value, "\r\n") {
			return nil, worker.InvalidInput("headers: %q: %q may not be set", name, value)
		}
		msg.Header.Set(name, value)
	}
	body, isJSON := expand.payload("body", in.Body)
	if expand.err != nil {
		return nil, expand.err
	}
	msg.Data = body
	if isJSON && msg.Header.Get("Content-Type") == "" {
		msg.Header.Set("Content-Type", "application/json")
	}
	if in.Mode == natsStream {
		msg.Header.Set(nats.MsgIdHdr, run.RequestID)
	}
	if err := checkTimeout(in.Timeout); err != nil {
		return nil, err
	}
	return msg, n.check(msg.Subject, in.Mode)
}

// check keeps schedules from addressing the installation itself, or the server, with the rights of the worker.
func (n *natsAction) check(subject string, mode natsMode) error {
	first, _, _ := strings.Cut(subject, ".")
	switch {
	case mode != "" && mode != natsPublish && mode != natsRequest && mode != natsStream:
		return worker.InvalidInput("mode: %q must be publish, request or stream", mode)
	case !isLiteral(subject):
		return worker.InvalidInput("subject: %q must be tokens joined by dots, without spaces and wildcards", subject)
	case first == n.prefix || strings.HasPrefix(first, "$") || strings.HasPrefix(first, "_"):
		return worker.InvalidInput("subject: %q is reserved: it must not begin with $, _ or %s", subject, n.prefix+".")
	}
	return nil
}

// isLiteral reports whether a subject can be published on.
func isLiteral(subject string) bool {
	for token := range strings.SplitSeq(subject, ".") {
		if token == "" || strings.ContainsAny(token, " \t\r\n*>") {
			return false
		}
	}
	return true
}

// subjectToken turns a value into one valid subject token.
func subjectToken(value string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(". \t\r\n*>", r) {
			return '_'
		}
		return r
	}, value)
}

func (n *natsAction) send(ctx context.Context, mode natsMode, msg *nats.Msg) (any, error) {
	switch mode {
	case natsRequest:
		reply, err := n.conn.RequestMsgWithContext(ctx, msg)
		if err != nil {
			return nil, err
		}
		return asResult(reply.Data), nil
	case natsStream:
		return n.store(ctx, msg)
	default:
		return nil, errors.Join(n.conn.PublishMsg(msg), n.conn.FlushWithContext(ctx))
	}
}

func (n *natsAction) store(ctx context.Context, msg *nats.Msg) (any, error) {
	js, err := jetstream.New(n.conn)
	if err != nil {
		return nil, err
	}
	ack, err := js.PublishMsg(ctx, msg)
	if err != nil {
		return nil, err
	}
	return NATSStored{Stream: ack.Stream, Sequence: ack.Sequence, Duplicate: ack.Duplicate}, nil
}

package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// maxBytes is the size at which the server cuts an answer. An answer must not fill the buffers of the connection.
	maxBytes = 1 << 20
)

// errTorn says that a part of an answer was lost on the way.
var errTorn = errors.New("the answer is not complete: ask again")

// Reader reads streams through one connection, from any replica. It keeps one subscription as long as the connection lives. It is safe for
// concurrent use.
type Reader struct {
	js jetstream.JetStream

	mu      sync.Mutex
	inbox   string // the prefix of the subjects of all answers; empty before the first read
	asked   uint64
	waiting map[string]*directAnswer // by the last token of the subject
}

// NewReader returns a reader. It subscribes at its first read.
func NewReader(js jetstream.JetStream) *Reader {
	return &Reader{js: js, waiting: map[string]*directAnswer{}}
}

// Last returns the last message of each subject that matches one of the filters, in the order of their sequences. All come from one
// replica at one moment. If more subjects match than the server answers for, rest is true, and the messages are some of them or none.
func (r *Reader) Last(ctx context.Context, stream string, filters ...string) (found []Message, rest bool, err error) {
	found, _, rest, err = r.LastUpTo(ctx, stream, filters...)
	return found, rest, err
}

// LastUpTo is Last, and also returns the sequence up to which the replica knows the stream: no message up to that sequence is missing. The
// sequence is 0 if the answer does not tell, as in an answer without messages.
func (r *Reader) LastUpTo(
	ctx context.Context, stream string, filters ...string,
) (found []Message, upTo uint64, rest bool, err error) {
	found, upTo, rest, err = r.last(ctx, stream, filters)
	if err != nil {
		return nil, 0, false, fmt.Errorf("bus: read %s of %s: %w", strings.Join(filters, ", "), stream, err)
	}
	return found, upTo, rest, nil
}

// multiLastRequest is a direct get of the last messages of several subjects.
type multiLastRequest struct {
	MultiLast []string `json:"multi_last"`
	MaxBytes  int      `json:"max_bytes"`
}

func (r *Reader) last(ctx context.Context, stream string, filters []string) ([]Message, uint64, bool, error) {
	a, err := r.ask(ctx, stream, several, multiLastRequest{MultiLast: filters, MaxBytes: maxBytes})
	if err != nil {
		return nil, 0, false, err
	}
	found, rest, err := a.result()
	if err != nil {
		return nil, 0, false, err
	}
	upTo, err := a.upTo()
	return found, upTo, rest, err
}

// answerKind says what an answer consists of.
type answerKind int

const (
	several answerKind = iota // messages, and a part that marks the end
	single                    // one message, or a part that says that there is no message
)

// ask sends a direct get and returns the whole answer.
func (r *Reader) ask(ctx context.Context, stream string, of answerKind, get any) (*directAnswer, error) {
	ctx, cancel := ForAnswer(ctx)
	defer cancel()
	a, err := r.send(stream, of, get)
	if err != nil {
		return nil, err
	}
	defer r.forget(a)
	return a, a.wait(ctx)
}

// send sends a direct get. The caller must pass the answer to forget when it is done with it.
func (r *Reader) send(stream string, of answerKind, get any) (*directAnswer, error) {
	body, err := json.Marshal(get)
	if err != nil {
		return nil, err
	}
	a, err := r.expect(of)
	if err != nil {
		return nil, err
	}
	subject := APIPrefix(r.js.Options()) + "DIRECT.GET." + stream
	if err := r.js.Conn().PublishRequest(subject, r.inbox+a.token, body); err != nil {
		r.forget(a)
		return nil, err
	}
	return a, nil
}

// expect prepares for an answer.
func (r *Reader) expect(of answerKind) (*directAnswer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.subscribe(); err != nil {
		return nil, err
	}
	r.asked++
	a := &directAnswer{kind: of, token: strconv.FormatUint(r.asked, 36), done: make(chan struct{})}
	r.waiting[a.token] = a
	return a, nil
}

func (r *Reader) subscribe() error {
	if r.inbox != "" {
		return nil
	}
	inbox := r.js.Conn().NewInbox() + "."
	subscription, err := r.js.Conn().Subscribe(inbox+"*", r.receive)
	if err != nil {
		return err
	}
	// Each answer is bounded and has a caller that waits for it, so no part may be dropped.
	if err := subscription.SetPendingLimits(-1, -1); err != nil {
		return errors.Join(err, subscription.Unsubscribe())
	}
	r.inbox = inbox
	return nil
}

func (r *Reader) forget(a *directAnswer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, a.token)
}

// receive adds a part to its answer, and drops parts of forgotten answers.
func (r *Reader) receive(msg *nats.Msg) {
	r.mu.Lock()
	a := r.waiting[msg.Subject[strings.LastIndexByte(msg.Subject, '.')+1:]]
	r.mu.Unlock()
	if a != nil {
		a.add(msg)
	}
}

// directAnswer collects the parts of one answer. Only receive adds to it, until done is closed.
type directAnswer struct {
	kind  answerKind
	token string // the last token of the answer's subject
	parts []*nats.Msg
	ended bool
	done  chan struct{}
}

func (a *directAnswer) add(msg *nats.Msg) {
	if a.ended {
		return
	}
	a.parts = append(a.parts, msg)
	// A part without a status is a stored message. If several are expected, more parts follow.
	if a.ended = a.kind == single || statusOf(msg) != ""; a.ended {
		close(a.done)
	}
}

// wait waits for the whole answer.
func (a *directAnswer) wait(ctx context.Context) error {
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The headers of an answer, and the values of its last part.
const (
	headerStatus      = "Status"
	headerDescription = "Description"
	headerPending     = "Nats-Num-Pending"
	headerPrevious    = "Nats-Last-Sequence"
	headerUpTo        = "Nats-UpTo-Sequence"

	statusEnd     = "204"
	statusNone    = "404"
	statusTooMany = "413"
	statusNobody  = "503"

	// descriptionNone tells an answer without messages from an answer with a message that the server could not read.
	descriptionNone = "No Results"
)

// result turns the parts into messages.
func (a *directAnswer) result() (found []Message, rest bool, err error) {
	last := len(a.parts) - 1
	end := a.parts[last]
	switch status, description := statusOf(end), end.Header.Get(headerDescription); {
	case status == statusEnd:
		return directMessages(a.parts[:last], end)
	case status == statusNone && description == descriptionNone:
		return nil, false, nil
	case status == statusTooMany:
		return nil, true, nil
	default:
		return nil, false, directRefusal(end)
	}
}

// upTo is the sequence up to which the replica knows the stream, or 0 if the answer does not tell.
func (a *directAnswer) upTo() (uint64, error) {
	text := lastValue(a.parts[len(a.parts)-1], headerUpTo)
	if text == "" {
		return 0, nil
	}
	sequence, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("an answer up to no sequence: %w", err)
	}
	return sequence, nil
}

// directRefusal is the error for a part that is neither a message nor the statement that there is none.
func directRefusal(part *nats.Msg) error {
	status := part.Header.Get(headerStatus)
	if status == statusNobody {
		return nats.ErrNoResponders
	}
	return fmt.Errorf("the server says %s %s", status, part.Header.Get(headerDescription))
}

// directMessages checks that the parts follow each other: each part names the part before it. A lost part must not look like a subject
// without a message.
func directMessages(parts []*nats.Msg, end *nats.Msg) (found []Message, rest bool, err error) {
	found = make([]Message, len(parts))
	previous := "0"
	for i, part := range parts {
		if found[i], err = directMessage(part); err != nil {
			return nil, false, err
		}
		if lastValue(part, headerPrevious) != previous {
			return nil, false, errTorn
		}
		previous = lastValue(part, jetstream.SequenceHeader)
	}
	if end.Header.Get(headerPrevious) != previous {
		return nil, false, errTorn
	}
	return found, end.Header.Get(headerPending) != "0", nil
}

// statusOf is the status of a part, and empty for a stored message. The publisher of a message may have given it any header, so a status
// in a message means nothing.
func statusOf(part *nats.Msg) string {
	if lastValue(part, jetstream.SequenceHeader) != "" {
		return ""
	}
	return part.Header.Get(headerStatus)
}

// lastValue is the value of a header that the server has set. The server appends its own values to those of the publisher.
func lastValue(part *nats.Msg, name string) string {
	values := part.Header[name]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

func directMessage(part *nats.Msg) (Message, error) {
	sequence, err := strconv.ParseUint(lastValue(part, jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return Message{}, fmt.Errorf("a message without its sequence: %w", err)
	}
	return Message{
		Subject: lastValue(part, jetstream.SubjectHeader), Sequence: sequence, Header: part.Header, Data: part.Data,
	}, nil
}

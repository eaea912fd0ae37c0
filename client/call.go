package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// attemptTimeout is how long one attempt waits for an answer: longer than a frontend works on one, so that what it
	// says in the end is heard.
	attemptTimeout = 6 * time.Second
	maxAttempts    = 5
	// firstPause is the wait before the second attempt; it doubles.
	firstPause = 100 * time.Millisecond
)

// repetition says whether a request may be carried out twice.
type repetition bool

const (
	repeatable repetition = true
	once       repetition = false
)

// do sends a request until there is an answer, as far as repetition allows, and decodes the reply.
func do[Reply any](ctx context.Context, c *Client, verb string, may repetition, request any) (Reply, error) {
	var reply Reply
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	message, err := c.message(ctx, verb, request)
	if err != nil {
		return reply, err
	}
	for attempt := 1; ; attempt++ {
		answer, err := c.ask(ctx, message)
		if err == nil {
			return decodeReply[Reply](answer)
		}
		if attempt == maxAttempts || !mayRetry(err, may) || !pause(ctx, attempt) {
			return reply, c.explain(ctx, err)
		}
	}
}

// message encodes a request. Its attempts are the same message.
func (c *Client) message(ctx context.Context, verb string, request any) (*nats.Msg, error) {
	body, err := schedule.EncodeJSON(request)
	if err != nil {
		return nil, err
	}
	message := &nats.Msg{Subject: c.names.API(c.namespace, verb), Header: nats.Header{}, Data: body}
	message.Header.Set(schedule.HeaderIdentity, headerText(c.identity))
	telemetry.Inject(ctx, message.Header)
	return message, nil
}

// ask makes one attempt.
func (c *Client) ask(ctx context.Context, message *nats.Msg) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	reply, err := c.conn.RequestMsgWithContext(ctx, message)
	if err != nil {
		return nil, err
	}
	if code := reply.Header.Get(micro.ErrorCodeHeader); code != "" {
		return nil, refusal(code, reply)
	}
	return reply.Data, nil
}

// refusal reads an error reply. The headers say enough where the body says nothing, as when it comes from an interceptor.
func refusal(code string, reply *nats.Msg) *schedule.Error {
	var body struct {
		Error *schedule.Error `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &body); err == nil && body.Error != nil && body.Error.Code != "" {
		return body.Error
	}
	return schedule.Errorf(schedule.Code(code), "%s", reply.Header.Get(micro.ErrorHeader))
}

// decodeReply is lenient: a newer frontend may say more than this client knows.
func decodeReply[Reply any](data []byte) (Reply, error) {
	var reply Reply
	if err := json.Unmarshal(data, &reply); err != nil {
		return reply, schedule.Errorf(schedule.CodeInternal, "the reply of the frontend cannot be read: %v", err)
	}
	return reply, nil
}

// mayRetry reports whether another attempt can do good and no harm.
func mayRetry(err error, may repetition) bool {
	if errors.Is(err, nats.ErrNoResponders) {
		return true // nobody has received it
	}
	if may == once {
		return false
	}
	return isTimeout(err) || schedule.CodeOf(err) == schedule.CodeUnavailable
}

func isTimeout(err error) bool {
	return errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded)
}

// pause waits before the next attempt, and reports whether there is time for one.
func pause(ctx context.Context, attempt int) bool {
	timer := time.NewTimer(firstPause << (attempt - 1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// explain makes the error of the last attempt one for the caller.
func (c *Client) explain(ctx context.Context, err error) error {
	explained := c.explanation(err)
	if end := ctx.Err(); end != nil {
		return fmt.Errorf("%w (%w)", explained, end)
	}
	return explained
}

func (c *Client) explanation(err error) *schedule.Error {
	var refused *schedule.Error
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, nats.ErrNoResponders):
		return schedule.Errorf(schedule.CodeUnavailable,
			"no frontend answers on %s: is `carillon server` or `carillon frontend` running there, with the prefix %q?",
			c.server(), c.names.Prefix())
	case isTimeout(err), errors.Is(err, context.Canceled):
		return schedule.Errorf(schedule.CodeUnavailable,
			"no answer from %s in time, so it is not known whether the request was carried out", c.server())
	case errors.Is(err, nats.ErrMaxPayload):
		return schedule.Errorf(schedule.CodeInvalidArgument,
			"the request is larger than the NATS server accepts (%d bytes): store the input elsewhere and pass a reference",
			c.conn.MaxPayload())
	}
	return schedule.Errorf(schedule.CodeUnavailable, "the connection to %s does not work: %v", c.server(), err)
}

// server names the NATS server for people.
func (c *Client) server() string {
	if url := c.conn.ConnectedUrlRedacted(); url != "" {
		return url
	}
	return "the NATS server"
}

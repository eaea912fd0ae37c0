package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"go.opentelemetry.io/otel/trace"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// attemptTimeout is how long one attempt waits for an answer. It is longer than a frontend works on a request, so that the client hears
	// its last word.
	attemptTimeout = 6 * time.Second
	// firstPause is the wait before the second attempt; it doubles.
	firstPause = 100 * time.Millisecond
)

// do makes a request about schedules; see call.
func do[Reply any](ctx context.Context, c *Client, verb string, request any) (Reply, error) {
	return call[Reply](ctx, c, c.names.API(c.namespace, subjects.ThingSchedule, verb), request)
}

// call sends a request to a subject of the API until there is an answer, and decodes the reply. The request must be safe to repeat: it
// changes nothing, or has an ID by which the frontend recognizes it.
func call[Reply any](ctx context.Context, c *Client, subject string, request any) (reply Reply, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	ctx, span := telemetry.StartRequest(ctx, trace.SpanKindClient, subject)
	defer func() { telemetry.End(span, err) }()
	message, err := c.message(ctx, subject, request)
	if err != nil {
		return reply, err
	}
	for attempt := 1; ; attempt++ {
		answer, err := c.ask(ctx, message)
		if err == nil {
			return decodeReply[Reply](answer)
		}
		if attempt >= c.maximumAttempts || !mayRetry(err) || !pause(ctx, attempt, err) {
			return reply, c.explain(ctx, err)
		}
	}
}

// message encodes a request. All attempts send the same message; only the timeout header differs.
func (c *Client) message(ctx context.Context, subject string, request any) (*nats.Msg, error) {
	body, err := apitext.EncodeJSON(request)
	if err != nil {
		return nil, err
	}
	message := &nats.Msg{Subject: subject, Header: nats.Header{}, Data: body}
	message.Header.Set(schedule.HeaderIdentity, headerText(c.identity))
	telemetry.Inject(ctx, message.Header)
	return message, nil
}

// ask makes one attempt. It tells the frontend how much time is left, so that the frontend does no work for a caller that has stopped
// waiting.
func (c *Client) ask(ctx context.Context, message *nats.Msg) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	end, _ := ctx.Deadline()
	message.Header.Set(schedule.HeaderTimeout, time.Until(end).Round(time.Millisecond).String())
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	forget, err := c.refusals.await(c.conn, message.Subject, refuse)
	if err != nil {
		return nil, err
	}
	defer forget()
	reply, err := c.conn.RequestMsgWithContext(ctx, message)
	if refused, ok := errors.AsType[*schedule.Error](context.Cause(ctx)); ok {
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	if code := reply.Header.Get(micro.ErrorCodeHeader); code != "" {
		return nil, refusal(code, reply)
	}
	return reply.Data, nil
}

// refusal reads an error reply. If the body says nothing, as in the reply of an interceptor, the headers say enough.
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

// mayRetry reports whether another attempt may succeed.
func mayRetry(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || isTimeout(err) || retryAfter(err) > 0 ||
		schedule.CodeOf(err) == schedule.CodeUnavailable
}

func isTimeout(err error) bool {
	return errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded)
}

// retryAfter returns how long a refusal asks the caller to wait; 0 if it does not say.
func retryAfter(err error) time.Duration {
	if refused, ok := errors.AsType[*schedule.Error](err); ok {
		return refused.RetryAfter.Std()
	}
	return 0
}

// pause waits before the next attempt, and reports whether there is time for one.
func pause(ctx context.Context, attempt int, err error) bool {
	asked := retryAfter(err)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < asked {
		return false
	}
	return sleep.For(ctx, max(asked, firstPause<<min(attempt-1, 10))) == nil
}

// explain turns the error of the last attempt into an error for the caller.
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
			"no frontend answers on %s: is `carillon server` or `carillon frontend` running there, with the prefix %q, and does NATS let the account of this user reach it?",
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

package call

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// defaultTimeout bounds a request whose context has no deadline.
	defaultTimeout = 10 * time.Second
	// patience is how long a request waits for somebody to serve it: longer than it takes to start the only process of a role again.
	patience = 8 * time.Second
	// firstPause is the wait before a request is sent again. It doubles up to maxPause.
	firstPause = 20 * time.Millisecond
	maxPause   = 500 * time.Millisecond
	// lostAfter is how long Read waits for an answer before it takes it for lost.
	lostAfter = 3 * time.Second
)

// Requester sends requests. A *nats.Conn is one.
type Requester interface {
	RequestMsgWithContext(ctx context.Context, msg *nats.Msg) (*nats.Msg, error)
	MaxPayload() int64
}

// Ask sends a request to a subject and reads the answer into response. A nil response means that the answer has nothing to say.
// Errors are values of package serviceerror:
//
//   - what the server answered;
//   - Unavailable, if nobody has served the subject for some seconds: nothing has been done;
//   - DeadlineExceeded or Canceled, if ctx ended first: it is not known whether the request was carried out.
//
// Without a deadline in ctx, Ask waits for ten seconds. It may be called from any number of goroutines.
func Ask(ctx context.Context, conn Requester, subject string, request, response proto.Message) error {
	data, err := proto.Marshal(request)
	if err != nil {
		return serviceerror.NewInvalidArgumentf("the request cannot be encoded: %v", err)
	}
	return AskBytes(ctx, conn, subject, data, response)
}

// Read is [Ask] for a request that changes nothing. It sends the request again if no answer comes for some seconds: the server may have died
// with it, and NATS does not tell.
func Read(ctx context.Context, conn Requester, subject string, request, response proto.Message) error {
	data, err := proto.Marshal(request)
	if err != nil {
		return serviceerror.NewInvalidArgumentf("the request cannot be encoded: %v", err)
	}
	return ask(ctx, conn, subject, data, response, lostAfter)
}

// AskBytes is [Ask] for a request that is encoded already.
func AskBytes(ctx context.Context, conn Requester, subject string, request []byte, response proto.Message) error {
	return ask(ctx, conn, subject, request, response, 0)
}

// ask is AskBytes. The request is sent again when no answer has come for a time; zero means that it is not.
func ask(
	ctx context.Context, conn Requester, subject string, request []byte, response proto.Message, again time.Duration,
) (err error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultTimeout)
		defer cancel()
	}
	ctx, span := telemetry.StartRequest(ctx, trace.SpanKindClient, subject)
	defer func() { telemetry.End(span, err) }()
	answer, err := send(ctx, conn, subject, request, again)
	if err != nil {
		return explain(ctx, conn, subject, err)
	}
	if isStatus(answer) {
		return readStatus(answer.Data)
	}
	if response == nil {
		return nil
	}
	if err := proto.Unmarshal(answer.Data, response); err != nil {
		return serviceerror.NewInternalf("the answer of %s cannot be read: %v", subject, err)
	}
	return nil
}

// send sends a request until somebody has received it, and returns the answer. Unless again is zero, it also sends the request again when no
// answer has come for that time.
func send(ctx context.Context, conn Requester, subject string, request []byte, again time.Duration) (*nats.Msg, error) {
	limit := patience
	if end, ok := ctx.Deadline(); ok { // the last attempt needs time, too: an error that says that nothing has been done is worth more
		limit = min(limit, time.Until(end)*9/10)
	}
	waiting, stop := context.WithTimeout(ctx, limit)
	defer stop()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		answer, err := sendOnce(ctx, conn, subject, request, again)
		if again > 0 && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			continue
		}
		if err == nil || !wasNotReceived(err) || sleep.For(waiting, pause) != nil {
			return answer, err
		}
	}
}

// sendOnce sends a request and waits for the answer, for a time unless that is zero.
func sendOnce(ctx context.Context, conn Requester, subject string, request []byte, limit time.Duration) (*nats.Msg, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	return conn.RequestMsgWithContext(ctx, message(ctx, subject, request))
}

// message makes the message of a request. It says how much time is left.
func message(ctx context.Context, subject string, request []byte) *nats.Msg {
	m := &nats.Msg{Subject: subject, Header: nats.Header{}, Data: request}
	if end, ok := ctx.Deadline(); ok {
		m.Header.Set(schedule.HeaderTimeout, time.Until(end).Round(time.Millisecond).String())
	}
	telemetry.Inject(ctx, m.Header)
	return m
}

// wasNotReceived reports whether a request has certainly reached nobody: NATS says so, or the connection is being made anew.
func wasNotReceived(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrReconnectBufExceeded)
}

// explain turns the error of a request into a value of package serviceerror.
func explain(ctx context.Context, conn Requester, subject string, err error) error {
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return serviceerror.NewUnavailablef("nobody answers on %s: nothing has been done", subject)
	case errors.Is(err, nats.ErrReconnectBufExceeded):
		return serviceerror.NewUnavailable("the connection to NATS is lost: nothing has been done")
	case errors.Is(err, nats.ErrMaxPayload):
		return serviceerror.NewInvalidArgumentf("the request is larger than the NATS server accepts (%d bytes)", conn.MaxPayload())
	case errors.Is(ctx.Err(), context.Canceled):
		return serviceerror.NewCanceled("the caller has stopped waiting")
	case errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return serviceerror.NewDeadlineExceededf("no answer on %s in time: it is not known whether the request was carried out", subject)
	}
	return serviceerror.NewUnavailablef("the connection to NATS does not work: %v", err)
}

package frontend

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"go.opentelemetry.io/otel/trace"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// replyOverhead is a generous bound for what a reply has in addition to its body.
const replyOverhead = 1024

var errOwnReply = schedule.Errorf(schedule.CodePermissionDenied,
	"the reply was to go to a subject of the installation, or of this process: nothing has been done")

// call is a request in progress.
type call struct {
	endpoint *endpoint
	request  micro.Request
	arrived  time.Time
	// body and reply are the formats of the request body and of the reply.
	body, reply *bodyFormat
	// limit is how long the request may take; hurried means that its caller has chosen it.
	limit   time.Duration
	hurried bool
	// refused is the error in its headers, if any.
	refused error
}

func (f *Frontend) newCall(e *endpoint, request micro.Request) *call {
	c := &call{endpoint: e, request: request, arrived: f.config.Now()}
	var wrongFormat, wrongLimit error
	c.body, c.reply, wrongFormat = formatsOf(request.Headers())
	c.limit, c.hurried, wrongLimit = timeLimit(request.Headers().Get(schedule.HeaderTimeout), f.config.RequestTimeout)
	c.refused = cmp.Or(wrongFormat, wrongLimit)
	return c
}

// admit is the micro handler of an endpoint. Micro calls it for one request of a verb at a time, so it only admits the request. A
// goroutine does the work, bounded by the gate.
func (f *Frontend) admit(ctx context.Context, e *endpoint) micro.Handler {
	return micro.HandlerFunc(func(request micro.Request) {
		if !f.mayAnswer(request.Reply()) {
			e.count(0, errOwnReply)
			f.config.Logger.WarnContext(ctx, "request refused: its answer was to go to the installation itself",
				"subject", request.Subject(), "reply", request.Reply())
			return
		}
		c := f.newCall(e, request)
		if refused := f.gate.enter(); refused != nil {
			e.count(0, refused)
			f.respond(ctx, c, nil, refused)
			return
		}
		go func() {
			defer f.gate.leave()
			metrics.APIActive.Add(ctx, 1)
			defer metrics.APIActive.Add(ctx, -1)
			f.serve(ctx, c)
		}()
	})
}

// mayAnswer reports whether a caller may use this reply subject. Two kinds of subject are refused:
//
//   - Subjects of the installation: the frontend would speak for a caller that may not publish there.
//   - The reply prefix of this process, which others may share: they would take the answer for the one they wait for.
func (f *Frontend) mayAnswer(reply string) bool {
	own := f.config.Conn.Opts.InboxPrefix
	return !f.config.Names.IsOwn(reply) && (own == "" || !strings.HasPrefix(reply, own+"."))
}

// serve answers one request.
func (f *Frontend) serve(ctx context.Context, c *call) {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	ctx = telemetry.Extract(ctx, nats.Header(c.request.Headers()))
	ctx = request.WithIdentity(ctx, c.request.Headers().Get(schedule.HeaderIdentity))
	ctx, span := telemetry.StartRequest(ctx, trace.SpanKindServer, c.request.Subject())
	defer span.End()

	reply, err := f.answer(ctx, c)
	var failure *schedule.Error
	if err != nil {
		failure = f.explain(ctx, c, err)
		telemetry.Refused(span, failure)
	}
	f.respond(ctx, c, reply, failure)
	c.endpoint.count(f.config.Now().Sub(c.arrived), failure)
}

// answer waits for its turn and calls the handler. To the caller a panic is an error like any other.
func (f *Frontend) answer(ctx context.Context, c *call) (reply []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			reply, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if c.refused != nil {
		return nil, c.refused
	}
	if f.config.Elsewhere != nil && c.endpoint.handle.access != accessRead {
		return nil, f.config.Elsewhere.Refusal()
	}
	namespace, err := f.config.Names.NamespaceOfAPI(c.request.Subject())
	if err != nil {
		return nil, err
	}
	inNamespace := c.endpoint.thing != subjects.ThingNamespace
	if inNamespace { // whoever looks after a namespace must get through to it, whatever its limits are
		if err := f.schedules.Registry.AdmitRate(ctx, namespace); err != nil {
			return nil, err
		}
	}
	leave, err := f.turn(ctx, c)
	if err != nil {
		return nil, err
	}
	defer leave()
	if inNamespace {
		if err := f.schedules.Registry.Admit(ctx, namespace, c.endpoint.handle.access != accessRead); err != nil {
			return nil, err
		}
	}
	value, err := c.endpoint.handle.answer(ctx, namespace, c.request.Data(), c.body.decode)
	if err != nil {
		return nil, err
	}
	return f.encode(value, c.reply)
}

// turn waits until one more request may be worked on. The caller must call leave.
func (f *Frontend) turn(ctx context.Context, c *call) (leave func(), err error) {
	select {
	case f.turns <- struct{}{}:
		if ctx.Err() == nil {
			return func() { <-f.turns }, nil
		}
		<-f.turns
	case <-ctx.Done():
	}
	if c.hurried {
		return nil, errTooLate(c.limit)
	}
	return nil, errNoTurn
}

func (f *Frontend) encode(value any, to *bodyFormat) ([]byte, error) {
	body, err := to.encode(value)
	if err != nil {
		// Not wrapped: the code of err blames the caller, but whatever could be stored can be shown.
		return nil, fmt.Errorf("encode the reply: %v", err) //nolint:errorlint
	}
	if limit := f.maxReply(); len(body) > limit {
		return nil, schedule.Errorf(schedule.CodeResourceExhausted,
			"the reply has %d bytes, and the NATS server accepts %d: ask for less at once, or raise its max_payload",
			len(body), limit)
	}
	return body, nil
}

// explain turns an error into what the caller may know, and logs the rest.
func (f *Frontend) explain(ctx context.Context, c *call, err error) *schedule.Error {
	failure, told := request.ForCaller(err)
	if !told && failure.Code == schedule.CodeUnavailable && c.hurried && ctx.Err() != nil {
		return errOverdue(c.limit)
	}
	if !told {
		f.config.Logger.ErrorContext(ctx, "request failed",
			"verb", c.endpoint.name(), "subject", c.request.Subject(), "code", string(failure.Code), "error", err)
	}
	return failure
}

// errorBody is the body of a reply that is an error.
type errorBody struct {
	Error *schedule.Error `json:"error"`
}

// respond sends a reply. It does not use the request's own methods, which may only be called within the micro handler. A message
// without a reply subject is carried out and not answered.
func (f *Frontend) respond(ctx context.Context, c *call, body []byte, failure *schedule.Error) {
	if c.request.Reply() == "" {
		return
	}
	if err := f.config.Conn.PublishMsg(replyTo(c.request.Reply(), c.reply, body, failure)); err != nil {
		f.config.Logger.WarnContext(ctx, "reply not sent", "subject", c.request.Subject(), "error", err)
	}
}

func replyTo(subject string, as *bodyFormat, body []byte, failure *schedule.Error) *nats.Msg {
	message := &nats.Msg{Subject: subject, Header: nats.Header{headerContentType: {as.contentType}}, Data: body}
	if failure != nil {
		message.Header.Set(micro.ErrorHeader, request.OneLine(failure.Error()))
		message.Header.Set(micro.ErrorCodeHeader, string(failure.Code))
		if failure.RetryAfter > 0 {
			message.Header.Set(schedule.HeaderRetryAfter, failure.RetryAfter.String())
		}
		// An Error can always be encoded.
		message.Data, _ = as.encode(errorBody{failure})
	}
	return message
}

// timeLimit returns how long a request may take: the time in its header, but no longer than most. hurried means that the limit is the
// request's own.
func timeLimit(header string, most time.Duration) (limit time.Duration, hurried bool, err error) {
	if header == "" {
		return most, false, nil
	}
	asked, err := time.ParseDuration(header)
	if err != nil {
		return most, false, schedule.Errorf(schedule.CodeInvalidArgument,
			"the header %s is %q, which is not a duration: write a number with a unit, such as 1500ms, or leave it out",
			schedule.HeaderTimeout, brief(header))
	}
	return min(asked, most), asked < most, nil
}

// errTooLate answers a request that nobody began to work on within its own limit.
func errTooLate(limit time.Duration) error {
	return schedule.Errorf(schedule.CodeUnavailable,
		"the %s that the request had, by its header %s, were over before any work on it: nothing has been done",
		limit, schedule.HeaderTimeout)
}

// errOverdue answers a request that was not finished within its own limit.
func errOverdue(limit time.Duration) *schedule.Error {
	return schedule.Errorf(schedule.CodeUnavailable,
		"the %s that the request had, by its header %s, were over before NATS had answered, so it is not known whether it was "+
			"carried out: try again, where there is a requestId with the same one", limit, schedule.HeaderTimeout)
}

package frontend

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	contentType = "Content-Type"
	contentJSON = "application/json"
	// replyOverhead is what a reply has beside its body, generously.
	replyOverhead = 1024
)

// admit is the micro handler of an endpoint. Micro calls it for one request of a verb at a time, so it only takes the
// request in; the work goes on in a goroutine, bounded by the gate.
func (f *Frontend) admit(ctx context.Context, e *endpoint) micro.Handler {
	return micro.HandlerFunc(func(request micro.Request) {
		if refused := f.gate.enter(); refused != nil {
			e.stats.count(0, refused)
			f.respond(ctx, request, nil, refused)
			return
		}
		arrived := f.config.Now()
		go func() {
			defer f.gate.leave()
			f.serve(ctx, e, request, arrived)
		}()
	})
}

// serve answers one request.
func (f *Frontend) serve(ctx context.Context, e *endpoint, request micro.Request, arrived time.Time) {
	ctx, cancel := context.WithTimeout(ctx, f.config.RequestTimeout)
	defer cancel()
	ctx = telemetry.Extract(ctx, nats.Header(request.Headers()))
	ctx = withIdentity(ctx, request.Headers().Get(schedule.HeaderIdentity))
	ctx, span := telemetry.Tracer().Start(ctx, "schedule."+e.verb, trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()

	reply, err := f.answer(ctx, e, request)
	var failure *schedule.Error
	if err != nil {
		failure = f.explain(ctx, e, request, err)
		span.SetStatus(codes.Error, failure.Error())
	}
	f.respond(ctx, request, reply, failure)
	e.stats.count(f.config.Now().Sub(arrived), failure)
}

// answer waits for its turn and calls the handler. A panic is an error like others to the caller.
func (f *Frontend) answer(ctx context.Context, e *endpoint, request micro.Request) (reply []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			reply, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	select {
	case f.turns <- struct{}{}:
		defer func() { <-f.turns }()
	case <-ctx.Done():
		return nil, errNoTurn
	}
	namespace, err := f.config.Names.NamespaceOfAPI(request.Subject())
	if err != nil {
		return nil, err
	}
	if err := f.api.namespaces.check(ctx, namespace); err != nil {
		return nil, err
	}
	if err := checkContentType(request.Headers().Get(contentType)); err != nil {
		return nil, err
	}
	value, err := e.handle(ctx, namespace, request.Data())
	if err != nil {
		return nil, err
	}
	return f.encode(value)
}

func (f *Frontend) encode(value any) ([]byte, error) {
	body, err := schedule.EncodeJSON(value)
	if err != nil {
		// Not wrapped: the code of err blames the caller, but whatever could be stored can be shown.
		return nil, fmt.Errorf("encode the reply: %v", err) //nolint:errorlint
	}
	if limit := f.api.maxReply(); len(body) > limit {
		return nil, schedule.Errorf(schedule.CodeResourceExhausted,
			"the reply has %d bytes, and the NATS server accepts %d: raise its max_payload", len(body), limit)
	}
	return body, nil
}

// checkContentType refuses what is not JSON. Parameters such as a charset do not matter, and none means JSON.
func checkContentType(header string) error {
	media, _, _ := strings.Cut(header, ";")
	if media = strings.TrimSpace(media); media == "" || strings.EqualFold(media, contentJSON) {
		return nil
	}
	return schedule.Errorf(schedule.CodeInvalidArgument, "the content type %q is not accepted: use %s", media, contentJSON)
}

// explain turns an error into what the caller is told, and logs what the caller is not.
func (f *Frontend) explain(ctx context.Context, e *endpoint, request micro.Request, err error) *schedule.Error {
	failure, told := forCaller(err)
	if !told {
		f.config.Logger.ErrorContext(ctx, "request failed",
			"verb", e.verb, "subject", request.Subject(), "code", string(failure.Code), "error", err)
	}
	return failure
}

// errorBody is the body of a reply that is an error.
type errorBody struct {
	Error *schedule.Error `json:"error"`
}

// respond sends a reply. It goes around the request's own methods, which may only be called within the micro handler. A
// message without a reply subject is carried out and not answered.
func (f *Frontend) respond(ctx context.Context, request micro.Request, body []byte, failure *schedule.Error) {
	if request.Reply() == "" {
		return
	}
	if err := f.config.Conn.PublishMsg(replyTo(request.Reply(), body, failure)); err != nil {
		f.config.Logger.WarnContext(ctx, "reply not sent", "subject", request.Subject(), "error", err)
	}
}

func replyTo(subject string, body []byte, failure *schedule.Error) *nats.Msg {
	message := &nats.Msg{Subject: subject, Header: nats.Header{contentType: {contentJSON}}, Data: body}
	if failure != nil {
		message.Header.Set(micro.ErrorHeader, oneLine(failure.Error()))
		message.Header.Set(micro.ErrorCodeHeader, string(failure.Code))
		// An Error is three strings: it can always be encoded.
		message.Data, _ = schedule.EncodeJSON(errorBody{failure})
	}
	return message
}

// oneLine makes text fit for a header.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F {
			return ' '
		}
		return r
	}, text)
}

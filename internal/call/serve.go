package call

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/flood"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// defaultConcurrency is how many requests a server works on at once.
	defaultConcurrency = 256
	// roomFactor is how many requests may be inside a server by default, for each one that it works on.
	roomFactor = 16
	// drainLimit bounds how long Close waits for NATS to say that no further request comes.
	drainLimit = 2 * time.Second
)

// Handler answers one request. The subject is the one it was sent to. Errors of package serviceerror are passed on to the caller; the
// caller learns of any other error only that there was one. A nil message is an empty answer. ctx ends when the caller stops waiting.
type Handler func(ctx context.Context, subject string, request []byte) (proto.Message, error)

// Config says how a server answers. Conn, Handle and Logger are required.
type Config struct {
	Conn   bus.Conn
	Handle Handler
	Logger *slog.Logger
	// Queue is the queue group. If it is empty, every server of a subject gets each request.
	Queue string
	// Concurrency is how many requests are worked on at once. Default: 256.
	Concurrency int
	// Room is how many requests may be inside the server, those that wait for others included. It refuses further ones. Default: 16 for each one that is
	// worked on.
	Room int
	// Timeout bounds the work on one request, also if its caller would wait longer. Default: ten seconds.
	Timeout time.Duration
}

// Server answers requests on its subjects until it is closed. Its methods are safe for concurrent use.
type Server struct {
	config Config
	log    *slog.Logger
	ctx    context.Context // of the work
	room   chan struct{}
	turns  chan struct{}
	subs   []*nats.Subscription

	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup // the requests that have been admitted
}

// Serve begins to answer requests on subjects, which may have wildcards. It returns when requests reach the server. The owner calls
// [Server.Close]. The end of ctx aborts the work on all requests and does not close the server.
func Serve(ctx context.Context, config Config, subjects ...string) (*Server, error) {
	if config.Concurrency == 0 {
		config.Concurrency = defaultConcurrency
	}
	if config.Room == 0 {
		config.Room = roomFactor * config.Concurrency
	}
	if config.Timeout == 0 {
		config.Timeout = defaultTimeout
	}
	s := &Server{
		config: config, log: flood.Limit(config.Logger), ctx: ctx,
		room: make(chan struct{}, config.Room), turns: make(chan struct{}, config.Concurrency),
	}
	for _, subject := range subjects {
		if err := s.listen(subject); err != nil {
			s.Close()
			return nil, fmt.Errorf("call: listen on %s: %w", subject, err)
		}
	}
	if err := config.Conn.FlushTimeout(drainLimit); err != nil {
		s.Close()
		return nil, fmt.Errorf("call: listen: %w", err)
	}
	return s, nil
}

func (s *Server) listen(subject string) error {
	sub, err := s.config.Conn.QueueSubscribe(subject, s.config.Queue, s.admit)
	if err != nil {
		return err
	}
	s.subs = append(s.subs, sub)
	return nil
}

// Close ends the server: no new request comes, and those that have come are answered. It returns when all its goroutines have ended. It is
// called once.
func (s *Server) Close() {
	ended := make([]<-chan struct{}, len(s.subs))
	for i, sub := range s.subs {
		ended[i] = s.config.Conn.Drain(sub)
	}
	limit := time.NewTimer(drainLimit)
	defer limit.Stop()
	for i, sub := range s.subs {
		select {
		case <-ended[i]:
		case <-limit.C: // NATS does not answer
			limit.Reset(0)
			s.config.Conn.Unsubscribe(sub)
		}
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.inside.Wait()
}

// admit takes a request from NATS. It must not block, because all requests of a subscription come through it.
func (s *Server) admit(request *nats.Msg) {
	if refused := s.enter(); refused != nil {
		s.respond(request, nil, refused)
		return
	}
	go func() {
		defer s.leave()
		response, err := s.serve(s.ctx, request)
		s.respond(request, response, err)
	}()
}

// errStopping refuses a request that came too late.
var errStopping = serviceerror.NewUnavailable("this process is stopping: nothing has been done")

// enter admits a request, or returns the reason for refusing it. An admitted request must leave.
func (s *Server) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errStopping
	}
	select {
	case s.room <- struct{}{}:
		s.inside.Add(1)
		return nil
	default:
		return serviceerror.NewResourceExhausted(enums.RESOURCE_EXHAUSTED_CAUSE_SYSTEM_OVERLOADED,
			"there are too many requests at once: nothing has been done")
	}
}

func (s *Server) leave() {
	<-s.room
	s.inside.Done()
}

// serve carries out one request. The error is one that the caller is told.
func (s *Server) serve(ctx context.Context, request *nats.Msg) (proto.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeLimit(request))
	defer cancel()
	ctx, span := telemetry.StartRequest(telemetry.Extract(ctx, request.Header), trace.SpanKindServer, request.Subject)
	defer span.End()
	response, err := s.answer(ctx, request)
	if err != nil {
		failure, isTold := told(ctx, err)
		if !isTold {
			s.log.WarnContext(ctx, "request failed", "subject", request.Subject, "error", err)
		}
		if code := serviceerror.ToStatus(failure).Code(); code == codes.Internal || code == codes.Unavailable {
			telemetry.Fail(span, code.String(), err.Error())
		}
		err = failure
	}
	return response, err
}

// timeLimit returns how long the work on a request may take.
func (s *Server) timeLimit(request *nats.Msg) time.Duration {
	left, err := time.ParseDuration(request.Header.Get(schedule.HeaderTimeout))
	if err != nil {
		return s.config.Timeout
	}
	return min(left, s.config.Timeout)
}

// answer waits for a turn and calls the handler.
func (s *Server) answer(ctx context.Context, request *nats.Msg) (response proto.Message, err error) {
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return nil, serviceerror.NewDeadlineExceeded("the time of the request was over before its turn came: nothing has been done")
	}
	defer func() {
		if p := recover(); p != nil {
			s.log.ErrorContext(ctx, "request caused a panic", "subject", request.Subject, "panic", p, "stack", string(debug.Stack()))
			response, err = nil, serviceerror.NewInternal("internal error; the log of the server says more")
		}
	}()
	return s.config.Handle(ctx, request.Subject, request.Data)
}

// respond sends the answer to a request. A message without a reply subject is carried out and not answered.
func (s *Server) respond(request *nats.Msg, response proto.Message, failure error) {
	if request.Reply == "" {
		return
	}
	answer := s.answerOf(response, failure)
	answer.Subject = request.Reply
	if err := s.config.Conn.PublishMsg(answer); err != nil {
		s.log.Warn("answer not sent", "subject", request.Subject, "error", err)
	}
}

// answerOf makes the message of an answer.
func (s *Server) answerOf(response proto.Message, failure error) *nats.Msg {
	answer := &nats.Msg{Header: nats.Header{}}
	if failure == nil && response != nil {
		if answer.Data, failure = proto.Marshal(response); failure != nil {
			failure = serviceerror.NewInternalf("the answer cannot be encoded: %v", failure)
		}
	}
	if most := s.config.Conn.MaxPayload() - overhead; failure == nil && int64(len(answer.Data)) > most {
		failure = serviceerror.NewResourceExhausted(enums.RESOURCE_EXHAUSTED_CAUSE_UNSPECIFIED,
			fmt.Sprintf("the answer has %d bytes, and the NATS server accepts %d", len(answer.Data), most))
	}
	if failure != nil {
		writeStatus(answer, failure)
	}
	return answer
}

// overhead is a generous bound for what an answer has in addition to its body.
const overhead = 1024

package call_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

// echo answers with the workflow ID of the request as run ID.
func echo(_ context.Context, _ string, data []byte) (proto.Message, error) {
	var request workflowservice.StartWorkflowExecutionRequest
	if err := proto.Unmarshal(data, &request); err != nil {
		return nil, serviceerror.NewInvalidArgument(err.Error())
	}
	return &workflowservice.StartWorkflowExecutionResponse{RunId: request.WorkflowId}, nil
}

// way is how requests reach a server.
type way func(*call.Server, *nats.Conn) call.Requester

// direct asks a server of the same process.
type direct struct {
	*nats.Conn
	server *call.Server
}

func (d direct) RequestMsgWithContext(ctx context.Context, msg *nats.Msg) (*nats.Msg, error) {
	return d.server.Here(ctx, msg)
}

func byNATS(_ *call.Server, conn *nats.Conn) call.Requester    { return conn }
func here(server *call.Server, conn *nats.Conn) call.Requester { return direct{conn, server} }

// eachWay runs a test with requests that NATS carries, and with requests within the process. To those who ask there is no difference.
func eachWay(t *testing.T, test func(*testing.T, way)) {
	t.Helper()
	for name, by := range map[string]way{"by NATS": byNATS, "here": here} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, by)
		})
	}
}

// serve serves a subject of the test's own, until the end of the test, and returns what to ask by and the subject.
func serve(t *testing.T, by way, handle call.Handler, options ...func(*call.Config)) (call.Requester, string) {
	t.Helper()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	subject := nats.NewInbox()
	config := call.Config{Conn: bus.Plain{Conn: conn}, Handle: handle, Logger: natstest.Logger(t), Queue: "test"}
	for _, option := range options {
		option(&config)
	}
	server, err := call.Serve(t.Context(), config, subject)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return by(server, conn), subject
}

func ask(ctx context.Context, conn call.Requester, subject, id string) (string, error) {
	var response workflowservice.StartWorkflowExecutionResponse
	err := call.Ask(ctx, conn, subject, &workflowservice.StartWorkflowExecutionRequest{WorkflowId: id}, &response)
	return response.RunId, err
}

func TestAsk(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, by way) {
		conn, subject := serve(t, by, echo)
		got, err := ask(t.Context(), conn, subject, "w")
		require.NoError(t, err)
		assert.Equal(t, "w", got)
		assert.NoError(t, call.AskBytes(t.Context(), conn, subject, nil, nil))
		var invalid *serviceerror.InvalidArgument
		assert.ErrorAs(t, call.AskBytes(t.Context(), conn, subject, []byte("\xff"), nil), &invalid)
		_, err = ask(t.Context(), conn, subject, "\xff")
		assert.ErrorAs(t, err, &invalid, "not even sent")
	})
}

// TestErrorsKeepTheirDetails sends errors over the wire, and compares their status.
func TestErrorsKeepTheirDetails(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, by way) {
		for _, failure := range []error{
			serviceerror.NewWorkflowExecutionAlreadyStarted("it runs", "request", "run"),
			serviceerror.NewNamespaceNotFound("elsewhere"),
			serviceerror.NewNotFound("gone"),
			serviceerror.NewResourceExhausted(enums.RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW, "busy"),
			serviceerror.NewQueryFailed("no"),
			serviceerror.NewMultiOperationExecution("both", []error{serviceerror.NewNotFound("a"), serviceerror.NewMultiOperationAborted("b")}),
			serviceerror.NewInternal("defect"),
		} {
			conn, subject := serve(t, by, func(context.Context, string, []byte) (proto.Message, error) { return nil, failure })
			_, err := ask(t.Context(), conn, subject, "w")
			require.Error(t, err)
			assert.IsType(t, failure, err)
			assert.True(t, proto.Equal(serviceerror.ToStatus(failure).Proto(), serviceerror.ToStatus(err).Proto()), "%v: %v", failure, err)
		}
	})
}

// TestOtherErrorsAreNotTold: the caller learns nothing of what went wrong below, and the log does.
func TestOtherErrorsAreNotTold(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, by way) {
		var log bytes.Buffer
		logged := func(c *call.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }
		conn, subject := serve(t, by, func(_ context.Context, _ string, data []byte) (proto.Message, error) {
			if len(data) == 0 {
				panic("secret")
			}
			return nil, errors.New("secret")
		}, logged)
		var unavailable *serviceerror.Unavailable
		_, err := ask(t.Context(), conn, subject, "w")
		require.ErrorAs(t, err, &unavailable)
		assert.NotContains(t, err.Error(), "secret")
		var internal *serviceerror.Internal
		_, err = ask(t.Context(), conn, subject, "")
		require.ErrorAs(t, err, &internal)
		assert.NotContains(t, err.Error(), "secret")
		assert.Equal(t, 2, strings.Count(log.String(), "=secret"), log.String())
	})
}

// TestRequestWaitsForItsServer asks before anybody answers.
func TestRequestWaitsForItsServer(t *testing.T) {
	t.Parallel()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	subject := nats.NewInbox()
	answered := make(chan error, 1)
	go func() {
		_, err := ask(t.Context(), conn, subject, "w")
		answered <- err
	}()
	natstest.Eventually(t, natstest.Patience, "it is sent", func() bool { return conn.Stats().OutMsgs > 0 })
	server, err := call.Serve(t.Context(), call.Config{Conn: bus.Plain{Conn: conn}, Handle: echo, Logger: natstest.Logger(t)}, subject)
	require.NoError(t, err)
	defer server.Close()
	assert.NoError(t, <-answered)
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var unavailable *serviceerror.Unavailable
	_, err := ask(ctx, conn, nats.NewInbox(), "w")
	assert.ErrorAs(t, err, &unavailable)
}

// TestTheCallerStopsWaiting: the handler learns of the caller's deadline, and the caller of its own.
func TestTheCallerStopsWaiting(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, by way) {
		ended := make(chan error, 2)
		conn, subject := serve(t, by, func(ctx context.Context, _ string, _ []byte) (proto.Message, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		}, func(c *call.Config) { c.Timeout = 200 * time.Millisecond })
		var exceeded *serviceerror.DeadlineExceeded
		_, err := ask(t.Context(), conn, subject, "w")
		require.ErrorAs(t, err, &exceeded, "the server's limit")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err = ask(ctx, conn, subject, "w")
		require.ErrorAs(t, err, &exceeded, "the caller's limit")
		for range 2 {
			assert.Error(t, <-ended)
		}
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		var canceled *serviceerror.Canceled
		_, err = ask(ctx, conn, subject, "w")
		assert.ErrorAs(t, err, &canceled)
	})
}

// TestTooManyRequests fills a server, which works on one at a time.
func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, by way) {
		var inside, most atomic.Int32
		goOn := make(chan struct{})
		conn, subject := serve(t, by, func(context.Context, string, []byte) (proto.Message, error) {
			most.Store(max(most.Load(), inside.Add(1)))
			defer inside.Add(-1)
			<-goOn
			return nil, nil
		}, func(c *call.Config) { c.Concurrency, c.Timeout = 1, natstest.Patience })
		const sent = 40
		ctx, cancel := context.WithTimeout(t.Context(), natstest.Patience)
		defer cancel()
		answers := make(chan error, sent)
		for range sent {
			go func() { answers <- call.AskBytes(ctx, conn, subject, nil, nil) }()
		}
		var refused *serviceerror.ResourceExhausted
		const room = 16
		for range sent - room {
			assert.ErrorAs(t, <-answers, &refused)
		}
		close(goOn)
		for range room {
			assert.NoError(t, <-answers)
		}
		assert.EqualValues(t, 1, most.Load())
	})
}

// TestCloseAnswersWhatHasCome closes a server that works, and then asks another one.
func TestCloseAnswersWhatHasCome(t *testing.T) {
	t.Parallel()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	subject, began, goOn := nats.NewInbox(), make(chan struct{}), make(chan struct{})
	server, err := call.Serve(t.Context(), call.Config{
		Conn: bus.Plain{Conn: conn}, Logger: natstest.Logger(t),
		Handle: func(context.Context, string, []byte) (proto.Message, error) {
			close(began)
			<-goOn
			return nil, nil
		},
	}, subject)
	require.NoError(t, err)
	answered, closed := make(chan error, 1), make(chan struct{})
	go func() { answered <- call.AskBytes(t.Context(), conn, subject, nil, nil) }()
	<-began
	go func() {
		server.Close()
		close(closed)
	}()
	natstest.Eventually(t, natstest.Patience, "nothing more reaches it", func() bool {
		_, err := conn.Request(subject+".no", nil, time.Second)
		return errors.Is(err, nats.ErrNoResponders)
	})
	select {
	case <-closed:
		t.Error("it has not waited")
	default:
	}
	close(goOn)
	assert.NoError(t, <-answered)
	<-closed
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var unavailable *serviceerror.Unavailable
	assert.ErrorAs(t, call.AskBytes(ctx, conn, subject, nil, nil), &unavailable)
}

// TestCloseWithoutConnection does not wait for a server that is gone.
func TestCloseWithoutConnection(t *testing.T) {
	t.Parallel()
	conn, err := nats.Connect(natstest.Shared(t).ClientURL())
	require.NoError(t, err)
	server, err := call.Serve(t.Context(), call.Config{Conn: bus.Plain{Conn: conn}, Handle: echo, Logger: natstest.Logger(t)}, nats.NewInbox())
	require.NoError(t, err)
	conn.Close()
	server.Close()
	_, err = call.Serve(t.Context(), call.Config{Conn: bus.Plain{Conn: conn}, Handle: echo, Logger: natstest.Logger(t)}, nats.NewInbox())
	assert.ErrorIs(t, err, nats.ErrConnectionClosed)
}

func TestTheTraceGoesOn(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, by way) {
		const example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		seen := make(chan string, 1)
		conn, subject := serve(t, by, func(ctx context.Context, _ string, _ []byte) (proto.Message, error) {
			seen <- trace.SpanContextFromContext(ctx).TraceID().String()
			return nil, nil
		})
		require.NoError(t, call.AskBytes(telemetry.WithTraceparent(t.Context(), example), conn, subject, nil, nil))
		assert.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", <-seen)
	})
}

// TestAnswersTooLarge neither reach the caller nor leave it waiting.
func TestAnswersTooLarge(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, by way) {
		conn, subject := serve(t, by, echo)
		var refused *serviceerror.ResourceExhausted
		_, err := ask(t.Context(), conn, subject, strings.Repeat("x", int(conn.MaxPayload())-600))
		require.ErrorAs(t, err, &refused)
		var invalid *serviceerror.InvalidArgument
		_, err = ask(t.Context(), conn, subject, strings.Repeat("x", int(conn.MaxPayload())))
		assert.ErrorAs(t, err, &invalid)
	})
}

// FuzzAnswer gives the caller any answer there may be: it becomes a response or an error, and never a panic.
func FuzzAnswer(f *testing.F) {
	status, err := proto.Marshal(serviceerror.ToStatus(serviceerror.NewNamespaceNotFound("n")).Proto())
	require.NoError(f, err)
	f.Add("status", status)
	f.Add("status", []byte{})
	f.Add("", []byte("\x0a\x03run"))
	f.Add("other", []byte("\xff\xff"))
	conn, _ := natstest.Connect(f, natstest.Shared(f))
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		subject := nats.NewInbox()
		sub, err := conn.Subscribe(subject, func(m *nats.Msg) {
			_, err := time.ParseDuration(m.Header.Get(schedule.HeaderTimeout))
			assert.NoError(t, err)
			answer := &nats.Msg{Subject: m.Reply, Header: nats.Header{}, Data: body}
			answer.Header.Set("Carillon-Answer", header)
			if conn.PublishMsg(answer) != nil {
				_ = conn.Publish(m.Reply, body)
			}
		})
		require.NoError(t, err)
		defer func() { _ = sub.Unsubscribe() }()
		got, err := ask(t.Context(), conn, subject, "w")
		if header == "status" {
			assert.Error(t, err)
		}
		if err != nil {
			assert.Empty(t, got)
		}
	})
}

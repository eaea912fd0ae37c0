package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/gateway"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// broken are stored namespaces that cannot be read: each name says how.
type broken map[string]error

func (b broken) Get(_ context.Context, name string) (namespaces.Record, error) {
	if name == "panic" {
		panic("secret")
	}
	return namespaces.Record{}, b[name]
}

func (b broken) Names(context.Context) ([]string, error) { return nil, b["below"] }

func (b broken) Read(context.Context, []string) ([]schedule.Namespace, error) { return nil, b["below"] }

// TestErrors: each error becomes a status, and what comes from below is for the log alone.
func TestErrors(t *testing.T) {
	t.Parallel()
	failures := broken{"not-found": kv.ErrNotFound, "below": errors.New("secret"), "late": context.DeadlineExceeded, "gone": context.Canceled}
	want := map[string]codes.Code{
		"not-found": codes.NotFound, "below": codes.Unavailable, "late": codes.DeadlineExceeded, "gone": codes.Canceled, "panic": codes.Internal,
	}
	for code, status := range map[schedule.Code]codes.Code{
		schedule.CodeInvalidArgument: codes.InvalidArgument, schedule.CodeNotFound: codes.NotFound, schedule.CodeAlreadyExists: codes.AlreadyExists,
		schedule.CodeFailedPrecondition: codes.FailedPrecondition, schedule.CodeResourceExhausted: codes.ResourceExhausted,
		schedule.CodePermissionDenied: codes.PermissionDenied, schedule.CodeUnavailable: codes.Unavailable, schedule.CodeInternal: codes.Internal,
	} {
		name := strings.ReplaceAll(string(code), "_", "-")
		if name != "not-found" {
			failures[name], want[name] = schedule.Errorf(code, "as told"), status
		}
	}
	var log natstest.Lines
	in := install(t, func(c *gateway.Config) { c.Records, c.Logger = failures, log.Logger() })
	for name, code := range want {
		_, err := in.ListTaskQueuePartitions(t.Context(), &workflowservice.ListTaskQueuePartitionsRequest{Namespace: name})
		require.Error(t, err, name)
		assert.Equal(t, code, serviceerror.ToStatus(err).Code(), name)
		assert.NotContains(t, err.Error(), "secret", name)
	}
	_, err := in.ListNamespaces(t.Context(), &workflowservice.ListNamespacesRequest{})
	assert.Equal(t, codes.Unavailable, serviceerror.ToStatus(err).Code())
	_, err = in.DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Id: "x"})
	assert.Equal(t, codes.Unavailable, serviceerror.ToStatus(err).Code())
	assert.Equal(t, 4, log.Count("=secret"))
}

// TestRequestsTooLarge for gRPC are refused before they are read.
func TestRequestsTooLarge(t *testing.T) {
	t.Parallel()
	in := install(t)
	var refused *serviceerror.ResourceExhausted
	_, err := in.StartWorkflowExecution(t.Context(), &workflowservice.StartWorkflowExecutionRequest{Namespace: "default", Input: payloads(5 << 20)})
	assert.ErrorAs(t, err, &refused)
}

// compressions notes how the answers of a connection were compressed.
type compressions struct{ stats.Handler }

func (compressions) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (compressions) HandleConn(context.Context, stats.ConnStats)                       {}
func (compressions) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }

func (compressions) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if header, ok := s.(*stats.InHeader); ok {
		*ctx.Value(compressions{}).(*string) = header.Compression
	}
}

// TestSmallAnswersAreNotCompressed: SDKs compress requests, and gRPC would then compress all answers.
func TestSmallAnswersAreNotCompressed(t *testing.T) {
	t.Parallel()
	in := install(t)
	size := 0
	in.owners(func(request) (proto.Message, error) {
		return &workflowservice.StartWorkflowExecutionResponse{RunId: strings.Repeat("x", size)}, nil
	})
	conn, err := grpc.NewClient(in.address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStatsHandler(compressions{}),
		grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	for _, test := range []struct {
		size int
		want string
	}{{100, ""}, {100_000, gzip.Name}} {
		size = test.size
		var got string
		request := routed()["StartWorkflowExecution"].request.(*workflowservice.StartWorkflowExecutionRequest)
		answer, err := workflowservice.NewWorkflowServiceClient(conn).StartWorkflowExecution(context.WithValue(t.Context(), compressions{}, &got), request)
		require.NoError(t, err)
		assert.Len(t, answer.RunId, size)
		assert.Equal(t, test.want, strings.TrimPrefix(got, "identity"))
	}
}

// TestTraceOfTheClient goes on to the owner of the execution.
func TestTraceOfTheClient(t *testing.T) {
	t.Parallel()
	in := install(t)
	seen, err := in.conn.SubscribeSync(in.names.Prefix() + ".execution.>")
	require.NoError(t, err)
	require.NoError(t, in.conn.Flush())
	in.owners(func(request) (proto.Message, error) { return nil, nil })
	const example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", example)
	_, err = in.StartWorkflowExecution(ctx, routed()["StartWorkflowExecution"].request.(*workflowservice.StartWorkflowExecutionRequest))
	require.NoError(t, err)
	m, err := seen.NextMsg(patience)
	require.NoError(t, err)
	id, err := trace.TraceIDFromHex(strings.Split(m.Header.Get("traceparent"), "-")[1])
	require.NoError(t, err)
	assert.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", id.String())
}

// FuzzTokens: whatever a client sends as a task token is refused, or names a workflow of the client's own namespace.
func FuzzTokens(f *testing.F) {
	f.Add(tokenOf("default"))
	f.Add(tokenOf("other"))
	f.Add(queryToken("default", "q"))
	f.Add([]byte{})
	in := install(f)
	requests := in.owners(func(request) (proto.Message, error) { return nil, nil })
	stray, err := in.conn.SubscribeSync(in.names.Prefix() + ".query.>")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, token []byte) {
		var invalid *serviceerror.InvalidArgument
		_, err := in.RespondWorkflowTaskCompleted(t.Context(), &workflowservice.RespondWorkflowTaskCompletedRequest{Namespace: "default", TaskToken: token})
		if err == nil {
			assert.Equal(t, "default", (<-requests).namespace)
		} else {
			assert.ErrorAs(t, err, &invalid)
		}
		_, err = in.RespondQueryTaskCompleted(t.Context(), &workflowservice.RespondQueryTaskCompletedRequest{
			Namespace: "default", TaskToken: token, CompletedType: 1,
		})
		if err != nil {
			assert.ErrorAs(t, err, &invalid)
			return
		}
		m, err := stray.NextMsg(patience)
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(m.Subject, in.names.Prefix()+".query.default."))
		assert.Len(t, strings.Split(m.Subject, "."), 4)
	})
}

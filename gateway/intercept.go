package gateway

import (
	"cmp"
	"context"
	"path"
	"runtime/debug"
	"strings"

	"github.com/nats-io/nats.go"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // SDKs compress their requests
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
)

// ofTemporal begins the full names of the methods that are Temporal's. Others are for tools, such as health checks.
const ofTemporal = "/temporal.api."

// intercept stands around each method: it measures it, continues the trace of the client, checks what the client may do and how much of it, and turns errors into
// statuses. A panic becomes an error.
func (g *Gateway) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if !strings.HasPrefix(info.FullMethod, ofTemporal) {
		return handler(ctx, request)
	}
	began, method := g.config.Now(), path.Base(info.FullMethod)
	if header, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = telemetry.Extract(ctx, nats.Header(header))
	}
	completeNamespace(request)
	ctx, span := telemetry.StartRPC(ctx, info.FullMethod, namespaceOf(request))
	defer span.End()
	metrics.GatewayActive.Add(ctx, 1)
	defer metrics.GatewayActive.Add(ctx, -1)

	response, err := g.answer(ctx, request, method, handler)
	code := codes.OK
	if err != nil {
		failure := g.status(ctx, method, err)
		code, err = failure.Code(), failure.Err()
		if isFault(code) {
			telemetry.Fail(span, code.String(), failure.Message())
		}
	}
	metrics.GatewayRequests.Add(ctx, 1, method, code.String())
	metrics.GatewayDuration.RecordTime(ctx, g.config.Now().Sub(began), method)
	if err != nil {
		return nil, err
	}
	sendPlain(ctx, response)
	return response, nil
}

// leastCompressed is the size in bytes from which an answer is worth compressing.
const leastCompressed = 4 << 10

// sendPlain sees to it that a small answer is not compressed. SDKs compress their requests, and gRPC would compress the answers then, too. Most
// of them are of some hundred bytes, and packing and unpacking them costs more than sending them as they are.
func sendPlain(ctx context.Context, response any) {
	if m, ok := response.(proto.Message); ok && proto.Size(m) < leastCompressed {
		_ = grpc.SetSendCompressor(ctx, encoding.Identity) // it fails where there is no gRPC, as for requests over HTTP
	}
}

// isFault reports whether a status says that the server is at fault.
func isFault(code codes.Code) bool {
	return code == codes.Internal || code == codes.Unavailable || code == codes.Unknown || code == codes.DataLoss
}

// answer checks whether the client may make a request, whether its method is here, and its namespace, and calls the handler. To the client a panic is an error like any other.
func (g *Gateway) answer(ctx context.Context, request any, method string, handler grpc.UnaryHandler) (response any, err error) {
	defer func() {
		if p := recover(); p != nil {
			g.log.ErrorContext(ctx, "request caused a panic", "method", method, "panic", p, "stack", string(debug.Stack()))
			response, err = nil, serviceerror.NewInternal("internal error; the log of the server says more")
		}
	}()
	if err := g.authorize(ctx, request, method); err != nil {
		return nil, err
	}
	if err := cmp.Or(refusals[method], checkCommon(request)); err != nil {
		return nil, err
	}
	if g.config.Elsewhere != nil && !runsAtStandby(method) {
		return nil, g.config.Elsewhere.NotActive(namespaceOf(request))
	}
	namespace, err := g.checkNamespace(ctx, request, method)
	if err != nil {
		return nil, err
	}
	leave, err := g.limits.enter(&namespace, method, request, g.config.Now())
	if err != nil {
		return nil, err
	}
	defer leave()
	return handler(ctx, request)
}

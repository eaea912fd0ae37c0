package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/webserver"
)

// overHTTP returns the handler that has the methods as JSON over HTTP.
func (g *Gateway) overHTTP() (http.Handler, error) {
	mux := runtime.NewServeMux(marshalers()...)
	ctx := context.Background() //permit:context.Background the registration does not use it
	err := errors.Join(
		workflowservice.RegisterWorkflowServiceHandlerClient(ctx, mux, workflowservice.NewWorkflowServiceClient(g.inline)),
		operatorservice.RegisterOperatorServiceHandlerClient(ctx, mux, operatorservice.NewOperatorServiceClient(g.inline)),
	)
	if err != nil {
		return nil, fmt.Errorf("gateway: methods over HTTP: %w", err)
	}
	all := http.NewServeMux()
	all.Handle("/", fromPeer(fromQuery(http.MaxBytesHandler(mux, 2*maxRequest)))) // JSON needs more bytes than protobuf
	g.serveDefinitions(all)
	return all, nil
}

// httpServer returns the server of the handler. Pages of other sites cannot use it through the browser of somebody who may: their requests are
// refused.
func (g *Gateway) httpServer() *http.Server {
	server := webserver.New(http.NewCrossOriginProtection().Handler(g.handler), g.config.Logger)
	server.TLSConfig = g.config.TLS
	return server
}

func (g *Gateway) serveHTTP() error {
	g.config.Logger.Info("answering Temporal's API over HTTP", "address", g.config.HTTP.Addr().String(), "tls", g.config.TLS != nil)
	serve := g.http.Serve
	if g.config.TLS != nil {
		serve = func(l net.Listener) error { return g.http.ServeTLS(l, "", "") }
	}
	if err := serve(g.config.HTTP); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("gateway: serve HTTP: %w", err)
	}
	return nil
}

// inline is a connection to services of this process: a call is a call.
type inline struct {
	methods   map[string]inlineMethod
	intercept grpc.UnaryServerInterceptor
}

type inlineMethod struct {
	service any
	handle  grpc.MethodHandler
}

func newInline(intercept grpc.UnaryServerInterceptor) *inline {
	return &inline{methods: map[string]inlineMethod{}, intercept: intercept}
}

// add makes the methods of a service known.
func (c *inline) add(desc *grpc.ServiceDesc, service any) {
	for _, m := range desc.Methods {
		c.methods["/"+desc.ServiceName+"/"+m.MethodName] = inlineMethod{service, m.Handler}
	}
}

// Invoke calls a method.
func (c *inline) Invoke(ctx context.Context, method string, request, response any, _ ...grpc.CallOption) error {
	m, ok := c.methods[method]
	if !ok {
		return status.Errorf(codes.Unimplemented, "unknown method %s", method)
	}
	if header, ok := metadata.FromOutgoingContext(ctx); ok {
		ctx = metadata.NewIncomingContext(ctx, header)
	}
	decode := func(into any) error {
		proto.Merge(into.(proto.Message), request.(proto.Message))
		return nil
	}
	answer, err := m.handle(m.service, ctx, decode, c.intercept)
	if err == nil {
		proto.Merge(response.(proto.Message), answer.(proto.Message))
	}
	return err
}

// NewStream fails: the services have no streams.
func (c *inline) NewStream(_ context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Errorf(codes.Unimplemented, "unknown method %s", strings.TrimPrefix(method, "/"))
}

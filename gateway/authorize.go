package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"

	"go.temporal.io/api/command/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/carillon-scheduler/carillon/internal/callers"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const authorization = "authorization"

var (
	errNoCredentials = status.Error(codes.Unauthenticated,
		`who are you? Send the header authorization with "Bearer NATS-USER:PASSWORD" (--api-key), or with the token or JWT of a NATS user`)
	errRefused  = status.Error(codes.Unauthenticated, "NATS does not know these credentials")
	errUnjudged = status.Error(codes.Unauthenticated, callers.ErrUnjudged.Error())
)

// authorize refuses a request that its caller may not make. It comes before everything else, so that a caller who may do nothing in a
// namespace does not learn whether it exists.
func (g *Gateway) authorize(ctx context.Context, request any, method string) error {
	asker, isInside := callers.FromContext(ctx)
	if !isInside {
		var err error
		if asker.Client, asker.IsProcess, err = g.client(ctx); err != nil {
			return err
		}
	}
	if asker.IsProcess {
		return nil
	}
	client := asker.Client
	err := g.callers.Known(ctx, client)
	if errors.Is(err, callers.ErrUnjudged) && g.config.Anonymous && !isInside {
		return nil // these credentials prove nothing, and none are needed
	}
	if err != nil {
		return g.explainCaller(ctx, err)
	}
	needed, known := needs[method]
	if !known {
		return status.Errorf(codes.PermissionDenied, "nobody has been given the right to %s", method)
	}
	if len(needed.anyOf) == 0 {
		return nil
	}
	namespace, err := needed.where(request)
	if err != nil {
		return err
	}
	if err := g.demand(ctx, client, method, namespace, needed.anyOf); err != nil {
		return err
	}
	return g.authorizeCommands(ctx, client, request, namespace)
}

// client returns who sends a request over the network. Without credentials everything is allowed, or nothing.
func (g *Gateway) client(ctx context.Context) (client callers.Client, isAnonymous bool, err error) {
	sent := metadata.ValueFromIncomingContext(ctx, authorization)
	switch {
	case len(sent) == 0 && g.config.Anonymous:
		return client, true, nil
	case len(sent) == 0:
		return client, false, errNoCredentials
	case len(sent) > 1:
		return client, false, status.Error(codes.Unauthenticated, "there are several headers authorization: send one")
	}
	client.Credentials, err = callers.Parse(sent[0])
	if err != nil {
		return client, false, status.Error(codes.Unauthenticated, err.Error())
	}
	client.Address = addressOf(ctx)
	return client, false, nil
}

// addressOf returns where a request comes from, without the port.
func addressOf(ctx context.Context) string {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return ""
	}
	if host, _, err := net.SplitHostPort(from.Addr.String()); err == nil {
		return host
	}
	return from.Addr.String()
}

// fromPeer notes where the requests over HTTP come from.
func fromPeer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if address, err := net.ResolveTCPAddr("tcp", r.RemoteAddr); err == nil {
			ctx = peer.NewContext(ctx, &peer.Peer{Addr: address})
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// where returns the namespace in which a right is needed. A request without a name is about a namespace by its ID, or about the installation.
func (n *need) where(request any) (string, error) {
	namespace := namespaceOf(request)
	if n.everywhere || namespace == "" {
		return subjects.NoNamespace, nil
	}
	return namespace, schedule.ValidateNamespace(namespace)
}

// demand refuses a client who has none of some rights.
func (g *Gateway) demand(ctx context.Context, client callers.Client, method, namespace string, anyOf []string) error {
	for _, right := range anyOf {
		may, err := g.callers.May(ctx, client, g.config.Names.API(namespace, subjects.ThingWorkflow, right))
		if err != nil {
			return g.explainCaller(ctx, err)
		}
		if may {
			return nil
		}
	}
	return serviceerror.NewPermissionDenied(method+" needs the permission to publish on "+
		g.config.Names.API(namespace, subjects.ThingWorkflow, anyOf[0]), "")
}

// authorizeCommands refuses commands of a workflow that reach into another namespace, unless the worker may write there.
func (g *Gateway) authorizeCommands(ctx context.Context, client callers.Client, request any, namespace string) error {
	completed, ok := request.(*workflowservice.RespondWorkflowTaskCompletedRequest)
	if !ok {
		return nil
	}
	for _, c := range completed.Commands {
		target := targetOf(c)
		if target == "" || target == namespace {
			continue
		}
		if err := schedule.ValidateNamespace(target); err != nil {
			return err
		}
		if err := g.demand(ctx, client, c.CommandType.String(), target, forWriters.anyOf); err != nil {
			return err
		}
	}
	return nil
}

// targetOf returns the namespace that a command names; empty means that of its workflow.
func targetOf(c *command.Command) string {
	//lint:ignore SA1019 clients may use it for long
	return c.GetStartChildWorkflowExecutionCommandAttributes().GetNamespace() +
		//lint:ignore SA1019 as above
		c.GetSignalExternalWorkflowExecutionCommandAttributes().GetNamespace() +
		//lint:ignore SA1019 as above
		c.GetRequestCancelExternalWorkflowExecutionCommandAttributes().GetNamespace()
}

// explainCaller returns what a client is told when it is not known what it may do.
func (g *Gateway) explainCaller(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, callers.ErrRefused):
		return errRefused
	case errors.Is(err, callers.ErrUnjudged):
		return errUnjudged
	case errors.Is(err, callers.ErrTooMany), errors.Is(err, callers.ErrSilent):
		return serviceerror.NewUnavailable(err.Error())
	case ctx.Err() != nil:
		return ctx.Err()
	}
	g.log.WarnContext(ctx, "rights of a client not known", "error", err)
	return serviceerror.NewUnavailable("NATS cannot be asked what the client may do; the log of the server says why")
}

package gateway

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// route passes a request on to the owner of an execution, and returns its answer.
func route[Response any, Message interface {
	*Response
	proto.Message
}](ctx context.Context, g *Gateway, verb string, workflow schedule.Key, request proto.Message) (Message, error) {
	return routeBy[Response, Message](ctx, g, call.Ask, verb, workflow, request)
}

// routeRead is route for a request that changes nothing. If the owner dies with it, it is sent to the next one while the client waits.
func routeRead[Response any, Message interface {
	*Response
	proto.Message
}](ctx context.Context, g *Gateway, verb string, workflow schedule.Key, request proto.Message) (Message, error) {
	return routeBy[Response, Message](ctx, g, call.Read, verb, workflow, request)
}

func routeBy[Response any, Message interface {
	*Response
	proto.Message
}](
	ctx context.Context, g *Gateway, ask func(context.Context, call.Requester, string, proto.Message, proto.Message) error,
	verb string, workflow schedule.Key, request proto.Message,
) (Message, error) {
	response := Message(new(Response))
	subject := g.config.Names.Execution(g.shard(workflow), workflow.Namespace, verb)
	if err := ask(ctx, g.config.Owners.For(workflow), subject, request, response); err != nil {
		return nil, err
	}
	return response, nil
}

// shard returns the shard of an execution.
func (g *Gateway) shard(workflow schedule.Key) int {
	return subjects.ShardOf(workflow, g.config.Shards)
}

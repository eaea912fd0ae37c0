package gateway

import (
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/schedule"
)

var (
	errNoToken    = serviceerror.NewInvalidArgument("Task token not set on request.")
	errBadToken   = serviceerror.NewInvalidArgument("Error deserializing task token.")
	errOtherToken = serviceerror.NewInvalidArgument("Operation requested with a token from a different namespace.")
)

// withToken is a request about a task.
type withToken interface {
	inNamespace
	GetTaskToken() []byte
}

// completeNamespace gives a request that names no namespace the namespace of its task token. Everything after it, such as the check of rights,
// then sees a request that names this namespace. A request with a token that cannot be read stays without a namespace.
func completeNamespace(request any) {
	r, ok := request.(withToken)
	if !ok || r.GetNamespace() != "" {
		return
	}
	namespace, err := namespaceOfToken(r)
	if err != nil {
		return
	}
	message := request.(proto.Message).ProtoReflect()
	message.Set(message.Descriptor().Fields().ByName("namespace"), protoreflect.ValueOfString(namespace))
}

// namespaceOfToken returns the namespace of the task token of a request.
func namespaceOfToken(r withToken) (string, error) {
	token := r.GetTaskToken()
	if len(token) == 0 {
		return "", errNoToken
	}
	if _, isQuery := r.(*workflowservice.RespondQueryTaskCompletedRequest); isQuery {
		parsed, err := execution.ParseQueryToken(token)
		return parsed.Namespace, err
	}
	parsed, err := execution.ParseToken(token)
	return parsed.Namespace, err
}

// workflowOfToken returns the workflow that a task token is about. The namespace of the token must be that of the request.
func workflowOfToken(namespace string, token []byte) (schedule.Key, error) {
	if len(token) == 0 {
		return schedule.Key{}, errNoToken
	}
	parsed, err := execution.ParseToken(token)
	switch {
	case err != nil:
		return schedule.Key{}, err
	case parsed.Namespace != namespace:
		return schedule.Key{}, errOtherToken
	case len(parsed.WorkflowID) > maxText:
		return schedule.Key{}, errBadToken
	}
	return schedule.Key{Namespace: namespace, ID: parsed.WorkflowID}, nil
}

// idOfQuery returns the ID of the query that a task token is about.
func idOfQuery(namespace string, token []byte) (string, error) {
	if len(token) == 0 {
		return "", errNoToken
	}
	parsed, err := execution.ParseQueryToken(token)
	switch {
	case err != nil:
		return "", err
	case parsed.Namespace != namespace:
		return "", errOtherToken
	case len(parsed.QueryID) > maxText:
		return "", errBadToken
	}
	return parsed.QueryID, nil
}

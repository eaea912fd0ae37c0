package gateway_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// respond sends each request that has a task token, and calls check with what came of it.
func (in *installation) respond(ctx context.Context, namespace string, token, query []byte, check func(name string, err error)) {
	_, err := in.RespondWorkflowTaskCompleted(ctx, &workflowservice.RespondWorkflowTaskCompletedRequest{Namespace: namespace, TaskToken: token})
	check("RespondWorkflowTaskCompleted", err)
	_, err = in.RespondWorkflowTaskFailed(ctx, &workflowservice.RespondWorkflowTaskFailedRequest{Namespace: namespace, TaskToken: token})
	check("RespondWorkflowTaskFailed", err)
	_, err = in.RespondActivityTaskCompleted(ctx, &workflowservice.RespondActivityTaskCompletedRequest{Namespace: namespace, TaskToken: token})
	check("RespondActivityTaskCompleted", err)
	_, err = in.RespondActivityTaskFailed(ctx, &workflowservice.RespondActivityTaskFailedRequest{Namespace: namespace, TaskToken: token})
	check("RespondActivityTaskFailed", err)
	_, err = in.RespondActivityTaskCanceled(ctx, &workflowservice.RespondActivityTaskCanceledRequest{Namespace: namespace, TaskToken: token})
	check("RespondActivityTaskCanceled", err)
	_, err = in.RecordActivityTaskHeartbeat(ctx, &workflowservice.RecordActivityTaskHeartbeatRequest{Namespace: namespace, TaskToken: token})
	check("RecordActivityTaskHeartbeat", err)
	_, err = in.RespondQueryTaskCompleted(ctx, &workflowservice.RespondQueryTaskCompletedRequest{
		Namespace: namespace, TaskToken: query, CompletedType: enums.QUERY_RESULT_TYPE_ANSWERED,
	})
	check("RespondQueryTaskCompleted", err)
}

// TestNamespaceOfTheToken: a request without a namespace is about the namespace of its task token.
func TestNamespaceOfTheToken(t *testing.T) {
	t.Parallel()
	in := install(t)
	requests := in.owners(func(request) (proto.Message, error) { return nil, nil })
	in.respond(t.Context(), "", tokenOf("default"), queryToken("default", "q"), func(name string, err error) {
		if !assert.NoError(t, err, name) || name == "RespondQueryTaskCompleted" {
			return
		}
		r := <-requests
		assert.Equal(t, "default", r.namespace, name)
		var got workflowservice.RespondWorkflowTaskFailedRequest
		if name == "RespondWorkflowTaskFailed" {
			require.NoError(t, proto.Unmarshal(r.data, &got))
			assert.Equal(t, "default", got.Namespace)
		}
	})
	for want, token := range map[string][]byte{
		"Task token not set on request.": nil, "Error deserializing task token.": []byte("x"), "Namespace not set on request.": tokenOf(""),
	} {
		in.respond(t.Context(), "", token, token, func(name string, err error) {
			if name == "RespondQueryTaskCompleted" && len(token) > 1 {
				return // it is the token of another kind of task
			}
			var invalid *serviceerror.InvalidArgument
			assert.ErrorAs(t, err, &invalid, name)
			assert.ErrorContains(t, err, want, name)
		})
	}
	for _, odd := range []string{"missing", "*", ">", "default.x", "Default", strings.Repeat("x", 2000)} {
		in.respond(t.Context(), "", tokenOf(odd), queryToken(odd, "q"), func(name string, err error) {
			assert.Equal(t, codes.NotFound, serviceerror.ToStatus(err).Code(), "%s %s %v", name, odd, err)
		})
	}
	assert.Empty(t, requests)
}

// workers is a NATS server whose user worker may work in one namespace.
const workers = `authorization { users: [
	{ user: service, password: s }
	{ user: worker, password: w, permissions { publish: "*.api.default.workflow.work", subscribe { deny: ">" } } }
] }`

// TestTokensGiveNoRights: the right is needed in the namespace of the token, whether the request says so or not.
func TestTokensGiveNoRights(t *testing.T) {
	t.Parallel()
	own, change := judged(t, workers)
	in := install(t, change)
	requests := in.ownersOn(own, func(request) (proto.Message, error) { return nil, nil })
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer worker:w")
	in.respond(ctx, "", tokenOf("default"), queryToken("default", "q"), func(name string, err error) {
		if assert.NoError(t, err, name) && name != "RespondQueryTaskCompleted" {
			assert.Equal(t, "default", (<-requests).namespace)
		}
	})
	for _, test := range []struct {
		namespace, token string
		want             codes.Code
	}{
		{"", "other", codes.PermissionDenied},
		{"other", "other", codes.PermissionDenied},
		{"other", "default", codes.PermissionDenied},
		{"default", "other", codes.InvalidArgument},
		{"", "missing", codes.PermissionDenied},
		{"", "", codes.PermissionDenied},
		{"", "*", codes.InvalidArgument},
		{"", ">", codes.InvalidArgument},
		{"", "default.workflow.work", codes.InvalidArgument},
	} {
		in.respond(ctx, test.namespace, tokenOf(test.token), queryToken(test.token, "q"), func(name string, err error) {
			assert.Equal(t, test.want, serviceerror.ToStatus(err).Code(), "%s %+v %v", name, test, err)
		})
	}
	in.respond(t.Context(), "", tokenOf("default"), queryToken("default", "q"), func(name string, err error) {
		assert.Equal(t, codes.Unauthenticated, serviceerror.ToStatus(err).Code(), name)
	})
	assert.Empty(t, requests)
}

package gateway_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/carillon-scheduler/carillon/gateway"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// methodsOfTemporal are all methods that Temporal's clients know.
func methodsOfTemporal() (all []protoreflect.MethodDescriptor) {
	for _, file := range []protoreflect.FileDescriptor{
		workflowservice.File_temporal_api_workflowservice_v1_service_proto, operatorservice.File_temporal_api_operatorservice_v1_service_proto,
	} {
		methods := file.Services().Get(0).Methods()
		for i := range methods.Len() {
			all = append(all, methods.Get(i))
		}
	}
	return all
}

// TestEveryMethodNeedsSomething: each method is in the table once, whether it is implemented or not.
func TestEveryMethodNeedsSomething(t *testing.T) {
	t.Parallel()
	want := map[string]int{}
	for _, method := range methodsOfTemporal() {
		want[string(method.Name())] = 1
	}
	assert.Equal(t, want, gateway.Listed())
}

// TestNamespacesWithinRequests are known, so that no request reaches into a namespace that nobody has asked about. Names in the failures of
// children are only told. ExecuteMultiOperation is not there yet.
func TestNamespacesWithinRequests(t *testing.T) {
	t.Parallel()
	var found []string
	for _, method := range methodsOfTemporal() {
		walk(method.Input(), string(method.Name()), map[protoreflect.FullName]bool{}, func(path string) {
			if !strings.Contains(path, "links") && !strings.Contains(path, "child_workflow_execution_failure_info") {
				found = append(found, path)
			}
		})
	}
	assert.ElementsMatch(t, []string{
		"ExecuteMultiOperation.operations.start_workflow.namespace",
		"ExecuteMultiOperation.operations.update_workflow.namespace",
		"RespondWorkflowTaskCompleted.commands.request_cancel_external_workflow_execution_command_attributes.namespace",
		"RespondWorkflowTaskCompleted.commands.start_child_workflow_execution_command_attributes.namespace",
		"RespondWorkflowTaskCompleted.commands.signal_external_workflow_execution_command_attributes.namespace",
		"CreateNexusEndpoint.spec.target.worker.namespace",
		"UpdateNexusEndpoint.spec.target.worker.namespace",
	}, found)
}

// walk finds the namespaces within the messages of a message.
func walk(of protoreflect.MessageDescriptor, path string, seen map[protoreflect.FullName]bool, found func(path string)) {
	if seen[of.FullName()] {
		return
	}
	seen[of.FullName()] = true
	fields := of.Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		inner := path + "." + string(field.Name())
		if field.Name() == "namespace" && strings.Count(inner, ".") > 1 {
			found(inner)
		}
		if field.Message() != nil {
			walk(field.Message(), inner, seen, found)
		}
	}
}

// TestCredentialsThatProveNothing: where NATS has no users, a gateway that demands credentials does not start, and another takes everybody for
// somebody without.
func TestCredentialsThatProveNothing(t *testing.T) {
	t.Parallel()
	in := install(t)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer an-api-key")
	_, err := in.GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	require.NoError(t, err)
	_, err = in.ListNamespaces(ctx, &workflowservice.ListNamespacesRequest{})
	require.NoError(t, err)
	for _, odd := range []string{"an-api-key", "Bearer ", "Digest x"} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", odd)
		_, err = in.GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
		assert.Equal(t, codes.Unauthenticated, serviceerror.ToStatus(err).Code(), odd)
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer another")
	_, err = in.GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	assert.ErrorContains(t, err, "several")

	var config gateway.Config
	install(t, func(c *gateway.Config) { config = *c })
	config.Anonymous, config.GRPC = false, in.listen()
	g, err := gateway.New(config)
	require.NoError(t, err)
	assert.ErrorContains(t, g.Run(t.Context()), "clients must show who they are, and the NATS server has no users")
}

// users are those of a NATS server of its own. The service is the gateway.
const users = `authorization { users: [
	{ user: service, password: s }
	{ user: writer, password: w, permissions { publish: "*.api.default.workflow.write", subscribe { deny: ">" } } }
] }`

// judged lets a gateway ask a NATS server of its own what its clients may do. The server has the users of a configuration. The
// gateway is the service, and own its connection.
func judged(t *testing.T, config string) (own *nats.Conn, change func(*gateway.Config)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	judge := natstest.Server(t, func(o *natsserver.Options) { o.ConfigFile = file })
	own, err := judge.Connect(nats.UserInfo("service", "s"))
	require.NoError(t, err)
	t.Cleanup(own.Close)
	return own, func(c *gateway.Config) {
		c.Anonymous, c.Conn = false, own
		c.Dial = func(options ...nats.Option) (*nats.Conn, error) { return judge.Connect(options...) }
	}
}

// TestCredentials: over both protocols, everybody is asked, and may do what NATS says.
func TestCredentials(t *testing.T) {
	t.Parallel()
	_, change := judged(t, users)
	in, ask := installHTTP(t, change)
	list, info := &workflowservice.ListSchedulesRequest{Namespace: "default"}, &workflowservice.GetSystemInfoRequest{}
	remove := &workflowservice.DeleteScheduleRequest{Namespace: "default", ScheduleId: "missing"}
	for header, want := range map[string][]codes.Code{
		"":                {codes.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated},
		"Bearer writer:x": {codes.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated},
		"Bearer writer:w": {codes.OK, codes.NotFound, codes.PermissionDenied},
	} {
		ctx, headers := t.Context(), []string{}
		if header != "" {
			ctx, headers = metadata.AppendToOutgoingContext(ctx, "authorization", header), []string{"Authorization", header}
		}
		_, err := in.GetSystemInfo(ctx, info)
		assert.Equal(t, want[0], serviceerror.ToStatus(err).Code(), "%s %v", header, err)
		_, err = in.DeleteSchedule(ctx, remove)
		assert.Equal(t, want[1], serviceerror.ToStatus(err).Code(), "%s %v", header, err)
		_, err = in.ListSchedules(ctx, list)
		assert.Equal(t, want[2], serviceerror.ToStatus(err).Code(), "%s %v", header, err)
		code, answer := ask("GET", "/api/v1/namespaces/default/schedules", "", headers...)
		assert.Equal(t, map[codes.Code]int{codes.Unauthenticated: http.StatusUnauthorized, codes.PermissionDenied: http.StatusForbidden}[want[2]], code)
		assert.NotEmpty(t, answer["message"])
	}
}

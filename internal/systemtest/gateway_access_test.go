package systemtest

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/command/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// callers are those who try each method, with what they may do in the namespace billing. Nobody but the operator may do anything in others.
var callers = map[string]struct {
	header string
	may    string
	code   codes.Code // of what they may not do
}{
	"operator":         {"Bearer operator:" + passwordOf("operator"), "read write work admin", codes.PermissionDenied},
	"client":           {"Basic " + base64.StdEncoding.EncodeToString([]byte("billing:"+passwordOf("billing"))), "read write work", codes.PermissionDenied},
	"worker":           {"Bearer billing-worker:" + passwordOf("billing-worker"), "work", codes.PermissionDenied},
	"reader":           {"Bearer billing-reader:" + passwordOf("billing-reader"), "read", codes.PermissionDenied},
	"worker of runs":   {"Bearer billing-invoices:" + passwordOf("billing-invoices"), "", codes.PermissionDenied},
	"system account":   {"Bearer sys:" + passwordOf("sys"), "", codes.PermissionDenied},
	"wrong password":   {"Bearer billing:guess", "", codes.Unauthenticated},
	"token":            {"Bearer billing", "", codes.Unauthenticated},
	"forged JWT":       {"Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJvcGVyYXRvciJ9.x", "", codes.Unauthenticated},
	"unknown scheme":   {"Negotiate " + passwordOf("operator"), "", codes.Unauthenticated},
	"no credentials":   {"", "", codes.Unauthenticated},
	"gateway's secret": {"Bearer service", "", codes.Unauthenticated},
}

// TestGatewayAccess: with the users and permissions of deploy/nats, each kind of caller tries each class of methods in its own namespace and in
// another, over gRPC and over HTTP.
func TestGatewayAccess(t *testing.T) {
	f := newFence(t)
	g := f.gateway()
	for name, caller := range callers {
		for class, try := range g.attempts() {
			for _, namespace := range []string{"billing", "other", "missing", "a.b", ">"} {
				right, method, _ := strings.Cut(class, " ")
				allowed := strings.Contains(caller.may, right) && (namespace == "billing" || name == "operator")
				ctx := t.Context()
				if caller.header != "" {
					ctx = metadata.AppendToOutgoingContext(ctx, "authorization", caller.header)
				}
				g.judge(name+" "+method+" "+namespace, allowed, caller.code, try(ctx, namespace))
			}
		}
		g.tryHTTP(name)
	}
}

// judge compares what came of an attempt with what may. Whatever a method says of a request that is let in, it does not refuse the caller.
func (g *fencedGateway) judge(what string, allowed bool, refusal codes.Code, err error) {
	g.t.Helper()
	code := status.Code(err)
	if allowed {
		assert.NotContains(g.t, []codes.Code{codes.PermissionDenied, codes.Unauthenticated, codes.Unavailable}, code, "%s: %v", what, err)
		return
	}
	if refusal == codes.PermissionDenied && code == codes.InvalidArgument && (strings.HasSuffix(what, " >") || strings.HasSuffix(what, " a.b")) {
		return // that is no name of a namespace
	}
	assert.Equal(g.t, refusal, code, "%s: %v", what, err)
	for user := range callers {
		assert.NotContains(g.t, fmt.Sprint(err), passwordOf(user))
	}
}

// fencedGateway is a gateway on the network of a NATS server with the configuration of deploy/nats.
type fencedGateway struct {
	t         *testing.T
	http      string
	workflows workflowservice.WorkflowServiceClient
	operators operatorservice.OperatorServiceClient
}

// gateway runs a frontend and a gateway. Owners of executions answer everything with nothing.
func (f *fence) gateway() *fencedGateway {
	f.t.Helper()
	front, back := f.cluster(), f.cluster()
	frontend, ready, err := front.Frontend(roles.SearchOptions{})
	require.NoError(f.t, err)
	f.supervise(frontend)
	<-ready
	operator, _, _ := f.connect("operator")
	manager, err := client.New(operator, client.Config{})
	require.NoError(f.t, err)
	for _, namespace := range []string{"billing", "other"} {
		_, err = manager.CreateNamespace(f.t.Context(), namespace, schedule.CreateNamespaceRequest{})
		require.NoError(f.t, err)
	}
	owners, err := call.Serve(f.t.Context(), call.Config{
		Conn: bus.Plain{Conn: front.Conn.Conn}, Queue: "history", Logger: natstest.Logger(f.t),
		Handle: func(context.Context, string, []byte) (proto.Message, error) { return nil, nil },
	}, subjects.Default().Executions())
	require.NoError(f.t, err)
	f.t.Cleanup(owners.Close)
	config := f.runGateway(back)
	conn, err := grpc.NewClient(config.GRPC.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = conn.Close() })
	return &fencedGateway{
		t: f.t, http: "http://" + config.HTTP.Addr().String() + "/api/v1/", workflows: workflowservice.NewWorkflowServiceClient(conn),
		operators: operatorservice.NewOperatorServiceClient(conn),
	}
}

// runGateway runs a gateway, and returns where.
func (f *fence) runGateway(cluster *roles.Cluster) roles.GatewayConfig {
	f.t.Helper()
	config := roles.GatewayConfig{GRPC: f.listen(), HTTP: f.listen(), Drain: time.Second}
	gateway, _, err := cluster.Gateway(config)
	require.NoError(f.t, err)
	f.supervise(gateway)
	return config
}

// cluster opens the installation as the service.
func (f *fence) cluster() *roles.Cluster {
	f.t.Helper()
	log := natstest.Logger(f.t)
	conn, err := roles.Connect(f.t.Context(), log, "test", func(options ...nats.Option) (*nats.Conn, error) {
		return nats.Connect(f.server.ClientURL(), append([]nats.Option{
			nats.RootCAs(f.ca.Path("ca.pem")), nats.UserInfo("service", passwordOf("service")), nats.CustomInboxPrefix("_INBOX_service"),
		}, options...)...)
	})
	require.NoError(f.t, err)
	f.t.Cleanup(conn.Close)
	cluster, err := roles.Open(f.t.Context(), conn, subjects.Default(), topology.Settings{Shards: 2}, roles.Options{Logger: log})
	require.NoError(f.t, err)
	return cluster
}

func (f *fence) supervise(role roles.Role) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- roles.Supervise(ctx, natstest.Logger(f.t), 10*time.Second, roles.Stage{role}) }()
	f.t.Cleanup(func() {
		cancel()
		assert.NoError(f.t, <-done)
	})
}

func (f *fence) listen() net.Listener {
	f.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(f.t, err)
	return listener
}

// attempts are a few methods of each class, by the right that they need and their names.
func (g *fencedGateway) attempts() map[string]func(ctx context.Context, namespace string) error {
	execution := &common.WorkflowExecution{WorkflowId: "w"}
	attribute := map[string]enums.IndexedValueType{"A": enums.INDEXED_VALUE_TYPE_KEYWORD}
	type attempt = func(ctx context.Context, namespace string) error
	return map[string]attempt{
		"read list": func(ctx context.Context, namespace string) error {
			_, err := g.workflows.ListSchedules(ctx, &workflowservice.ListSchedulesRequest{Namespace: namespace})
			return err
		},
		"read history": func(ctx context.Context, namespace string) error {
			_, err := g.workflows.GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
				Namespace: namespace, Execution: execution,
			})
			return err
		},
		"read describe": func(ctx context.Context, namespace string) error {
			_, err := g.workflows.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
				Namespace: namespace, Execution: execution,
			})
			return err
		},
		"write signal": func(ctx context.Context, namespace string) error {
			_, err := g.workflows.SignalWorkflowExecution(ctx, &workflowservice.SignalWorkflowExecutionRequest{
				Namespace: namespace, WorkflowExecution: execution, SignalName: "s",
			})
			return err
		},
		"write schedule": func(ctx context.Context, namespace string) error {
			_, err := g.workflows.DeleteSchedule(ctx, &workflowservice.DeleteScheduleRequest{Namespace: namespace, ScheduleId: "s"})
			return err
		},
		"work poll": func(ctx context.Context, namespace string) error {
			_, err := g.workflows.PollActivityTaskQueue(ctx, &workflowservice.PollActivityTaskQueueRequest{Namespace: namespace})
			return err
		},
		"work heartbeat": func(ctx context.Context, namespace string) error {
			_, err := g.workflows.RecordActivityTaskHeartbeat(ctx, &workflowservice.RecordActivityTaskHeartbeatRequest{
				Namespace: namespace, TaskToken: g.token(namespace),
			})
			return err
		},
		"admin attribute": func(ctx context.Context, namespace string) error {
			_, err := g.operators.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
				Namespace: namespace, SearchAttributes: attribute,
			})
			return err
		},
		"admin namespace": func(ctx context.Context, namespace string) error {
			_, err := g.workflows.UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{Namespace: namespace})
			return err
		},
		// Nobody but the operator may look at all namespaces, or at one by its ID.
		"admin all namespaces": func(ctx context.Context, _ string) error {
			_, err := g.workflows.ListNamespaces(ctx, &workflowservice.ListNamespacesRequest{})
			return err
		},
		"admin namespace by ID": func(ctx context.Context, _ string) error {
			_, err := g.workflows.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Id: "x"})
			return err
		},
		"admin command into another namespace": func(ctx context.Context, namespace string) error {
			_, err := g.workflows.RespondWorkflowTaskCompleted(ctx, &workflowservice.RespondWorkflowTaskCompletedRequest{
				Namespace: namespace, TaskToken: g.token(namespace), Commands: []*command.Command{intoDefault()},
			})
			return err
		},
	}
}

// token is a task token of a namespace.
func (g *fencedGateway) token(namespace string) []byte {
	return execution.Token{Namespace: namespace, WorkflowID: "w"}.Marshal()
}

// intoDefault is a command that signals a workflow of the namespace default.
func intoDefault() *command.Command {
	return &command.Command{
		CommandType: enums.COMMAND_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION,
		Attributes: &command.Command_SignalExternalWorkflowExecutionCommandAttributes{
			//lint:ignore SA1019 clients may use it for long
			SignalExternalWorkflowExecutionCommandAttributes: &command.SignalExternalWorkflowExecutionCommandAttributes{Namespace: "default"},
		},
	}
}

// tryHTTP tries some of the same over HTTP.
func (g *fencedGateway) tryHTTP(name string) {
	caller := callers[name]
	for _, namespace := range []string{"billing", "other"} {
		for right, request := range map[string][2]string{
			"read":  {"GET", "namespaces/" + namespace + "/schedules"},
			"write": {"POST", "namespaces/" + namespace + "/workflows/w/signal/s"},
			"admin": {"POST", "namespaces/" + namespace + "/update"},
		} {
			allowed := strings.Contains(caller.may, right) && (namespace == "billing" || name == "operator")
			code := g.ask(request[0], request[1], caller.header)
			refusal := http.StatusForbidden
			if caller.code == codes.Unauthenticated {
				refusal = http.StatusUnauthorized
			}
			if allowed {
				assert.Equal(g.t, http.StatusOK, code, "%s %v", name, request)
			} else {
				assert.Equal(g.t, refusal, code, "%s %v", name, request)
			}
		}
	}
}

func (g *fencedGateway) ask(method, path, header string) int {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.t.Context(), method, g.http+path, strings.NewReader("{}"))
	require.NoError(g.t, err)
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	require.NoError(g.t, err)
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(g.t, err)
	return response.StatusCode
}

package gateway_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/gateway"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/subjects"
)

// patience is how long a test waits for what must happen.
const patience = natstest.Patience

const shards = 2

// installation is an installation with a frontend and a gateway.
type installation struct {
	workflowservice.WorkflowServiceClient
	operators operatorservice.OperatorServiceClient

	t       testing.TB
	server  *natsserver.Server
	names   subjects.Names
	conn    *nats.Conn // of the test
	grpc    *grpc.ClientConn
	address string
	stop    func() // the gateway
	without func() // stops the frontend without an index
}

// install runs an installation on the shared server until the end of the test.
func install(t testing.TB, changes ...func(*gateway.Config)) *installation {
	t.Helper()
	return installOn(t, natstest.Shared(t), changes...)
}

func installOn(t testing.TB, server *natsserver.Server, changes ...func(*gateway.Config)) *installation {
	t.Helper()
	in := &installation{t: t, server: server, names: natstest.Names(t)}
	var js jetstream.JetStream
	in.conn, js = natstest.Connect(t, in.server)
	facts, err := topology.Ensure(t.Context(), js, in.names, topology.Settings{Shards: shards})
	require.NoError(t, err)
	in.runFrontend()
	in.runGateway(js, facts, changes...)
	in.grpc = in.dial(insecure.NewCredentials())
	in.WorkflowServiceClient = workflowservice.NewWorkflowServiceClient(in.grpc)
	in.operators = operatorservice.NewOperatorServiceClient(in.grpc)
	return in
}

// logger is the log of the test. A fuzz test has none: nothing may be logged to it while it runs its target.
func (in *installation) logger() *slog.Logger {
	if _, fuzzes := in.t.(*testing.F); fuzzes {
		return slog.New(slog.DiscardHandler)
	}
	return natstest.Logger(in.t)
}

func (in *installation) runFrontend() {
	conn, js := natstest.Connect(in.t, in.server)
	store, err := kv.Open(in.t.Context(), js, in.names, shards)
	require.NoError(in.t, err)
	f, err := frontend.New(frontend.Config{Conn: conn, JS: js, Store: store, Names: in.names, Logger: in.logger()})
	require.NoError(in.t, err)
	in.without = in.run(f.Run)
	<-f.Ready()
}

func (in *installation) runGateway(js jetstream.JetStream, facts topology.Facts, changes ...func(*gateway.Config)) {
	conn, _ := natstest.Connect(in.t, in.server)
	api, err := client.New(conn, client.Config{Prefix: in.names.Prefix()})
	require.NoError(in.t, err)
	table := namespaces.NewTable(js, in.names, in.logger())
	in.run(func(ctx context.Context) error {
		table.Run(ctx)
		return nil
	})
	<-table.Ready()
	cluster := kv.NewCluster(js, in.names)
	config := gateway.Config{
		Conn: conn, JS: js, Names: in.names, Shards: facts.Shards, Created: facts.Created, API: api, Known: table,
		Records: namespaces.NewRecords(cluster), Cluster: cluster, GRPC: in.listen(), Version: "1.2.3", Logger: in.logger(),
		Anonymous: true, Dial: func(options ...nats.Option) (*nats.Conn, error) {
			return in.server.Connect(options...)
		},
	}
	for _, change := range changes {
		change(&config)
	}
	in.address = config.GRPC.Addr().String()
	g, err := gateway.New(config)
	require.NoError(in.t, err)
	in.stop = in.run(g.Run)
}

func (in *installation) listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(in.t, err)
	return listener
}

// run runs something until the end of the test, or until stop is called.
func (in *installation) run(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		assert.NoError(in.t, <-ended)
	})
	in.t.Cleanup(stop)
	return stop
}

// dial connects a client as Temporal's own clients do: errors are values of package serviceerror.
func (in *installation) dial(creds credentials.TransportCredentials) *grpc.ClientConn {
	conn, err := grpc.NewClient(in.address, grpc.WithTransportCredentials(creds), grpc.WithUnaryInterceptor(
		func(ctx context.Context, method string, request, response any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
			return serviceerror.FromStatus(status.Convert(invoke(ctx, method, request, response, conn, options...)))
		}))
	require.NoError(in.t, err)
	in.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// request is a request that has reached the owner of an execution.
type request struct {
	verb, namespace string
	shard           string
	data            []byte
}

// owners answers all requests about executions until the end of the test, and returns the channel of the requests.
func (in *installation) owners(answer func(r request) (proto.Message, error)) <-chan request {
	conn, _ := natstest.Connect(in.t, in.server)
	return in.ownersOn(conn, answer)
}

// ownersOn is owners with a connection of the caller's.
func (in *installation) ownersOn(conn *nats.Conn, answer func(r request) (proto.Message, error)) <-chan request {
	requests := make(chan request, 100)
	server, err := call.Serve(context.Background(), call.Config{
		Conn: bus.Plain{Conn: conn}, Queue: "history", Logger: in.logger(),
		Handle: func(_ context.Context, subject string, data []byte) (proto.Message, error) {
			tokens := strings.Split(subject, ".")
			r := request{shard: tokens[2], namespace: tokens[3], verb: tokens[4], data: data}
			requests <- r
			return answer(r)
		},
	}, in.names.Prefix()+".execution.*.*.*")
	require.NoError(in.t, err)
	in.t.Cleanup(server.Close)
	return requests
}

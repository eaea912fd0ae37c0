package cli

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestServerServesTemporalsClients, on the addresses that it prints.
func TestServerServesTemporalsClients(t *testing.T) {
	t.Parallel()
	d := startDaemonIn(t, map[string]string{"CARILLON_GRPC": "127.0.0.1:0", "CARILLON_HTTP_API": "127.0.0.1:0"},
		"server", "--port", "-1", "--data", t.TempDir(), "--log-level", "warn")
	overGRPC, overHTTP := d.output(t, `Temporal +(\S+) \(gRPC\)`), d.output(t, `Temporal .*, (\S+) \(HTTP\)`)
	conn, err := grpc.NewClient(overGRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	client := workflowservice.NewWorkflowServiceClient(conn)
	got, err := client.DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: defaultNamespace})
	require.NoError(t, err)
	assert.Equal(t, defaultNamespace, got.NamespaceInfo.Name)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + overHTTP + "/system-info")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusOK, response.StatusCode)
	require.NoError(t, conn.Close())
	d.stopped(t)
}

var answersClients = regexp.MustCompile(`answering Temporal's clients" address=(\S+)`)

// TestGatewayOnItsOwn has its frontend in another process.
func TestGatewayOnItsOwn(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	assert.Contains(t, server.stdout.String(), "Temporal  not served")
	d := startDaemon(t, "gateway", "--nats", url, "--grpc", "127.0.0.1:0", "--http-api", "off")
	var address string
	natstest.Eventually(t, patience, "it listens", func() bool {
		found := answersClients.FindStringSubmatch(d.stderr.String())
		if found != nil {
			address = found[1]
		}
		return found != nil
	})
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	page, err := workflowservice.NewWorkflowServiceClient(conn).ListNamespaces(t.Context(), &workflowservice.ListNamespacesRequest{})
	require.NoError(t, err)
	assert.Len(t, page.Namespaces, 1)
	require.NoError(t, conn.Close())
	d.stopped(t)
	server.stopped(t)
}

func TestGatewayFlags(t *testing.T) {
	t.Parallel()
	ca := natstest.NewAuthority(t)
	ca.Issue("server")
	cert, key := ca.Path("server.pem"), ca.Path("server.key")
	empty := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for name, test := range map[string]struct {
		options gatewayOptions
		want    string
	}{
		"taken": {gatewayOptions{grpc: taken.Addr().String()}, "--grpc: the port of " + taken.Addr().String() + " is in use"},
		"taken, over HTTP": {gatewayOptions{grpc: "127.0.0.1:0", http: taken.Addr().String()},
			"--http-api: the port of " + taken.Addr().String() + " is in use"},
		"no port":       {gatewayOptions{grpc: "localhost"}, `--grpc: "localhost" is not an address`},
		"everybody":     {gatewayOptions{grpc: ":0"}, "--grpc: :0 can be reached from other machines"},
		"HTTP for all":  {gatewayOptions{grpc: "localhost:0", http: "0.0.0.0:0"}, "--http-api: 0.0.0.0:0 can be reached from other machines"},
		"no key":        {gatewayOptions{grpc: ":0", cert: cert}, "--grpc-cert and --grpc-key belong together"},
		"no cert":       {gatewayOptions{grpc: ":0", ca: cert}, "--grpc-client-ca needs --grpc-cert and --grpc-key"},
		"odd cert":      {gatewayOptions{grpc: ":0", cert: key, key: cert}, "--grpc-cert, --grpc-key: "},
		"no authority":  {gatewayOptions{grpc: ":0", cert: cert, key: key, ca: ca.Path("missing")}, "--grpc-client-ca: "},
		"odd authority": {gatewayOptions{grpc: ":0", cert: cert, key: key, ca: empty}, "has no certificate"},
		"unknown host":  {gatewayOptions{grpc: "192.0.2.1:0", cert: cert, key: key}, "--grpc: listen tcp 192.0.2.1:0"},
	} {
		_, err := test.options.listen(t.Context())
		assert.ErrorContains(t, err, test.want, name)
	}
	for name, o := range map[string]gatewayOptions{
		"insecure": {grpc: ":0", http: off, insecure: true},
		"secure":   {grpc: ":0", http: ":0", cert: cert, key: key, ca: ca.Path("ca.pem")},
	} {
		config, err := o.listen(t.Context())
		require.NoError(t, err, name)
		assert.Equal(t, name == "secure", config.TLS != nil && config.TLS.ClientCAs != nil)
		require.NoError(t, config.GRPC.Close())
		if config.HTTP != nil {
			require.NoError(t, config.HTTP.Close())
		}
	}
}

// TestGatewayErrors: a server whose address is taken says so and ends.
func TestGatewayErrors(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	var p process
	assert.Equal(t, ExitFailure, p.run(t.Context(),
		"server", "--port", "-1", "--data", t.TempDir(), "--log-level", "error", "--grpc", taken.Addr().String()))
	assert.Contains(t, p.stderr.String(), "error: --grpc: the port of "+taken.Addr().String()+
		" is in use\nhint: name another address by --grpc, or do without by --grpc off\n")
	_, url := startServer(t, "--data", t.TempDir())
	var none process
	assert.Equal(t, ExitUsage, none.run(t.Context(), "gateway", "--nats", url, "--grpc", "off", "--log-level", "error"))
	assert.Contains(t, none.stderr.String(), "--grpc: a gateway needs an address")
}

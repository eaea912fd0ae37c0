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

// TestWhoGetsIn: without credentials only those whom nobody else can be, unless the operator says otherwise.
func TestWhoGetsIn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options gatewayOptions
		want    bool
	}{
		"this machine":                  {gatewayOptions{auth: authAuto, grpc: "localhost:1", http: "[::1]:1"}, true},
		"this machine, no HTTP":         {gatewayOptions{auth: authAuto, grpc: "127.0.0.1:1", http: off}, true},
		"all machines":                  {gatewayOptions{auth: authAuto, grpc: ":1", http: off}, false},
		"all machines, over HTTP":       {gatewayOptions{auth: authAuto, grpc: "localhost:1", http: ":1"}, false},
		"all machines with certificate": {gatewayOptions{auth: authAuto, grpc: ":1", http: off, ca: "ca.pem"}, true},
		"credentials, always":           {gatewayOptions{auth: authNATS, grpc: "localhost:1", http: off, ca: "ca.pem"}, false},
		"everybody":                     {gatewayOptions{auth: authNone, grpc: ":1", http: ":1"}, true},
	} {
		assert.Equal(t, test.want, test.options.letsEverybodyIn(), name)
	}
}

// TestAPIKey: an embedded server with users lets in whoever shows the credentials of one.
func TestAPIKey(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(config, []byte(`authorization { users: [
		{ user: service, password: s }
		{ user: reader, password: r, permissions { publish: "carillon.api.default.workflow.read", subscribe { deny: ">" } } }
	] }`), 0o600))
	d := startDaemonIn(t, map[string]string{"CARILLON_GRPC": "127.0.0.1:0", "CARILLON_HTTP_API": off, "CARILLON_PASSWORD": "s"},
		"server", "--port", "-1", "--data", t.TempDir(), "--log-level", "error", "--nats-config", config, "--user", "service", "--grpc-auth", "nats")
	address := d.output(t, `Temporal +([\d.:]+)`)
	run := func(env map[string]string, args ...string) (int, string) {
		env["TEMPORAL_ADDRESS"] = address
		p := process{env: env}
		return p.run(t.Context(), append([]string{"workflow"}, args...)...), p.stderr.String()
	}
	code, text := run(map[string]string{}, "list")
	assert.Equal(t, ExitDenied, code)
	assert.Contains(t, text, "hint: say who you are by --api-key USER:PASSWORD")
	code, text = run(map[string]string{"TEMPORAL_API_KEY": "reader:x"}, "list")
	assert.Equal(t, ExitDenied, code)
	assert.Contains(t, text, "NATS does not know these credentials")
	natstest.Eventually(t, patience, "the index answers", func() bool {
		code, text = run(map[string]string{"TEMPORAL_API_KEY": "reader:r"}, "list")
		return code == ExitOK
	})
	code, text = run(map[string]string{"CARILLON_API_KEY": "reader:r"}, "start", "w", "--type", "T")
	assert.Equal(t, ExitDenied, code)
	assert.Contains(t, text, "StartWorkflowExecution needs the permission to publish on carillon.api.default.workflow.write")
	code, text = run(map[string]string{"CARILLON_API_KEY": "reader:r", "TEMPORAL_NAMESPACE": "other"}, "list")
	assert.Equal(t, ExitDenied, code)
	assert.Contains(t, text, "carillon.api.other.workflow.read")
	code, text = run(map[string]string{"CARILLON_API_KEY": "reader:r"}, "list", "--address", "gateway.example:7233")
	assert.NotEqual(t, ExitOK, code)
	assert.Contains(t, text, "warning: --api-key is sent unencrypted")
	d.stopped(t)
}

// TestNobodyToKnow: a gateway that demands credentials where there are no users says so and ends.
func TestNobodyToKnow(t *testing.T) {
	t.Parallel()
	var p process
	assert.Equal(t, ExitFailure, p.run(t.Context(), "server", "--port", "-1", "--data", t.TempDir(), "--log-level", "error",
		"--grpc", "127.0.0.1:0", "--http-api", "off", "--grpc-auth", "nats"))
	assert.Contains(t, p.stderr.String(), "clients must show who they are, and the NATS server has no users")
}

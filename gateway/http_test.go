package gateway_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/gateway"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// installHTTP is install with the methods over HTTP, and a function that makes a request there.
func installHTTP(t *testing.T, changes ...func(*gateway.Config)) (*installation, func(method, path, body string, header ...string) (int, map[string]any)) {
	t.Helper()
	var address string
	in := install(t, append(changes, func(c *gateway.Config) {
		c.HTTP = (&installation{t: t}).listen()
		address = c.HTTP.Addr().String()
	})...)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return in, func(method, path, body string, header ...string) (int, map[string]any) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
		require.NoError(t, err)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		response, err := client.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		var answer map[string]any
		_ = json.Unmarshal(text, &answer) // not all answers are JSON
		return response.StatusCode, answer
	}
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	in, ask := installHTTP(t)
	requests := in.owners(func(r request) (proto.Message, error) {
		if r.verb == "start" {
			return &workflowservice.StartWorkflowExecutionResponse{RunId: "run"}, nil
		}
		return nil, nil
	})
	code, answer := ask("GET", "/api/v1/system-info", "")
	assert.Equal(t, http.StatusOK, code)
	assert.NotEmpty(t, answer["serverVersion"])
	code, answer = ask("POST", "/api/v1/namespaces/default/workflows/w1", `{"workflowType":{"name":"t"},"taskQueue":{"name":"q"},"requestId":"r"}`)
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, "run", answer["runId"])
	r := <-requests
	var got workflowservice.StartWorkflowExecutionRequest
	require.NoError(t, proto.Unmarshal(r.data, &got))
	assert.Equal(t, "w1", got.WorkflowId)

	code, answer = ask("POST", "/api/v1/namespaces/default/workflows/w1/signal/s", `{"input":["Ann",7]}`)
	assert.Equal(t, http.StatusOK, code, "%v", answer)
	var signal workflowservice.SignalWorkflowExecutionRequest
	require.NoError(t, proto.Unmarshal((<-requests).data, &signal))
	assert.Equal(t, "s", signal.SignalName)
	assert.Equal(t, `"Ann"`, string(signal.Input.Payloads[0].Data))
	code, _ = ask("POST", "/api/v1/namespaces/default/workflows/w1/signal/s", `{"input":{"payloads":[{"data":"IkFubiI="}]}}`,
		"Content-Type", "application/json+no-payload-shorthand")
	assert.Equal(t, http.StatusOK, code)
	require.NoError(t, proto.Unmarshal((<-requests).data, &signal))
	assert.Equal(t, `"Ann"`, string(signal.Input.Payloads[0].Data))

	code, answer = ask("GET", "/api/v1/namespaces/missing", "")
	assert.Equal(t, http.StatusNotFound, code)
	assert.Contains(t, answer["message"], "missing")
	code, _ = ask("POST", "/api/v1/namespaces/default/workflows/w1", `{"taskQueue":`)
	assert.Equal(t, http.StatusBadRequest, code)
	code, _ = ask("GET", "/api/v1/namespaces/default/schedules", "")
	assert.Equal(t, http.StatusOK, code)
	code, answer = ask("GET", "/api/v1/namespaces/default/worker-deployments", "")
	assert.Equal(t, http.StatusNotImplemented, code)
	assert.Contains(t, answer["message"], "worker deployments are not implemented: ")
	code, _ = ask("GET", "/no/such/path", "")
	assert.Equal(t, http.StatusNotFound, code)
	code, _ = ask("POST", "/api/v1/namespaces/default/workflows/w1", `{}`, "Origin", "http://elsewhere.example")
	assert.Equal(t, http.StatusForbidden, code, "a page of another site")
	assert.Empty(t, requests)
}

// TestWishesOverHTTP: a client says in the query, or in the header Accept, how the answer is to be written.
func TestWishesOverHTTP(t *testing.T) {
	t.Parallel()
	var address string
	install(t, func(c *gateway.Config) {
		c.HTTP = (&installation{t: t}).listen()
		address = c.HTTP.Addr().String()
	})
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(path, accept string) (contentType, text string) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+address+path, http.NoBody)
		require.NoError(t, err)
		r.Header.Set("Accept", accept)
		response, err := client.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		require.Equal(t, http.StatusOK, response.StatusCode)
		all, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.Header.Get("Content-Type"), string(all)
	}
	const info, lines = "/api/v1/system-info", "{\n  \""
	for _, test := range []struct {
		query, accept, contentType string
		indented                   bool
	}{
		{"", "application/json", "application/json", false},
		{"", "application/json+pretty", "application/json+pretty", true},
		{"?pretty", "application/json", "application/json+pretty", true},
		{"?noPayloadShorthand", "", "application/json+no-payload-shorthand", false},
		{"?noPayloadShorthand&pretty", "", "application/json+pretty+no-payload-shorthand", true},
		{"", "application/json+pretty+no-payload-shorthand", "application/json+pretty+no-payload-shorthand", true},
	} {
		contentType, text := get(info+test.query, test.accept)
		assert.Equal(t, test.contentType, contentType, "%+v", test)
		assert.Equal(t, test.indented, strings.HasPrefix(text, lines), "%+v %s", test, text)
	}
	var definition struct {
		Swagger string
		Paths   map[string]any
	}
	_, text := get("/swagger.json", "")
	require.NoError(t, json.Unmarshal([]byte(text), &definition))
	assert.Equal(t, "2.0", definition.Swagger)
	assert.Contains(t, definition.Paths, info)
	_, text = get("/openapi.yaml", "")
	assert.Contains(t, text, "openapi: 3")
}

// TestStopWithHTTP: requests in progress get an answer.
func TestStopWithHTTP(t *testing.T) {
	t.Parallel()
	in, ask := installHTTP(t)
	asked := in.owners(func(request) (proto.Message, error) {
		return &workflowservice.GetWorkflowExecutionHistoryResponse{NextPageToken: []byte("next")}, nil
	})
	code := make(chan int, 1)
	go func() {
		got, _ := ask("GET", "/api/v1/namespaces/default/workflows/w1/history?waitNewEvent=true", "")
		code <- got
	}()
	<-asked
	in.stop()
	assert.Equal(t, http.StatusOK, <-code)
}

// TestSlowRequestsAreCutOff: a stop does not wait for longer than it may.
func TestSlowRequestsAreCutOff(t *testing.T) {
	t.Parallel()
	in := install(t, func(c *gateway.Config) { c.Drain = 50 * time.Millisecond })
	goOn := make(chan struct{})
	defer close(goOn)
	asked := in.owners(func(request) (proto.Message, error) {
		<-goOn
		return nil, nil
	})
	ended := make(chan error, 1)
	go func() {
		_, err := in.StartWorkflowExecution(t.Context(), routed()["StartWorkflowExecution"].request.(*workflowservice.StartWorkflowExecutionRequest))
		ended <- err
	}()
	<-asked
	in.stop()
	assert.Error(t, <-ended)
}

// TestTLS lets in only clients with a certificate.
func TestTLS(t *testing.T) {
	t.Parallel()
	ca := natstest.NewAuthority(t)
	ca.Issue("server")
	ca.Issue("client")
	pair := func(name string) tls.Certificate {
		pair, err := tls.LoadX509KeyPair(ca.Path(name+".pem"), ca.Path(name+".key"))
		require.NoError(t, err)
		return pair
	}
	text, err := os.ReadFile(ca.Path("ca.pem"))
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(text))
	in := install(t, func(c *gateway.Config) {
		c.TLS = &tls.Config{Certificates: []tls.Certificate{pair("server")}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	})
	request := &workflowservice.GetSystemInfoRequest{}
	var unavailable *serviceerror.Unavailable
	_, err = in.GetSystemInfo(t.Context(), request)
	require.ErrorAs(t, err, &unavailable, "plain text")
	_, err = workflowservice.NewWorkflowServiceClient(in.dial(credentials.NewTLS(&tls.Config{RootCAs: pool}))).GetSystemInfo(t.Context(), request)
	require.ErrorAs(t, err, &unavailable, "no certificate")
	known := credentials.NewTLS(&tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair("client")}})
	_, err = workflowservice.NewWorkflowServiceClient(in.dial(known)).GetSystemInfo(t.Context(), request)
	assert.NoError(t, err)
}

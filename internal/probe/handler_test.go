package probe_test

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/probe"
)

func metrics(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("up 1\n")) }

func answer(o probe.Options, method, path string) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	probe.NewHandler(o).ServeHTTP(recorder, httptest.NewRequest(method, path, nil))
	return recorder
}

func TestHealthEndpoints(t *testing.T) {
	t.Parallel()
	h := probe.NewHealth(t.Context(), "worker")
	o := probe.Options{Health: h}
	const waiting = `{"status":"waiting","roles":[{"role":"worker","status":"waiting","reason":"waits for its start"}]}`
	ready := answer(o, http.MethodGet, "/readyz")
	assert.Equal(t, http.StatusServiceUnavailable, ready.Code)
	assert.JSONEq(t, waiting, ready.Body.String())
	assert.Equal(t, "application/json", ready.Header().Get("Content-Type"))
	healthy := answer(o, http.MethodGet, "/healthz")
	assert.Equal(t, http.StatusOK, healthy.Code)
	assert.JSONEq(t, waiting, healthy.Body.String())

	h.Begin("worker", probe.Checks{})
	assert.Equal(t, http.StatusOK, answer(o, http.MethodGet, "/readyz").Code)
	assert.Equal(t, http.StatusOK, answer(o, http.MethodHead, "/readyz").Code)
	h.Fail("worker", nil)
	assert.Equal(t, http.StatusServiceUnavailable, answer(o, http.MethodGet, "/healthz").Code)
}

func TestOnlyWhatIsAskedForIsShown(t *testing.T) {
	t.Parallel()
	h := probe.NewHealth(t.Context())
	for path, of := range map[string]probe.Options{
		"/metrics":                  {Health: h, Metrics: http.HandlerFunc(metrics)},
		"/debug/pprof/":             {Health: h, Pprof: true},
		"/debug/pprof/cmdline":      {Health: h, Pprof: true},
		"/debug/pprof/goroutine":    {Health: h, Pprof: true},
		"/debug/pprof/symbol?0x123": {Health: h, Pprof: true},
	} {
		assert.Equal(t, http.StatusOK, answer(of, http.MethodGet, path).Code, path)
		assert.Equal(t, http.StatusMethodNotAllowed, answer(of, http.MethodPost, path).Code, path)
		assert.Equal(t, http.StatusNotFound, answer(probe.Options{Health: h}, http.MethodGet, path).Code, path)
	}
}

func TestServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	url := "http://" + listener.Addr().String() + "/metrics"
	server := probe.Serve(listener, http.HandlerFunc(metrics), slog.New(slog.DiscardHandler))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	got, err := client.Get(url)
	require.NoError(t, err)
	body, err := io.ReadAll(got.Body)
	require.NoError(t, err)
	require.NoError(t, got.Body.Close())
	assert.Equal(t, "up 1\n", string(body))
	server.Close()
	_, err = client.Get(url)
	require.Error(t, err)
}

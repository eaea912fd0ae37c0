package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// serve starts a server, and returns an http action that may reach it.
func serve(t *testing.T, handler http.HandlerFunc) (*httpAction, string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	action := newHTTPAction(true, nil)
	t.Cleanup(action.client.CloseIdleConnections)
	return action, server.URL
}

func TestHTTPSendsWhatTheInputSays(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	action, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ok":true}`)
	})
	result, err := action.handle(t.Context(), sample("http", `{
		"url": "`+url+`/at/{{nominalTime}}?s={{scheduleId}}", "method": "put",
		"headers": {"X-Day": "{{nominalDate}}", "Authorization": "Bearer x"}, "body": {"schedule": "{{scheduleId}}"}
	}`))
	require.NoError(t, err)
	assert.Equal(t, HTTPResult{Status: 200, ContentType: "application/json", Body: json.RawMessage(`{"ok":true}`)}, result)
	assert.Equal(t, "PUT", got.Method)
	assert.Equal(t, "/at/2026-03-01T02:00:00Z", got.URL.Path)
	assert.Equal(t, `a "b"`, got.URL.Query().Get("s"))
	assert.JSONEq(t, `{"schedule": "a \"b\""}`, string(body))
	assert.Equal(t, "application/json", got.Header.Get("Content-Type"))
	assert.Equal(t, "2026-03-01", got.Header.Get("X-Day"))
	assert.Equal(t, "Bearer x", got.Header.Get("Authorization"))
	assert.Equal(t, "request", got.Header.Get("Idempotency-Key"))
}

func TestHTTPMethods(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"url":"http://a"}`:                            "GET",
		`{"url":"http://a","body":"x"}`:                 "POST",
		`{"url":"http://a","method":"delete"}`:          "DELETE",
		`{"url":"http://a","method":"get","body":"x"}`:  "GET",
		`{"url":"HTTPS://a","method":"POST","body":{}}`: "POST",
	} {
		run := sample("http", input)
		var in httpInput
		require.NoError(t, decode(run, &in), input)
		request, err := in.request(run)
		require.NoError(t, err, input)
		assert.Equal(t, want, request.Method, input)
	}
}

func TestHTTPRefusesInputs(t *testing.T) {
	t.Parallel()
	action := newHTTPAction(true, nil)
	for input, want := range map[string]string{
		`{}`:                                                "url",
		`{"url":"example.com"}`:                             "https://example.com/path",
		`{"url":"file:///etc/passwd"}`:                      "https://example.com/path",
		`{"url":"ftp://a/b"}`:                               "https://example.com/path",
		`{"url":"http://a b"}`:                              "url",
		`{"url":"http://a","method":"a b"}`:                 "method",
		`{"url":"http://a","headers":{"a b":"c"}}`:          "headers",
		`{"url":"http://a","headers":{"a":"c\r\nd: e"}}`:    "headers",
		`{"url":"http://a","timeout":"-1s"}`:                "timeout",
		`{"url":"http://a","timeout":5}`:                    "timeout",
		`{"url":"http://a","successCodes":[20]}`:            "successCodes",
		`{"url":"http://a","successCodes":["300-200"]}`:     "successCodes",
		`{"url":"http://a","successCodes":["6xx"]}`:         "successCodes",
		`{"url":"http://a/{{nominal}}"}`:                    "placeholder",
		`{"url":"http://a","callback":true}`:                "--callback-listen",
		`{"url":"http://a","callback":true,"body":"{{x}}"}`: "placeholder",
	} {
		_, err := action.handle(t.Context(), sample("http", input))
		requireInvalid(t, err, want)
	}
}

func TestHTTPStatuses(t *testing.T) {
	t.Parallel()
	codes := make(chan int, 1)
	action, url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(<-codes)
		_, _ = io.WriteString(w, "what happened")
	})
	for _, c := range []struct {
		code      int
		success   string
		ok, again bool
	}{
		{200, ``, true, false}, {204, ``, true, false}, {302, ``, false, false}, {404, ``, false, false},
		{404, `,"successCodes":[404]`, true, false}, {200, `,"successCodes":["404","3xx"]`, false, false},
		{302, `,"successCodes":["404","3xx"]`, true, false}, {201, `,"successCodes":["200-201"]`, true, false},
		{429, ``, false, true}, {408, ``, false, true}, {425, ``, false, true}, {500, ``, false, true}, {503, ``, false, true},
	} {
		codes <- c.code
		result, err := action.handle(t.Context(), sample("http", `{"url":"`+url+`"`+c.success+`}`))
		if c.ok {
			require.NoError(t, err, c)
			assert.Equal(t, c.code, result.(HTTPResult).Status, c)
			continue
		}
		var typed *worker.Error
		require.ErrorAs(t, err, &typed, "%v", c)
		assert.Equal(t, TypeHTTPStatus, typed.Type)
		assert.Equal(t, !c.again, typed.NonRetryable, "%v", c)
		assert.Equal(t, map[string]any{"status": c.code, "body": "what happened"}, typed.Details)
	}
}

func TestHTTPAnswerIsBounded(t *testing.T) {
	t.Parallel()
	action, url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", maxHTTPBody+1))
	})
	result, err := action.handle(t.Context(), sample("http", `{"url":"`+url+`"}`))
	require.NoError(t, err)
	assert.True(t, result.(HTTPResult).Truncated)
	assert.Len(t, result.(HTTPResult).Body, maxHTTPBody)
}

func TestHTTPEndsInTime(t *testing.T) {
	t.Parallel()
	action, url := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	_, err := action.handle(t.Context(), sample("http", `{"url":"`+url+`","timeout":"20ms"}`))
	var typed *worker.Error
	require.ErrorAs(t, err, &typed)
	assert.Equal(t, TypeHTTPRequest, typed.Type)
	assert.False(t, typed.NonRetryable)
	assert.ErrorContains(t, err, "no answer within 20ms")

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(worker.ErrCanceled)
	_, err = action.handle(ctx, sample("http", `{"url":"`+url+`"}`))
	assert.ErrorIs(t, err, worker.ErrCanceled)
}

// TestHTTPReachesNothingPrivate, neither by address, nor by name, nor by a redirect.
func TestHTTPReachesNothingPrivate(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("was reached") }))
	t.Cleanup(server.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	action := newHTTPAction(false, nil)
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "10.0.0.1", "169.254.169.254"} {
		_, err := action.handle(t.Context(), sample("http", `{"url":"http://`+host+`:`+port+`","timeout":"2s"}`))
		var typed *worker.Error
		require.ErrorAs(t, err, &typed, host)
		assert.Equal(t, TypeForbiddenTarget, typed.Type, "%s: %v", host, err)
		assert.True(t, typed.NonRetryable, host)
		assert.Contains(t, typed.Message, "--http-allow-private", host)
	}
}

func TestIsPrivate(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"8.8.8.8": false, "2606:4700::1111": false, "172.15.255.255": false, "172.32.0.1": false, "100.128.0.1": false,
		"127.0.0.1": true, "::1": true, "10.1.2.3": true, "172.16.0.1": true, "192.168.1.1": true, "169.254.169.254": true,
		"100.64.0.1": true, "0.0.0.0": true, "::": true, "fe80::1%eth0": true, "fd00::1": true, "224.0.0.1": true, "ff02::1": true,
		"255.255.255.255": true, "::ffff:10.0.0.1": true, "64:ff9b::a00:1": true, "2002:a00:1::": true, "::10.0.0.1": true,
		"1.1.1.1": false, "128.0.0.1": false, "191.255.255.255": false, "192.0.1.1": false, "223.255.255.255": false, "2001:4860:4860::8888": false,
		"2a00:1450::1": false, "3ffe::1": false, "::ffff:8.8.8.8": false, "198.17.255.255": false, "198.20.0.0": false,
		"240.0.0.1": true, "239.1.1.1": true, "192.88.99.1": true, "198.19.255.255": true, "192.0.0.170": true, "127.255.255.254": true,
		"fec0::1": true, "::ffff:0:10.0.0.1": true, "::ffff:0:8.8.8.8": true, "5f00::1": true, "100::1": true, "64:ff9b:1::1": true,
		"2001::1": true, "2001:db8::1": true, "3fff:fff::1": true, "4000::1": true, "1fff::1": true, "e000::1": true,
	} {
		assert.Equal(t, want, isPrivate(netip.MustParseAddr(address)), address)
	}
}

func TestHTTPWaitsForTheCallback(t *testing.T) {
	t.Parallel()
	callbacks, err := NewCallbacks("http://unknown.example/callbacks/")
	require.NoError(t, err)
	receiver := httptest.NewServer(callbacks)
	t.Cleanup(receiver.Close)
	callbacks.base = receiver.URL + "/callbacks"
	for _, c := range []struct {
		calls  []string
		result any
		err    string
	}{
		{[]string{``}, json.RawMessage(nil), ""},
		{[]string{`{"status":"completed","result":{"rows":3}}`}, json.RawMessage(`{"rows":3}`), ""},
		{[]string{`{"status":"running","details":1}`, `{"status":"completed","result":1}`}, json.RawMessage(`1`), ""},
		{[]string{`{"status":"failed","failure":{"message":"disk full","type":"disk_full"}}`}, nil, "disk full"},
		{[]string{`{"status":"canceled"}`}, nil, "the job has reported that it canceled"},
	} {
		address := make(chan string, 1)
		action, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			address <- r.Header.Get(CallbackHeader)
			w.WriteHeader(http.StatusAccepted)
		})
		action.callbacks = callbacks
		var result any
		ended := make(chan error, 1)
		go func() {
			var err error
			result, err = action.handle(t.Context(), sample("http", `{"url":"`+url+`","callback":true}`))
			ended <- err
		}()
		at := <-address
		for _, call := range c.calls {
			require.Equal(t, http.StatusNoContent, post(t, at, call))
		}
		err := <-ended
		require.Equal(t, http.StatusNotFound, post(t, at, ""), "it is over")
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.result, result)
	}
	require.Empty(t, callbacks.waiting)
}

func post(t *testing.T, url, body string) int {
	t.Helper()
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

func TestCallbackThatIsNone(t *testing.T) {
	t.Parallel()
	callbacks, err := NewCallbacks("https://worker.example.com")
	require.NoError(t, err)
	waiting := callbacks.expect()
	answer := func(method, path, body string) int {
		recorder := httptest.NewRecorder()
		callbacks.ServeHTTP(recorder, httptest.NewRequest(method, path, strings.NewReader(body)))
		return recorder.Code
	}
	path := "/" + waiting.token
	assert.Equal(t, http.StatusMethodNotAllowed, answer("GET", path, ""))
	assert.Equal(t, http.StatusNotFound, answer("POST", "/other", ""))
	assert.Equal(t, http.StatusNotFound, answer("POST", "/", ""))
	assert.Equal(t, http.StatusBadRequest, answer("POST", path, "{"))
	assert.Equal(t, http.StatusBadRequest, answer("POST", path, `{"status":"timed_out"}`))
	assert.Equal(t, http.StatusBadRequest, answer("POST", path, `"`+strings.Repeat("x", 2*worker.MaxResultBytes)+`"`))

	// One that comes while the run gives up finds that out.
	time.AfterFunc(20*time.Millisecond, waiting.forget)
	assert.Equal(t, http.StatusNotFound, answer("POST", path, ""))
}

func TestWaitForACallbackEnds(t *testing.T) {
	t.Parallel()
	callbacks, err := NewCallbacks("https://worker.example.com")
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	_, err = callbacks.expect().wait(ctx)
	require.ErrorIs(t, err, gone)
}

func TestCallbackURL(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "worker", "ftp://a", "https://a/?q=1", "https://a/#f", "http:///x"} {
		_, err := NewCallbacks(base)
		require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeInvalidArgument}, base)
	}
}

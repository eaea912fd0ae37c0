package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/console"
	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const patience = 20 * time.Second

// visitor talks to a console.
type visitor struct {
	t    testing.TB
	url  string
	http *http.Client
	// api talks to the frontend directly.
	api *client.Client
	// names are those of the installation, and conn is a connection that may do everything.
	names subjects.Names
	conn  *nats.Conn
}

// visit runs a frontend and a console until the end of the test.
func visit(t *testing.T) *visitor {
	t.Helper()
	names := natstest.Names(t)
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	serve(t, names, conn)
	other, _ := natstest.Connect(t, natstest.Shared(t))
	v := showTo(t, names, other)
	v.conn = conn
	return v
}

// serve sets up an installation, and runs a frontend of it until the end of the test.
func serve(t *testing.T, names subjects.Names, conn *nats.Conn) {
	t.Helper()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	facts, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 2})
	require.NoError(t, err)
	store, err := kv.Open(t.Context(), js, names, facts.Shards)
	require.NoError(t, err)
	f, err := frontend.New(frontend.Config{Conn: conn, JS: js, Store: store, Names: names, Logger: natstest.Logger(t)})
	require.NoError(t, err)
	run(t, f.Run)
	<-f.Ready()
}

// showTo runs a console for the user of a connection until the end of the test.
func showTo(t *testing.T, names subjects.Names, conn *nats.Conn) *visitor {
	t.Helper()
	api, err := client.New(conn, client.Config{Prefix: names.Prefix(), Identity: "console"})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	temporal := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "temporal has "+r.URL.Path) })
	c, err := console.New(console.Config{
		Listener: listener, API: api, Conn: conn, Identity: "console", Names: names, Services: noServices{}, Temporal: temporal, Version: "1.2.3", Drain: patience, Logger: natstest.Logger(t),
	})
	require.NoError(t, err)
	run(t, c.Run)
	transport := &http.Transport{DisableKeepAlives: true}
	return &visitor{t: t, url: "http://" + listener.Addr().String(), http: &http.Client{Transport: transport, Timeout: patience}, api: api, names: names, conn: conn}
}

// noServices is where the gateway would be.
type noServices struct{ grpc.ClientConnInterface }

func (noServices) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return status.Error(codes.Unavailable, "there is no gateway")
}

func run(t testing.TB, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a *answer) field(t *testing.T, name string) any {
	t.Helper()
	var all map[string]any
	require.NoError(t, json.Unmarshal([]byte(a.body), &all), a.body)
	return all[name]
}

// do sends a request below the base path. Headers are name and value by turns.
func (v *visitor) do(method, path, body string, headers ...string) *answer {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, v.url+"/api/carillon/v1"+path, strings.NewReader(body))
	require.NoError(v.t, err)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
	}
	response, err := v.http.Do(request)
	require.NoError(v.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(v.t, err)
	return &answer{response.StatusCode, response.Header, string(text)}
}

const hourly = `{"id":"a/b","spec":{"intervals":[{"every":"1h"}]},"action":{"type":"http","taskQueue":"q"}}`

// TestLifeOfASchedule goes through the verbs as a user does.
func TestLifeOfASchedule(t *testing.T) {
	t.Parallel()
	v := visit(t)
	created := v.do("POST", "/namespaces/default/schedules", hourly, "Idempotency-Key", `"k"`, "Carillon-Identity", "ann")
	require.Equal(t, 201, created.status, created.body)
	assert.Equal(t, "/api/carillon/v1/namespaces/default/schedules/a%2Fb", created.header.Get("Location"))
	assert.Equal(t, "application/json", created.header.Get("Content-Type"))
	assert.Equal(t, "no-store", created.header.Get("Cache-Control"))
	tag := created.header.Get("ETag")
	assert.Regexp(t, `^"\d+"$`, tag)
	again := v.do("POST", "/namespaces/default/schedules", hourly, "Idempotency-Key", `"k"`)
	assert.Equal(t, 201, again.status, "a repeat: %s", again.body)
	taken := v.do("POST", "/namespaces/default/schedules", hourly)
	assert.Equal(t, 409, taken.status)
	assert.Equal(t, "already_exists", taken.field(t, "code"))

	paused := v.do("POST", "/namespaces/default/schedules/a%2Fb/pause", `{"note":"holidays"}`)
	assert.Equal(t, 200, paused.status, paused.body)
	seen := v.do("GET", "/namespaces/default/schedules/a%2Fb", "")
	require.Equal(t, 200, seen.status, seen.body)
	assert.Equal(t, map[string]any{"paused": true, "notes": "holidays"}, seen.field(t, "state"))

	stale := v.do("PUT", "/namespaces/default/schedules/a%2Fb", hourly, "If-Match", `"99999"`)
	assert.Equal(t, 412, stale.status)
	assert.Equal(t, "conflictToken", stale.field(t, "field"))
	changed := v.do("PUT", "/namespaces/default/schedules/a%2Fb", hourly, "If-Match", seen.header.Get("ETag"))
	assert.Equal(t, 200, changed.status, changed.body)
	assert.NotEqual(t, tag, changed.header.Get("ETag"))

	events := v.do("GET", "/namespaces/default/schedules/a%2Fb/events?kinds=created", "")
	require.Equal(t, 200, events.status, events.body)
	assert.Contains(t, events.body, `"identity":"ann"`)
	gone := v.do("DELETE", "/namespaces/default/schedules/a%2Fb", "", "If-Match", changed.header.Get("ETag"))
	assert.Equal(t, 200, gone.status, gone.body)
	missing := v.do("GET", "/namespaces/default/schedules/a%2Fb", "")
	assert.Equal(t, 404, missing.status)
	assert.Equal(t, "application/problem+json", missing.header.Get("Content-Type"))
	assert.Equal(t, "tag:carillon,2026:not_found", missing.field(t, "type"))
}

func TestPages(t *testing.T) {
	t.Parallel()
	v := visit(t)
	for _, id := range []string{"a", "b", "c"} {
		require.Equal(t, 201, v.do("POST", "/namespaces/default/schedules", strings.Replace(hourly, "a/b", id, 1)).status)
	}
	var ids []string
	for next := "/namespaces/default/schedules?pageSize=2"; next != ""; {
		page := v.do("GET", next, "")
		require.Equal(t, 200, page.status, page.body)
		for _, each := range page.field(t, "schedules").([]any) {
			ids = append(ids, each.(map[string]any)["id"].(string))
		}
		link := page.header.Get("Link")
		next = strings.TrimSuffix(strings.TrimPrefix(link, "</api/carillon/v1"), `>; rel="next"`)
	}
	assert.Equal(t, []string{"a", "b", "c"}, ids)
	assert.Equal(t, 3.0, v.do("GET", "/namespaces/default/schedules:count", "").field(t, "count"))
	namespaces := v.do("GET", "/namespaces", "")
	assert.Equal(t, 200, namespaces.status)
	assert.Len(t, namespaces.field(t, "namespaces"), 1)
}

// TestErrors: what is wrong comes from the frontend, and is one line that names the field.
func TestErrors(t *testing.T) {
	t.Parallel()
	v := visit(t)
	for name, test := range map[string]struct {
		method, path, body string
		status             int
		field, detail      string
	}{
		"a field that is wrong":     {"POST", "/namespaces/default/schedules", `{"id":"a","spec":{"cron":["x"]},"action":{"type":"t"}}`, 400, "spec.cron[0]", ""},
		"an unknown field":          {"POST", "/namespaces/default/schedules/a/pause", `{"note":"x","nite":"y"}`, 400, "nite", "note"},
		"an unknown parameter":      {"GET", "/namespaces/default/schedules?pagesize=1", "", 400, "pagesize", "pageSize"},
		"a parameter of wrong type": {"GET", "/namespaces/default/schedules?pageSize=x", "", 400, "pageSize", ""},
		"no JSON":                   {"POST", "/namespaces/default/schedules", `{`, 400, "", "not JSON"},
		"a list":                    {"POST", "/namespaces/default/schedules", `[]`, 400, "", ""},
		"a key twice":               {"POST", "/namespaces/default/schedules/a/pause", `{"note":"x","note":"y"}`, 400, "note", ""},
		"no such namespace":         {"GET", "/namespaces/nowhere/schedules", "", 404, "namespace", "nowhere"},
		"a namespace with a star":   {"GET", "/namespaces/%2A/schedules", "", 400, "namespace", ""},
		"a namespace with a dot":    {"GET", "/namespaces/a.schedule/schedules", "", 400, "namespace", ""},
		"nothing there":             {"GET", "/nothing", "", 404, "", "openapi.json"},
		"a wrong method":            {"POST", "/namespaces/default/schedules/a", "{}", 405, "", "use DELETE, GET, PATCH, PUT"},
	} {
		got := v.do(test.method, test.path, test.body)
		require.Equal(t, test.status, got.status, "%s: %s", name, got.body)
		assert.Equal(t, "application/problem+json", got.header.Get("Content-Type"), name)
		field, _ := got.field(t, "field").(string)
		assert.Equal(t, test.field, field, "%s: %s", name, got.body)
		assert.Contains(t, got.field(t, "detail"), test.detail, name)
	}
}

// TestStrangersAreKeptOut: the page of another site can neither read nor change anything through the browser of somebody on this machine.
func TestStrangersAreKeptOut(t *testing.T) {
	t.Parallel()
	v := visit(t)
	assert.Equal(t, 403, v.do("POST", "/namespaces/default/schedules", hourly, "Origin", "https://evil.example").status)
	assert.Equal(t, 403, v.do("DELETE", "/namespaces/default/schedules/a", "", "Sec-Fetch-Site", "cross-site").status)
	assert.Equal(t, 421, v.do("GET", "/namespaces", "", "Host", "evil.example").status, "a name that somebody gave the address of this machine")
	assert.Equal(t, 421, v.do("GET", "/namespaces", "", "Host", "127.0.0.1.evil.example:80").status)
	assert.Equal(t, 415, v.do("POST", "/namespaces/default/schedules", hourly, "Content-Type", "text/plain").status, "as a form can send it")
	for _, host := range []string{"localhost", "localhost:8233", "127.0.0.1", "[::1]:8233"} {
		assert.Equal(t, 200, v.do("GET", "/namespaces", "", "Host", host).status, host)
	}
	assert.Empty(t, v.do("GET", "/namespaces", "", "Origin", "https://evil.example").header.Get("Access-Control-Allow-Origin"))
}

func TestTemporalIsBesideIt(t *testing.T) {
	t.Parallel()
	v := visit(t)
	response, err := v.http.Get(v.url + "/api/v1/system-info")
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, "temporal has /api/v1/system-info", string(text))
}

// stream is one connection that gets live events.
type stream struct {
	t     testing.TB
	lines *bufio.Scanner
	close func()
}

// follow begins to get live events, after the last one that somebody has got.
func (v *visitor) follow(path, last string) *stream {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), patience)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+"/api/carillon/v1"+path, nil)
	require.NoError(v.t, err)
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	response, err := v.http.Do(request)
	require.NoError(v.t, err)
	require.Equal(v.t, 200, response.StatusCode)
	require.Equal(v.t, "text/event-stream", response.Header.Get("Content-Type"))
	return &stream{v.t, bufio.NewScanner(response.Body), func() {
		cancel()
		_ = response.Body.Close()
	}}
}

// next returns the next event, and its ID in the stream.
func (s *stream) next() (id string, event schedule.Event) {
	s.t.Helper()
	for s.lines.Scan() {
		line := s.lines.Text()
		if text, ok := strings.CutPrefix(line, "id: "); ok {
			id = text
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			require.NoError(s.t, json.Unmarshal([]byte(text), &event))
			return id, event
		}
	}
	require.Fail(s.t, "the stream has ended", "%v", s.lines.Err())
	return "", event
}

// TestFollow: a viewer gets each event, and one that comes again goes on where it was.
func TestFollow(t *testing.T) {
	t.Parallel()
	v := visit(t)
	live := v.follow("/namespaces/default/events:watch", "")
	require.Equal(t, 201, v.do("POST", "/namespaces/default/schedules", hourly).status)
	last, event := live.next()
	require.Equal(t, schedule.EventCreated, event.Kind)
	live.close()

	for _, note := range []string{"one", "two"} {
		require.NoError(t, v.api.Pause(t.Context(), "a/b", note))
	}
	again := v.follow("/namespaces/default/schedules/a%2Fb/events:watch", last)
	defer again.close()
	for _, note := range []string{"one", "two"} {
		_, event = again.next()
		assert.Equal(t, note, event.Reason)
	}
	require.NoError(t, v.api.Unpause(t.Context(), "a/b", "three"))
	_, event = again.next()
	assert.Equal(t, "three", event.Reason)

	refused := v.do("GET", "/namespaces/default/events:watch", "", "Last-Event-ID", "x")
	assert.Equal(t, 400, refused.status)
	assert.Equal(t, "Last-Event-ID", refused.field(t, "field"))
}

// TestStopEndsLiveEvents: a viewer does not keep the process from ending.
func TestStopEndsLiveEvents(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	api, err := client.New(conn, client.Config{Prefix: names.Prefix()})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c, err := console.New(console.Config{Listener: listener, API: api, Conn: conn, Names: names, Services: noServices{}, Drain: time.Hour, Logger: natstest.Logger(t)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	v := &visitor{t: t, url: "http://" + listener.Addr().String(), http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	live := v.follow("/namespaces/default/events:watch", "")
	defer live.close()
	cancel()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(patience):
		require.Fail(t, "it does not end")
	}
}

package rest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/frontend"
	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/schedule"
)

// find returns the route of the table that a method and a path are for, and the request with the parameters of the path.
func find(t require.TestingT, method, target string, body io.Reader) (*route, *http.Request) {
	verbs, err := frontend.Verbs()
	require.NoError(t, err)
	mux := http.NewServeMux()
	routes := map[string]*route{}
	for i := range verbs {
		for _, of := range verbs[i].Routes {
			r := newRoute(&verbs[i], of)
			routes[r.pattern()] = r
			mux.HandleFunc(r.pattern(), func(http.ResponseWriter, *http.Request) {})
		}
	}
	request := httptest.NewRequest(method, Base+target, body)
	mux.ServeHTTP(httptest.NewRecorder(), request)
	require.NotNil(t, routes[request.Pattern], "%s %s: %q", method, target, request.Pattern)
	return routes[request.Pattern], request
}

// asked returns the request of the native API that one over HTTP becomes, such as "GET /namespaces", and its route. The header is a name and a value.
func asked(t *testing.T, line, text string, header [2]string) (r *route, body []byte, err error) {
	t.Helper()
	method, target, _ := strings.Cut(line, " ")
	r, request := find(t, method, target, strings.NewReader(text))
	request.Header.Set("Content-Type", contentJSON)
	if header[0] != "" {
		request.Header.Set(header[0], header[1])
	}
	body, err = r.body(httptest.NewRecorder(), request)
	return r, body, err
}

func TestRequests(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request, body string
		header        [2]string
		verb, want    string
	}{
		"a path":              {request: "GET /namespaces/default/schedules/a%2Fb", verb: "describe", want: `{"id":"a/b"}`},
		"a path and a body":   {"POST /namespaces/default/schedules/a/pause", `{"note":"x"}`, [2]string{}, "pause", `{"id":"a","note":"x"}`},
		"no body":             {request: "POST /namespaces/default/schedules/a/pause", verb: "pause", want: `{"id":"a"}`},
		"an empty object":     {"POST /namespaces/default/schedules/a/pause", ` { } `, [2]string{}, "pause", `{"id":"a"}`},
		"the same twice":      {"PUT /namespaces/default/schedules/a", `{"id":"\u0061"}`, [2]string{}, "update", `{"id":"\u0061"}`},
		"a body alone":        {"POST /namespaces/default/schedules", `{"id":"a"}`, [2]string{}, "create", `{"id":"a"}`},
		"what is not JSON":    {"POST /namespaces/default/schedules", `id: a`, [2]string{}, "create", `id: a`},
		"a number":            {request: "GET /namespaces/default/schedules?pageSize=7&prefix=7", verb: "list", want: `{"pageSize":7,"prefix":"7"}`},
		"no number":           {request: "GET /namespaces/default/schedules?pageSize=x", verb: "list", want: `{"pageSize":"x"}`},
		"a switch":            {request: "GET /namespaces/default/events?newest=true", verb: "history", want: `{"newest":true}`},
		"a list":              {request: "GET /namespaces/n/schedules/a/events?kinds=fired,paused&kinds=x", verb: "history", want: `{"id":"a","kinds":["fired","paused","x"]}`},
		"an unknown field":    {request: "GET /namespaces/n/schedules?pagesize=7", verb: "list", want: `{"pagesize":"7"}`},
		"a version":           {"PUT /namespaces/n/calendars/c", `{}`, [2]string{"If-Match", `"7"`}, "update", `{"conflictToken":7,"name":"c"}`},
		"any version":         {"PUT /namespaces/n/calendars/c", `{}`, [2]string{"If-Match", `*`}, "update", `{"name":"c"}`},
		"a key":               {"POST /namespaces/n/schedules/a/trigger", ``, [2]string{"Idempotency-Key", `"k"`}, "trigger", `{"id":"a","requestId":"k"}`},
		"a key without marks": {"POST /namespaces/n/schedules/a/trigger", ``, [2]string{"Idempotency-Key", `k`}, "trigger", `{"id":"a","requestId":"k"}`},
		"a deletion":          {request: "DELETE /namespaces/n/schedules/a?runs=cancel", header: [2]string{"If-Match", `"3"`}, verb: "delete", want: `{"conflictToken":3,"id":"a","runs":"cancel"}`},
		"two parameters":      {request: "DELETE /namespaces/n/schedules/a/backfills/b", verb: "cancelBackfill", want: `{"backfillId":"b","id":"a"}`},
		"no namespace":        {request: "GET /namespaces?pageSize=3", verb: "list", want: `{"pageSize":3}`},
		"a namespace":         {"POST /namespaces/billing/freeze", `{"reason":"x"}`, [2]string{}, "freeze", `{"reason":"x"}`},
	} {
		r, body, err := asked(t, test.request, test.body, test.header)
		require.NoError(t, err, name)
		assert.Equal(t, test.verb, r.verb.Name, name)
		assert.Equal(t, test.want, string(body), name)
	}
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request, body string
		header        [2]string
		status        int
		field, detail string
	}{
		"two IDs":            {"PUT /namespaces/n/schedules/a", `{"id":"b"}`, [2]string{}, 400, "id", `is "\"b\"" in the body and "\"a\"" in the path`},
		"a weak ETag":        {"PUT /namespaces/n/schedules/a", `{}`, [2]string{"If-Match", `W/"7"`}, 400, "If-Match", `one ETag`},
		"no ETag":            {"PUT /namespaces/n/schedules/a", `{}`, [2]string{"If-Match", `7`}, 400, "If-Match", `one ETag`},
		"two ETags":          {"PUT /namespaces/n/schedules/a", `{}`, [2]string{"If-Match", `"7", "8"`}, 400, "If-Match", `one ETag`},
		"no version":         {"GET /namespaces/n/schedules/a", ``, [2]string{"If-Match", `"7"`}, 400, "If-Match", `depends on no version`},
		"a query and a body": {"POST /namespaces/n/schedules/a/pause?note=x", `{}`, [2]string{}, 400, "", `takes no parameters in the query`},
		"a form":             {"POST /namespaces/n/schedules/a/pause", `note=x`, [2]string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "Content-Type", `application/json`},
		"a long body":        {"POST /namespaces/n/schedules/a/pause", strings.Repeat(" ", maxBody+1), [2]string{}, 413, "", `1048576 bytes`},
		"twice in the query": {"GET /namespaces/n/schedules?prefix=a&prefix=b", ``, [2]string{}, 400, "prefix", `say it once`},
		"path and query":     {"GET /namespaces/n/schedules/a?id=b", ``, [2]string{}, 400, "id", `say it once`},
	} {
		_, _, err := asked(t, test.request, test.body, test.header)
		require.Error(t, err, name)
		problem := problemOf(err)
		assert.Equal(t, test.status, problem.Status, name)
		assert.Equal(t, test.field, problem.Field, name)
		assert.Contains(t, problem.Detail, test.detail, name)
	}
}

// TestRequestsAreIdentified: what changes something can be sent again.
func TestRequestsAreIdentified(t *testing.T) {
	t.Parallel()
	r, _ := find(t, "POST", "/namespaces/n/schedules/a/pause", nil)
	assert.Regexp(t, `^\{"requestId":"[0-9a-f-]{36}","id":"a"\}$`, string(r.identified([]byte(`{"id":"a"}`))))
	assert.Equal(t, `{"id":"a","requestId":"k"}`, string(r.identified([]byte(`{"id":"a","requestId":"k"}`))))
	assert.Equal(t, `nonsense`, string(r.identified([]byte(`nonsense`))))
	r, _ = find(t, "GET", "/namespaces/n/schedules/a", nil)
	assert.Equal(t, `{"id":"a"}`, string(r.identified([]byte(`{"id":"a"}`))))
}

// TestAddedFieldsAreThere: whatever the object is to which fields are added, it has them afterwards, and all that it had.
func TestAddedFieldsAreThere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		there := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "there")
		added := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "added")
		text, want, given := encoded(there), map[string]string{}, fields{}
		for name, value := range there {
			want[name] = value
		}
		for name, value := range added {
			if _, twice := there[name]; !twice {
				want[name], given[name] = value, quoted(value)
			}
		}
		whole, err := given.addTo(text)
		require.NoError(t, err)
		assert.JSONEq(t, string(encoded(want)), string(whole))
	})
}

func TestPositions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := position{time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "at"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos")).UTC(), rapid.StringMatching(`[a-z/.:-]{1,20}`).Draw(t, "id")}
		got, err := readPosition(p.String())
		require.NoError(t, err)
		assert.Equal(t, p, got)
	})
	for _, text := range []string{"x", "2026-01-01T00:00:00Z", "/id", "\x00"} {
		_, err := readPosition(text)
		assert.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err), text)
	}
}

func FuzzBody(f *testing.F) {
	f.Add(`{"id":"a"}`)
	f.Add(`{}`)
	f.Add(`[]`)
	f.Add("{\"\x00")
	verb := frontend.Verb{}
	verbs, err := frontend.Verbs()
	require.NoError(f, err)
	for _, each := range verbs {
		if each.Name == "pause" {
			verb = each
		}
	}
	r := newRoute(&verb, verb.Routes[0])
	f.Fuzz(func(t *testing.T, text string) {
		request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(text))
		request.Header.Set("Content-Type", contentJSON)
		request.SetPathValue("id", "a")
		body, err := r.body(httptest.NewRecorder(), request)
		if err != nil {
			require.NotEqual(t, schedule.CodeInternal, problemOf(err).Code)
			return
		}
		r.identified(body)
	})
}

package console_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// open opens a page, as a browser does.
func (v *visitor) open(path string) *answer {
	v.t.Helper()
	response, err := v.http.Get(v.url + path)
	require.NoError(v.t, err)
	return v.shown(response)
}

// submit sends a form from a page of the console.
func (v *visitor) submit(path string, fields url.Values) *answer {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.url+path, strings.NewReader(fields.Encode()))
	require.NoError(v.t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", v.url)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	response, err := v.http.Do(request)
	require.NoError(v.t, err)
	return v.shown(response)
}

func (v *visitor) shown(response *http.Response) *answer {
	v.t.Helper()
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(v.t, err)
	assert.Contains(v.t, response.Header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'")
	assert.Equal(v.t, "nosniff", response.Header.Get("X-Content-Type-Options"))
	return &answer{response.StatusCode, response.Header, string(text)}
}

func TestPagesOfSchedules(t *testing.T) {
	t.Parallel()
	v := visit(t)
	assert.Contains(t, v.open("/ns/default/schedules").body, "There are no schedules here.")
	require.Equal(t, 201, v.do("POST", "/namespaces/default/schedules", hourly).status)
	list := v.open("/ns/default/schedules")
	require.Equal(t, 200, list.status)
	assert.Contains(t, list.body, `<a href="/ns/default/schedules/a%2Fb">a/b</a>`)
	assert.Contains(t, list.body, "every hour")
	page := v.open("/ns/default/schedules/a%2Fb")
	require.Equal(t, 200, page.status, page.body)
	assert.Contains(t, page.body, `<span class="state good">active</span>`)
	assert.Contains(t, page.body, "created")

	paused := v.submit("/ns/default/schedules/a%2Fb/pause", url.Values{"note": {"holidays"}})
	assert.Equal(t, 200, paused.status)
	assert.Contains(t, paused.body, `<span class="state warn">paused</span> holidays (by console)`)
	assert.Contains(t, paused.body, "The schedule is paused")
	again := v.submit("/ns/default/schedules/a%2Fb/unpause", url.Values{})
	assert.Contains(t, again.body, "The schedule acts again.")
	triggered := v.submit("/ns/default/schedules/a%2Fb/trigger", url.Values{})
	assert.Contains(t, triggered.body, "A run has been asked for.")
}

// TestPagesOfALongList: the list has pages that lead to each other.
func TestPagesOfALongList(t *testing.T) {
	t.Parallel()
	v := visit(t)
	for i := range 41 {
		_, err := v.api.Create(t.Context(), schedule.CreateRequest{ID: string(rune('a'+i/26)) + string(rune('a'+i%26)), Schedule: schedule.Schedule{
			Spec: schedule.Spec{Cron: []string{"@daily"}}, Action: schedule.Action{Type: "t", TaskQueue: "q"},
		}})
		require.NoError(t, err)
	}
	first := v.open("/ns/default/schedules")
	assert.Equal(t, 40, strings.Count(first.body, `<th scope="row"`))
	assert.NotContains(t, first.body, "First page")
	_, next, found := strings.Cut(first.body, `<a href="`+"?after=")
	require.True(t, found)
	next, _, _ = strings.Cut(next, `"`)
	second := v.open("/ns/default/schedules?after=" + strings.ReplaceAll(next, "&amp;", "&"))
	assert.Equal(t, 1, strings.Count(second.body, `<th scope="row"`))
	assert.Contains(t, second.body, "First page")
	assert.NotContains(t, second.body, "Next page")
}

// TestHostileNames: no ID, note or parameter becomes part of a page.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	v := visit(t)
	const evil = `"><script>alert(1)</script>'`
	_, err := v.api.Create(t.Context(), schedule.CreateRequest{ID: evil, Schedule: schedule.Schedule{
		Spec: schedule.Spec{Cron: []string{"@daily"}}, Action: schedule.Action{Type: evil, TaskQueue: evil}, State: schedule.State{Notes: evil},
	}})
	require.NoError(t, err)
	for _, path := range []string{
		"/ns/default/schedules", "/ns/default/schedules/" + url.PathEscape(evil), "/ns/default/schedules?query=" + url.QueryEscape(evil),
		"/ns/" + url.PathEscape(evil) + "/schedules", "/ns/default/schedules/" + url.PathEscape(evil) + "x", "/ns/default/schedules?said=" + url.QueryEscape(evil),
	} {
		got := v.open(path)
		assert.NotContains(t, got.body, "<script>alert", path)
		assert.NotContains(t, got.body, `"><`+"script", path)
	}
}

func TestPagesWithProblems(t *testing.T) {
	t.Parallel()
	v := visit(t)
	for path, test := range map[string]struct {
		status int
		text   string
	}{
		"/ns/default/schedules/none":       {404, "namespace &#34;default&#34; has no schedule &#34;none&#34;"},
		"/ns/nowhere/schedules":            {404, "there is no namespace &#34;nowhere&#34;"},
		"/ns/Bad.Name/schedules":           {400, "<code>namespace</code>"},
		"/ns/default/nothing":              {404, "there is no such page"},
		"/ns/default/schedules?after=none": {400, "pageToken"},
	} {
		got := v.open(path)
		assert.Equal(t, test.status, got.status, path)
		assert.Contains(t, got.body, test.text, path)
		assert.Contains(t, got.body, `role="alert"`, path)
	}
	missing := v.submit("/ns/default/schedules/none/pause", nil)
	assert.Equal(t, 404, missing.status)
	assert.Equal(t, 200, v.open("/static/carillon.css").status)
	assert.Equal(t, 200, v.open("/static/htmx.min.js").status)
	assert.Equal(t, 404, v.open("/static/..%2Fpages.go").status)
}

// TestFormsOfStrangers: a page of another site cannot send a form in the name of somebody on this machine.
func TestFormsOfStrangers(t *testing.T) {
	t.Parallel()
	v := visit(t)
	require.Equal(t, 201, v.do("POST", "/namespaces/default/schedules", hourly).status)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.url+"/ns/default/schedules/a%2Fb/pause", strings.NewReader("note=x"))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", "https://evil.example")
	response, err := v.http.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, 403, response.StatusCode)
	d, err := v.api.Describe(t.Context(), "a/b")
	require.NoError(t, err)
	assert.False(t, d.State.Paused)
}

// TestPollsAreShared: a page that keeps itself up to date is the same for all who look at the same moment. Whoever changes something sees it at once.
func TestPollsAreShared(t *testing.T) {
	t.Parallel()
	v := visit(t)
	v.make(t, "shared", daily)
	polls := func() string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.url+"/ns/default/schedules/shared", nil)
		require.NoError(t, err)
		request.Header.Set("HX-Request", "true")
		response, err := v.http.Do(request)
		require.NoError(t, err)
		return v.shown(response).body
	}
	assert.Contains(t, polls(), ">active<")
	v.submit("/ns/default/schedules/shared/pause", url.Values{"note": {"by hand"}})
	assert.Contains(t, polls(), ">paused<")
	require.NoError(t, v.api.Unpause(t.Context(), "shared", ""))
	natstest.Eventually(t, patience, "others see it after a moment", func() bool { return strings.Contains(polls(), ">active<") })
}

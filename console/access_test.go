package console_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// logsIn logs in as a user.
func (v *visitor) logsIn(user, password string) *answer {
	v.t.Helper()
	return v.submit("/login", url.Values{"user": {user}, "password": {password}, "next": {"/ns/default/schedules"}})
}

// TestLogInAndOut goes the way of a person.
func TestLogInAndOut(t *testing.T) {
	t.Parallel()
	g := visitGuarded(t)
	g.make(t, "daily", daily)
	assert.Contains(t, g.open("/ns/default/schedules/daily").body, "<h1>Log in</h1>")
	wrong := g.logsIn("ann", "guess")
	assert.Equal(t, http.StatusUnauthorized, wrong.status)
	assert.Contains(t, wrong.body, "NATS does not know these credentials")
	assert.Contains(t, wrong.body, `value="ann"`)
	assert.NotContains(t, wrong.body, "guess")
	for _, form := range []url.Values{{}, {"token": {"x"}, "creds": {"y"}}, {"creds": {"y"}}, {"user": {"ann"}, "password": {"a"}, "namespace": {"a.b"}}} {
		assert.Equal(t, http.StatusBadRequest, g.submit("/login", form).status, form)
	}
	assert.Equal(t, http.StatusUnauthorized, g.submit("/login", url.Values{"token": {"x"}}).status)

	in := g.logsIn("ann", "a")
	assert.Contains(t, in.body, "logged in as <strong>ann</strong>")
	assert.Contains(t, in.body, "daily")
	assert.Equal(t, http.StatusOK, g.submit("/ns/default/schedules/daily/pause", url.Values{"note": {"n"}}).status)
	out := g.submit("/logout", nil)
	assert.Contains(t, out.body, "You are logged out.")
	assert.Contains(t, g.open("/ns/default/schedules").body, "<h1>Log in</h1>")
}

// TestNoRightToLook: a page that asks JetStream says at once which permission is missing, and a part of a page is missing alone.
func TestNoRightToLook(t *testing.T) {
	t.Parallel()
	g := visitGuarded(t)
	g.logsIn("bob", "b")
	letters := g.open("/ns/default/dead-letters")
	assert.Equal(t, http.StatusForbidden, letters.status)
	assert.Contains(t, letters.body, "NATS does not let this user publish on $JS.API.")
	assert.Equal(t, http.StatusOK, g.open("/ns/default/task-queues").status)
}

// TestLiveUpdatesAfterTheSession: the script of a page that asks again by itself loads the page of the login as a whole.
func TestLiveUpdatesAfterTheSession(t *testing.T) {
	t.Parallel()
	g := visitGuarded(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/ns/default/schedules", nil)
	require.NoError(t, err)
	request.Header.Set("HX-Request", "true")
	request.Header.Set("HX-Current-URL", g.url+"/ns/default/schedules?query=x")
	response, err := g.http.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusUnauthorized, response.StatusCode)
	assert.Equal(t, "/login?next=%2Fns%2Fdefault%2Fschedules%3Fquery%3Dx", response.Header.Get("HX-Redirect"))
}

// TestFileOfCredentials: the seed of an nkey is pasted, or comes as a file.
func TestFileOfCredentials(t *testing.T) {
	t.Parallel()
	g := visitGuarded(t)
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err := pair.PublicKey()
	require.NoError(t, err)
	seed, err := pair.Seed()
	require.NoError(t, err)
	g.configure(t, strings.Replace(guardedUsers, "users: [", "users: [ { nkey: "+public+" }", 1))
	require.NoError(t, g.server.Reload())
	pasted := g.submit("/login", url.Values{"creds": {string(seed)}, "user": {"filled in by the browser"}})
	assert.Contains(t, pasted.body, "logged in as <strong>"+public)

	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	file, err := form.CreateFormFile("file", "ann.creds")
	require.NoError(t, err)
	_, err = file.Write(seed)
	require.NoError(t, err)
	require.NoError(t, form.Close())
	response, err := g.http.Post(g.url+"/login", form.FormDataContentType(), &body)
	require.NoError(t, err)
	assert.Contains(t, g.shown(response).body, "logged in as <strong>"+public)
}

// TestUserIsRemoved: whoever NATS knows no more is logged out, and so are programs.
func TestUserIsRemoved(t *testing.T) {
	t.Parallel()
	g := visitGuarded(t)
	require.Contains(t, g.logsIn("bob", "b").body, "logged in as <strong>bob</strong>")
	g.configure(t, strings.Replace(guardedUsers, "user: bob", "user: robert", 1))
	require.NoError(t, g.server.Reload())
	natstest.Eventually(t, patience, "the session has ended", func() bool {
		return strings.Contains(g.open("/ns/default/schedules").body, "<h1>Log in</h1>")
	})
	g.configure(t, guardedUsers)
	require.NoError(t, g.server.Reload())
	assert.Contains(t, g.open("/ns/default/schedules").body, "<h1>Log in</h1>", "it does not come back")
}

// TestRightsAreTakenAway: a permission that is gone counts at once, and the session goes on.
func TestRightsAreTakenAway(t *testing.T) {
	t.Parallel()
	g := visitGuarded(t)
	g.make(t, "daily", daily)
	require.Contains(t, g.logsIn("bob", "b").body, "daily")
	g.configure(t, strings.Replace(guardedUsers, `"carillon.api.default.schedule.list", `, "", 1))
	require.NoError(t, g.server.Reload())
	natstest.Eventually(t, patience, "the list is refused", func() bool {
		return strings.Contains(g.open("/ns/default/schedules").body, "NATS does not let this user publish on carillon.api.default.schedule.list")
	})
	assert.Contains(t, g.open("/ns/default/schedules/daily").body, "logged in as <strong>bob</strong>")
}

package systemtest

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/schedule"
)

// fencedConsole is a console that lets people log in, with the NATS server and the users of deploy/nats.
type fencedConsole struct {
	*fence
	address string
	// operator speaks to the frontend without the console.
	operator *client.Client
}

// consoles runs a frontend and a console, with a schedule in the namespaces billing and other.
func (f *fence) consoles() *fencedConsole {
	f.t.Helper()
	frontend, ready, err := f.cluster().Frontend(roles.SearchOptions{Dir: f.t.TempDir()})
	require.NoError(f.t, err)
	f.supervise(frontend)
	<-ready
	conn, _, _ := f.connect("operator")
	operator, err := client.New(conn, client.Config{Namespace: "billing"})
	require.NoError(f.t, err)
	for _, namespace := range []string{"billing", "other"} {
		_, err = operator.CreateNamespace(f.t.Context(), namespace, schedule.CreateNamespaceRequest{})
		require.NoError(f.t, err)
		in, err := operator.In(namespace)
		require.NoError(f.t, err)
		_, err = in.Create(f.t.Context(), schedule.CreateRequest{ID: "of-" + namespace, Schedule: schedule.Schedule{
			Spec: schedule.Spec{Cron: []string{"0 0 1 1 *"}}, Action: schedule.Action{Type: "log", TaskQueue: "q"},
		}})
		require.NoError(f.t, err)
	}
	return &fencedConsole{f, f.console(roles.ConsoleConfig{LogIn: true}), operator}
}

// console runs a console, and returns its address.
func (f *fence) console(config roles.ConsoleConfig) string {
	f.t.Helper()
	config.Listener, config.Identity, config.Drain = f.listen(), "console", time.Second
	role, err := f.cluster().Console(config)
	require.NoError(f.t, err)
	f.supervise(role)
	return config.Listener.Addr().String()
}

// browser is somebody with cookies. It does not follow redirects.
type browser struct {
	t    *testing.T
	base string
	http *http.Client
}

func newBrowser(t *testing.T, address string) *browser {
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &browser{t, "http://" + address, &http.Client{
		Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// got is an answer.
type got struct {
	status int
	header http.Header
	body   string
}

// asks sends a request. Headers are name and value by turns. No answer has a secret.
func (b *browser) asks(method, path, body string, headers ...string) got {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, strings.NewReader(body))
	require.NoError(b.t, err)
	if strings.HasPrefix(path, "/api/") {
		request.Header.Set("Content-Type", "application/json")
	} else if body != "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := b.http.Do(request)
	require.NoError(b.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(b.t, err)
	assert.NotContains(b.t, string(text), "secret-of-")
	return got{response.StatusCode, response.Header, string(text)}
}

// logsIn logs in, and fails the test if that is refused.
func (b *browser) logsIn(user string) *browser {
	b.t.Helper()
	answer := b.asks("POST", "/login", url.Values{"user": {user}, "password": {passwordOf(user)}, "namespace": {"billing"}}.Encode())
	require.Equal(b.t, http.StatusSeeOther, answer.status, answer.body)
	return b
}

// session is the cookie of a browser; empty if it has none.
func (b *browser) session() string {
	at, err := url.Parse(b.base)
	require.NoError(b.t, err)
	for _, cookie := range b.http.Jar.Cookies(at) {
		return cookie.Value
	}
	return ""
}

const (
	pageOfBilling = "/ns/billing/schedules/of-billing"
	apiOfBilling  = "/api/carillon/v1/namespaces/billing/schedules/of-billing"
	apiOfTemporal = "/api/v1/namespaces/billing/workflows"
	// bearer begins the header of a program.
	bearer = "Bearer "
)

// TestConsoleAttacks tries, with the users of deploy/nats, what each of them may not do in the console, and what somebody does who may do nothing.
func TestConsoleAttacks(t *testing.T) {
	c := newFence(t).consoles()
	for name, attack := range map[string]func(t *testing.T, c *fencedConsole, b *browser){
		"nobody gets in":                        nobodyGetsIn,
		"a viewer changes something":            viewerChanges,
		"a tenant looks elsewhere":              tenantLooksElsewhere,
		"a cookie is made up":                   cookieIsMadeUp,
		"a session is used after the logout":    sessionAfterLogout,
		"a session is planted before the login": sessionIsPlanted,
		"another site logs somebody in":         loginFromElsewhere,
		"another site posts":                    postFromElsewhere,
		"a header claims a name":                headerClaims,
		"a link leads elsewhere after the login": func(t *testing.T, _ *fencedConsole, b *browser) {
			for _, next := range []string{"https://evil.example/", "//evil.example/", `/\evil.example`, "/login", "javascript:alert(1)"} {
				answer := b.asks("POST", "/login", url.Values{"user": {"billing"}, "password": {passwordOf("billing")}, "next": {next}}.Encode())
				assert.Equal(t, "/", answer.header.Get("Location"), next)
			}
		},
		"a body has no end":     bodyWithoutEnd,
		"nobody reads":          nobodyReads,
		"a host is made up":     hostIsMadeUp,
		"an ID breaks a header": idBreaksAHeader,
		"another protocol":      anotherProtocol,
		"two lengths":           twoLengths,
	} {
		t.Run(name, func(t *testing.T) { attack(t, c, newBrowser(t, c.address)) })
	}
	// After each of these, a limit is used up for a while: of a user, of those who log in from here, and of anybody from here.
	t.Run("a flood", func(t *testing.T) { flood(t, c, newBrowser(t, c.address)) })
	t.Run("a password is guessed", func(t *testing.T) { guesses(t, newBrowser(t, c.address)) })
	t.Run("a flood of logouts", func(t *testing.T) { floodOfLogouts(t, newBrowser(t, c.address)) })
	assert.False(t, c.isPaused(), "nobody has changed it but those who may")
}

// isPaused reports whether somebody has left the schedule of billing paused.
func (c *fencedConsole) isPaused() bool {
	c.t.Helper()
	d, err := c.operator.Describe(c.t.Context(), "of-billing")
	require.NoError(c.t, err)
	return d.State.Paused
}

func nobodyGetsIn(t *testing.T, _ *fencedConsole, b *browser) {
	for _, path := range []string{"/", pageOfBilling, "/ns/other/schedules"} {
		answer := b.asks("GET", path, "")
		assert.Equal(t, http.StatusSeeOther, answer.status, path)
		assert.Regexp(t, "^/login", answer.header.Get("Location"), path)
	}
	for _, path := range []string{apiOfBilling, apiOfTemporal, "/api/carillon/v1/openapi.json", "/anything"} {
		answer := b.asks("GET", path, "")
		assert.Equal(t, http.StatusUnauthorized, answer.status, path)
		assert.Equal(t, "application/problem+json", answer.header.Get("Content-Type"), path)
		assert.Equal(t, `Bearer realm="carillon"`, answer.header.Get("WWW-Authenticate"), path)
	}
	for _, header := range []string{"Bearer billing:guess", "Bearer " + passwordOf("operator"), "Negotiate x", "Bearer "} {
		assert.Equal(t, http.StatusUnauthorized, b.asks("GET", apiOfBilling, "", "Authorization", header).status, header)
	}
	for _, claim := range []string{"X-Forwarded-User", "X-Remote-User", "Carillon-Identity", "Grpc-Metadata-Authorization"} {
		assert.Equal(t, http.StatusUnauthorized, b.asks("GET", apiOfTemporal, "", claim, "operator").status, claim)
	}
	assert.Equal(t, http.StatusOK, b.asks("GET", "/static/carillon.css", "").status, "the page of the login needs it")
	for _, path := range []string{"/static%2F..%2Fapi%2Fv1%2Fnamespaces", "/static%2f..%2fns%2fbilling%2fschedules", "/static%2F"} {
		assert.NotEqual(t, http.StatusOK, b.asks("GET", path, "").status, path)
	}
	assert.Equal(t, http.StatusSeeOther, b.asks("POST", "/static/carillon.css", "x=y").status, "a form is for people who have logged in")
}

func viewerChanges(t *testing.T, _ *fencedConsole, b *browser) {
	b.logsIn("billing-viewer")
	seen := b.asks("GET", pageOfBilling, "")
	assert.Equal(t, http.StatusOK, seen.status, seen.body)
	assert.Contains(t, seen.body, "logged in as <strong>billing-viewer</strong>")
	assert.Equal(t, http.StatusOK, b.asks("GET", apiOfTemporal, "").status)
	for _, verb := range []string{"pause", "trigger", "delete"} {
		answer := b.asks("POST", pageOfBilling+"/"+verb, "")
		assert.Equal(t, http.StatusForbidden, answer.status, verb)
		assert.Contains(t, answer.body, "NATS does not let this user publish on carillon.api.billing.schedule."+verb)
	}
	answer := b.asks("POST", apiOfBilling+"/pause", "{}")
	assert.Equal(t, http.StatusForbidden, answer.status)
	assert.Contains(t, answer.body, `"code":"permission_denied"`)
	answer = b.asks("POST", apiOfTemporal+"/w/signal/s", "{}")
	assert.Equal(t, http.StatusForbidden, answer.status)
	assert.Contains(t, answer.body, "carillon.api.billing.workflow.write")
	assert.Equal(t, http.StatusForbidden, b.asks("GET", "/api/carillon/v1/namespaces", "").status, "it may not see all namespaces")
}

func tenantLooksElsewhere(t *testing.T, _ *fencedConsole, b *browser) {
	b.logsIn("billing")
	for _, path := range []string{
		"/ns/other/schedules/of-other", "/api/carillon/v1/namespaces/other/schedules", "/api/v1/namespaces/other/workflows", "/ns/%3E/schedules",
		"/api/carillon/v1/namespaces/%2A/schedules",
	} {
		answer := b.asks("GET", path, "")
		assert.NotEqual(t, http.StatusOK, answer.status, path)
		assert.NotContains(t, answer.body, "0 0 1 1", path)
	}
	assert.Equal(t, http.StatusForbidden, b.asks("GET", "/api/v1/namespaces/other/workflows", "").status)
}

func cookieIsMadeUp(t *testing.T, _ *fencedConsole, b *browser) {
	for _, number := range []string{"", "x", strings.Repeat("A", 43), strings.Repeat("A", 4000)} {
		for _, name := range []string{"carillon", "__Host-carillon"} {
			assert.Equal(t, http.StatusUnauthorized, b.asks("GET", apiOfBilling, "", "Cookie", name+"="+number).status)
		}
	}
}

func sessionAfterLogout(t *testing.T, c *fencedConsole, b *browser) {
	stolen := "carillon=" + b.logsIn("billing-viewer").session()
	thief := newBrowser(t, c.address)
	require.Equal(t, http.StatusOK, thief.asks("GET", apiOfBilling, "", "Cookie", stolen).status, "whoever has the number has the session")
	live, err := net.Dial("tcp", c.address)
	require.NoError(t, err)
	defer live.Close()
	require.NoError(t, live.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(live, "GET /api/carillon/v1/namespaces/billing/events:watch HTTP/1.1\r\nHost: c\r\nConnection: close\r\nCookie: "+stolen+"\r\n\r\n")
	require.NoError(t, err)
	_, err = io.ReadFull(live, make([]byte, 64))
	require.NoError(t, err)

	answer := b.asks("POST", "/logout", "")
	assert.Equal(t, "/login?reason=out", answer.header.Get("Location"))
	assert.Empty(t, b.session())
	assert.Equal(t, http.StatusUnauthorized, thief.asks("GET", apiOfBilling, "", "Cookie", stolen).status)
	_, err = io.ReadAll(live)
	assert.NoError(t, err, "a live stream ends with the session")
	assert.Equal(t, http.StatusMethodNotAllowed, b.asks("GET", "/logout", "").status, "no link logs anybody out")
}

func sessionIsPlanted(t *testing.T, c *fencedConsole, b *browser) {
	planted := newBrowser(t, c.address).logsIn("billing-viewer").session()
	answer := b.asks("POST", "/login", url.Values{"user": {"billing"}, "password": {passwordOf("billing")}}.Encode(), "Cookie", "carillon="+planted)
	require.Equal(t, http.StatusSeeOther, answer.status)
	set := answer.header.Get("Set-Cookie")
	assert.NotContains(t, set, planted)
	assert.Regexp(t, `^carillon=[\w-]{43}; Path=/; HttpOnly; SameSite=Lax$`, set)
	assert.Equal(t, http.StatusUnauthorized, b.asks("GET", apiOfBilling, "", "Cookie", "carillon="+planted).status)
	answer = b.asks("GET", "/login", "", "X-Forwarded-Proto", "https")
	assert.Equal(t, http.StatusOK, answer.status)
}

func loginFromElsewhere(t *testing.T, _ *fencedConsole, b *browser) {
	form := url.Values{"user": {"billing"}, "password": {passwordOf("billing")}}.Encode()
	for _, header := range [][]string{{"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "null"}} {
		answer := b.asks("POST", "/login", form, header...)
		assert.Equal(t, http.StatusForbidden, answer.status, header)
		assert.Empty(t, b.session())
	}
}

func postFromElsewhere(t *testing.T, _ *fencedConsole, b *browser) {
	b.logsIn("billing")
	for _, header := range [][]string{{"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}} {
		assert.Equal(t, http.StatusForbidden, b.asks("POST", pageOfBilling+"/pause", "", header...).status)
		assert.Equal(t, http.StatusForbidden, b.asks("POST", apiOfBilling+"/pause", "{}", header...).status)
		assert.Equal(t, http.StatusForbidden, b.asks("POST", "/logout", "", header...).status)
	}
	assert.Equal(t, http.StatusUnsupportedMediaType, b.asks("POST", apiOfBilling+"/pause", "{}", "Content-Type", "text/plain").status)
	page := b.asks("GET", pageOfBilling, "")
	assert.Contains(t, page.header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
	assert.Empty(t, page.header.Get("Access-Control-Allow-Origin"))
}

func headerClaims(t *testing.T, c *fencedConsole, b *browser) {
	b.logsIn("billing")
	for _, path := range []string{pageOfBilling, apiOfBilling} {
		for verb, note := range map[string]string{"pause": "claimed", "unpause": "claimed no more"} {
			body := url.Values{"note": {note}}.Encode()
			if path == apiOfBilling {
				body = `{"note":"` + note + `"}`
			}
			answer := b.asks("POST", path+"/"+verb, body, "Carillon-Identity", "ceo", "X-Forwarded-User", "ceo")
			require.Less(t, answer.status, 400, answer.body)
		}
	}
	require.NoError(t, c.operator.Unpause(t.Context(), "of-billing", ""))
	seen := map[string]bool{}
	for event, err := range c.operator.Events(t.Context(), schedule.HistoryRequest{ID: "of-billing"}) {
		require.NoError(t, err)
		if strings.HasPrefix(event.Reason, "claimed") {
			seen[event.Identity] = true
		}
	}
	assert.Equal(t, map[string]bool{"billing": true}, seen)
}

func bodyWithoutEnd(t *testing.T, _ *fencedConsole, b *browser) {
	long := strings.Repeat("x", 4<<20)
	assert.Equal(t, http.StatusRequestEntityTooLarge, b.asks("POST", "/login", "user="+long).status)
	b.logsIn("billing")
	assert.Equal(t, http.StatusRequestEntityTooLarge, b.asks("POST", apiOfBilling+"/pause", `{"note":"`+long+`"}`).status)
	assert.Equal(t, http.StatusRequestEntityTooLarge, b.asks("POST", pageOfBilling+"/pause", "note="+long).status)
}

// nobodyReads opens as many live streams as one user may have, and reads none of them. Others are not hindered.
func nobodyReads(t *testing.T, c *fencedConsole, b *browser) {
	cookie := "carillon=" + b.logsIn("billing").session()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	status := 0
	for range 60 {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+"/api/carillon/v1/namespaces/billing/events:watch", nil)
		require.NoError(t, err)
		request.Header.Set("Cookie", cookie)
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		if status = response.StatusCode; status != http.StatusOK {
			break
		}
	}
	assert.Equal(t, http.StatusTooManyRequests, status)
	for range 10 {
		raw, err := net.Dial("tcp", c.address)
		require.NoError(t, err)
		defer raw.Close()
		_, err = io.WriteString(raw, "GET "+pageOfBilling+" HTTP/1.1\r\nHost: c\r\nCookie: "+cookie+"\r\n\r\n")
		require.NoError(t, err)
	}
	assert.Equal(t, http.StatusOK, newBrowser(t, c.address).logsIn("billing-viewer").asks("GET", apiOfBilling, "").status)
}

// flood sends more requests than one user may, through many sessions and as a program. They are refused in order, and others are not hindered.
func flood(t *testing.T, c *fencedConsole, b *browser) {
	var senders [][]string
	for range 10 {
		senders = append(senders, []string{"Cookie", "carillon=" + newBrowser(t, c.address).logsIn("billing-viewer").session()})
	}
	senders = append(senders, []string{"Authorization", bearer + "billing-viewer:" + passwordOf("billing-viewer")})
	var mu sync.Mutex
	var refused got
	begin, sent := time.Now(), 0
	next := func() (sender []string, more bool) {
		mu.Lock()
		defer mu.Unlock()
		sent++
		return senders[sent%len(senders)], refused.status == 0 && sent < 20_000
	}
	var sending sync.WaitGroup
	for range 8 {
		sending.Go(func() {
			for sender, more := next(); more; sender, more = next() {
				if answer := b.asks("GET", "/api/carillon/v1/openapi.json", "", sender...); answer.status != http.StatusOK {
					mu.Lock()
					refused = answer
					mu.Unlock()
				}
			}
		})
	}
	sending.Wait()
	require.Equal(t, http.StatusTooManyRequests, refused.status)
	assert.NotEmpty(t, refused.header.Get("Retry-After"))
	assert.LessOrEqual(t, float64(sent), 420+100*time.Since(begin).Seconds(), "all of them have the limit of one user")
	other := []string{"Authorization", bearer + "billing:" + passwordOf("billing")}
	assert.Equal(t, http.StatusOK, newBrowser(t, c.address).asks("GET", apiOfBilling, "", other...).status)
}

// floodOfLogouts posts to the one page that needs no credentials and has no form.
func floodOfLogouts(t *testing.T, b *browser) {
	for range 10_000 {
		if answer := b.asks("POST", "/logout", ""); answer.status != http.StatusSeeOther {
			assert.Equal(t, http.StatusTooManyRequests, answer.status)
			return
		}
	}
	t.Error("there is no limit")
}

// guesses tries passwords until it is refused.
func guesses(t *testing.T, b *browser) {
	form := func(password string) string {
		return url.Values{"user": {"billing"}, "password": {password}}.Encode()
	}
	var answer got
	tries := 0
	for ; tries < 100; tries++ {
		if answer = b.asks("POST", "/login", form("guess")); answer.status != http.StatusUnauthorized {
			break
		}
		assert.Contains(t, answer.body, "NATS does not know these credentials")
	}
	assert.Less(t, tries, 20)
	assert.Equal(t, http.StatusTooManyRequests, answer.status)
	assert.NotEmpty(t, answer.header.Get("Retry-After"))
	assert.Equal(t, http.StatusTooManyRequests, b.asks("POST", "/login", form(passwordOf("billing"))).status, "not even the right one is looked at")
}

// TestConsoleBehindAProxy: the name that a proxy says counts where the proxy is, and nowhere else.
func TestConsoleBehindAProxy(t *testing.T) {
	f := newFence(t)
	c := f.consoles()
	near := f.console(roles.ConsoleConfig{ProxyHeader: "X-Forwarded-User", Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Hosts: []string{"console.example"}})
	far := f.console(roles.ConsoleConfig{ProxyHeader: "X-Forwarded-User", Proxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	b := newBrowser(t, near)
	answer := b.asks("POST", apiOfBilling+"/pause", `{"note":"by proxy"}`, "X-Forwarded-User", "ann@example.com", "Carillon-Identity", "ceo")
	require.Equal(t, http.StatusOK, answer.status, answer.body)
	assert.Contains(t, b.asks("GET", pageOfBilling, "", "X-Forwarded-User", "ann@example.com").body, "logged in as <strong>ann@example.com</strong>")
	for event, err := range c.operator.Events(t.Context(), schedule.HistoryRequest{ID: "of-billing", Kinds: []schedule.EventKind{schedule.EventPaused}}) {
		require.NoError(t, err)
		assert.Equal(t, "ann@example.com", event.Identity)
	}
	for name, headers := range map[string][]string{
		"no name": nil, "an empty name": {"X-Forwarded-User", " "}, "a long name": {"X-Forwarded-User", strings.Repeat("x", 300)},
	} {
		assert.Equal(t, http.StatusForbidden, b.asks("GET", apiOfBilling, "", headers...).status, name)
	}
	elsewhere := newBrowser(t, far)
	for _, header := range []string{"X-Forwarded-User", "X-Forwarded-For"} {
		assert.Equal(t, http.StatusForbidden, elsewhere.asks("GET", apiOfBilling, "", header, "192.0.2.1").status, header)
	}
	strangers, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.base+apiOfBilling, bytes.NewReader(nil))
	require.NoError(t, err)
	strangers.Header.Set("X-Forwarded-User", "ann")
	for host, want := range map[string]int{"evil.example": http.StatusMisdirectedRequest, "console.example": http.StatusOK} {
		strangers.Host = host
		response, err := b.http.Do(strangers)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, want, response.StatusCode, host)
	}
	natstest.Eventually(t, patience, "the pause is over", func() bool { return c.operator.Unpause(t.Context(), "of-billing", "") == nil })
}

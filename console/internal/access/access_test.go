package access

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/callers"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestMain(m *testing.M) { natstest.Main(m) }

var begin = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func client(t *testing.T, user, address string) callers.Client {
	t.Helper()
	of, err := callers.Password(user, "p")
	require.NoError(t, err)
	return callers.Client{Credentials: of, Address: address}
}

// TestSessionsEnd: by the logout, by idleness and by age. The last session of a user takes the connection with it.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	var forgotten []string
	s := newSessions(func(c callers.Credentials) { forgotten = append(forgotten, c.Name()) })
	first, second := s.begin(client(t, "ann", ""), "", begin), s.begin(client(t, "ann", ""), "team", begin)
	assert.NotEqual(t, first, second)
	one := s.find(first, true, begin)
	require.NotNil(t, one)
	s.remove(first)
	assert.Nil(t, s.find(first, true, begin))
	assert.Error(t, one.over.Err())
	assert.Empty(t, forgotten, "the other session needs the connection")
	assert.Equal(t, "team", s.find(second, true, begin).namespace)

	now := begin.Add(maxIdle - time.Second)
	assert.NotNil(t, s.find(second, false, now), "it is not a person")
	assert.Nil(t, s.find(second, true, now.Add(time.Second)), "it was idle")
	s.sweep(now.Add(time.Second))
	assert.Equal(t, []string{"ann"}, forgotten)

	third := s.begin(client(t, "bob", ""), "", begin)
	for now = begin; now.Sub(begin) < maxAge; now = now.Add(time.Hour) {
		require.NotNil(t, s.find(third, true, now))
	}
	assert.Nil(t, s.find(third, true, now), "it is old")
	s.clear()
	assert.Equal(t, []string{"ann", "bob"}, forgotten)
}

// TestSessionsAreBounded: no user takes the place of the others, and neither does a network.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSessions(func(callers.Credentials) {})
	other := s.begin(client(t, "bob", "192.0.2.1"), "", begin)
	first := s.begin(client(t, "ann", "192.0.2.2"), "", begin.Add(time.Second))
	second := s.begin(client(t, "ann", "192.0.2.3"), "", begin.Add(2*time.Second))
	for n := range maxOfUser - 1 {
		s.begin(client(t, "ann", "192.0.2.2"), "", begin.Add(time.Minute+time.Duration(n)*time.Millisecond))
	}
	assert.Len(t, s.of, maxOfUser+1)
	assert.Nil(t, s.find(first, false, begin), "it was the idlest of ann's")
	for n := range maxSessions + maxOfUser {
		s.begin(client(t, fmt.Sprintf("minted-%d", n), fmt.Sprintf("2001:db8::%x", n+1)), "", begin.Add(time.Hour))
	}
	assert.Len(t, s.of, maxSessions)
	assert.NotNil(t, s.find(other, false, begin), "the sessions of another network are the idlest, and stay")
	assert.NotNil(t, s.find(second, false, begin))
}

// TestLimiter: a sender may do so much at once, and then again with time. Others have limits of their own, as long as there is room.
func TestLimiter(t *testing.T) {
	t.Parallel()
	l := newLimiter(0.5, 2)
	allow := func(sender any, now time.Time) (time.Duration, bool) {
		wait, _, allowed := l.allow(sender, now)
		return wait, allowed
	}
	for range 2 {
		_, allowed := allow("a", begin)
		assert.True(t, allowed)
	}
	wait, allowed := allow("a", begin)
	assert.False(t, allowed)
	assert.Equal(t, 2*time.Second, wait)
	_, allowed = allow("b", begin)
	assert.True(t, allowed)
	_, allowed = allow("a", begin.Add(wait))
	assert.True(t, allowed)

	for n := range 2 * maxBuckets {
		allow(n, begin.Add(time.Hour))
	}
	assert.LessOrEqual(t, len(l.of), maxBuckets+1)
	_, allowed = allow("late", begin.Add(time.Hour))
	assert.False(t, allowed, "it shares the limit of all who came too late")
	_, allowed = allow("later", begin.Add(2*time.Hour))
	assert.True(t, allowed)
	assert.LessOrEqual(t, len(l.of), 2)
}

// TestSuccessCountsNot: what is undone has not happened.
func TestSuccessCountsNot(t *testing.T) {
	t.Parallel()
	l := newLimiter(0.5, 2)
	for range 10 {
		_, undo, allowed := l.allow("a", begin)
		require.True(t, allowed)
		undo()
	}
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	var s streams
	for range maxStreams - 1 {
		_, allowed := s.enter("a", "x")
		require.True(t, allowed)
	}
	leave, allowed := s.enter("a", "x")
	require.True(t, allowed)
	_, allowed = s.enter("a", "x")
	assert.False(t, allowed)
	other, allowed := s.enter("b", "y")
	assert.True(t, allowed)
	other()
	assert.Len(t, s.of, 2)
	leave()
	_, allowed = s.enter("a", "x")
	assert.True(t, allowed)

	for n := range maxStreamsOfOwner {
		_, allowed = s.enter(n, "minted")
		require.True(t, allowed)
	}
	_, allowed = s.enter("one more", "minted")
	assert.False(t, allowed, "an account has no more for having many users")
	_, allowed = s.enter("b", "y")
	assert.True(t, allowed)
}

// TestLimitsOfANetwork: whoever has a network of IPv6 addresses is one sender. The pages of the login and of the logout have the same limits.
func TestLimitsOfANetwork(t *testing.T) {
	t.Parallel()
	var status int
	fresh := func() http.Handler {
		return New(Config{
			Users: &callers.Callers{}, Now: func() time.Time { return begin }, IsPage: func(*http.Request) bool { return true }, Logger: slog.New(slog.DiscardHandler),
			ShowLogin: func(_ http.ResponseWriter, _ *http.Request, with int, _ Form) { status = with },
			Refuse:    func(_ http.ResponseWriter, _ *http.Request, with int, _ *schedule.Error) { status = with },
		}).Around(http.NotFoundHandler())
	}
	ask := func(handler http.Handler, method, path, from string) int {
		r := httptest.NewRequest(method, path, nil)
		r.RemoteAddr = "[" + from + "]:5"
		status = http.StatusOK
		handler.ServeHTTP(httptest.NewRecorder(), r)
		return status
	}
	for _, asked := range []struct {
		method, path string
		atOnce       int
	}{
		{"GET", "/", requestsAtOnce}, {"GET", "/static/carillon.css", requestsAtOnce}, {"GET", "/login", requestsAtOnce}, {"POST", "/login", loginsAtOnce},
		{"PUT", "/login", requestsAtOnce}, {"POST", "/logout", requestsAtOnce}, {"GET", "/logout", requestsAtOnce},
	} {
		handler := fresh()
		for n := range asked.atOnce {
			assert.NotEqual(t, http.StatusTooManyRequests, ask(handler, asked.method, asked.path, fmt.Sprintf("2001:db8::%x", n+1)))
		}
		assert.Equal(t, http.StatusTooManyRequests, ask(handler, asked.method, asked.path, "2001:db8::ffff:1"), "%s %s", asked.method, asked.path)
		assert.NotEqual(t, http.StatusTooManyRequests, ask(handler, asked.method, asked.path, "2001:db8:0:1::1"), "another network")
	}
}

// TestOnlyWhatIsRefusedHasFailed: while NATS cannot be asked, attempts to log in do not count as failed.
func TestOnlyWhatIsRefusedHasFailed(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	users, err := callers.New(callers.Config{Conn: js.Conn(), Names: natstest.Names(t), Now: time.Now, Logger: natstest.Logger(t)})
	require.NoError(t, err)
	users.Close()
	var status int
	handler := New(Config{
		Users: users, Now: func() time.Time { return begin }, IsPage: func(*http.Request) bool { return true }, Logger: natstest.Logger(t),
		ShowLogin: func(_ http.ResponseWriter, _ *http.Request, with int, _ Form) { status = with },
	}).Around(http.NotFoundHandler())
	for range 2 * loginsAtOnce {
		r := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader("user=ann&password=p"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		handler.ServeHTTP(httptest.NewRecorder(), r)
		assert.Equal(t, http.StatusServiceUnavailable, status)
	}
}

// TestSafe: a login leads to a page of this server, whatever the link says.
func TestSafe(t *testing.T) {
	t.Parallel()
	for _, next := range []string{"/", "/ns/default/schedules?query=a%20b", "/ns/a%2Fb/x"} {
		assert.Equal(t, next, safe(next))
	}
	for _, next := range []string{
		"", "x", "//evil.example", "///evil.example", `/\evil.example`, "https://evil.example/", "javascript:x", "/login", "/login?next=/", "/logout", "/%zz", "\t//x",
	} {
		assert.Equal(t, "/", safe(next), next)
	}
}

// TestAddressOf: a proxy may say for whom it asks, and nobody else.
func TestAddressOf(t *testing.T) {
	t.Parallel()
	a := New(Config{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}})
	for name, test := range map[string]struct{ from, said, want string }{
		"nobody between":        {"192.0.2.1:5", "", "192.0.2.1"},
		"a claim":               {"192.0.2.1:5", "198.51.100.7", "192.0.2.1"},
		"a proxy":               {"10.1.1.1:5", "198.51.100.7", "198.51.100.7"},
		"two proxies":           {"10.1.1.1:5", "1.2.3.4, 198.51.100.7, 10.2.2.2", "198.51.100.7"},
		"a proxy alone":         {"10.1.1.1:5", "", "10.1.1.1"},
		"nonsense":              {"10.1.1.1:5", "198.51.100.7, x", "10.1.1.1"},
		"a proxy over IPv6":     {"[::1]:5", "2001:db8::7", "2001:db8::7"},
		"IPv4 within IPv6":      {"[::ffff:10.1.1.1]:5", "::ffff:198.51.100.7", "198.51.100.7"},
		"an address of no form": {"@", "198.51.100.7", "invalid IP"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = test.from
		r.Header.Set("X-Forwarded-For", test.said)
		assert.Equal(t, test.want, a.addressOf(r), name)
	}
}

// TestOnlyProxies: where only the proxy encrypts, nobody comes past it, not even for the login or a file.
func TestOnlyProxies(t *testing.T) {
	t.Parallel()
	var status int
	a := New(Config{
		Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, OnlyProxies: true, Now: time.Now, IsPage: func(*http.Request) bool { return true },
		Refuse: func(_ http.ResponseWriter, _ *http.Request, with int, _ *schedule.Error) { status = with },
	})
	handler := a.Around(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { status = http.StatusOK }))
	for from, want := range map[string]int{"10.1.1.1:5": http.StatusOK, "192.0.2.1:5": http.StatusForbidden, "[::1]:5": http.StatusForbidden} {
		for _, path := range []string{"/", "/login", "/static/carillon.css", "/api/v1/namespaces"} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.RemoteAddr = from
			handler.ServeHTTP(httptest.NewRecorder(), r)
			assert.Equal(t, want, status, "%s from %s", path, from)
		}
	}
}

// TestCookie: over TLS, the cookie is one that no other host and no plain connection can set.
func TestCookie(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodGet, "https://c.example/", nil)
	w := httptest.NewRecorder()
	setCookie(w, r, "n")
	assert.Equal(t, "__Host-carillon=n; Path=/; HttpOnly; Secure; SameSite=Lax", w.Header().Get("Set-Cookie"))
	r.AddCookie(&http.Cookie{Name: cookiePlain, Value: "planted over a plain connection"})
	assert.Empty(t, numberOf(r))
}

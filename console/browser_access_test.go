package console_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// enters logs in on the page on which the tab is.
func (j *journey) enters(user, password string) {
	j.t.Helper()
	j.types("user", user)
	j.types("password", password)
	j.do(chromedp.Submit("#password"))
}

// accessJourneys are what people do where they must log in. All share one browser, and so one session at a time.
var accessJourneys = []struct {
	name string
	goes func(t *testing.T, j *journey)
}{
	{"a wrong password", func(t *testing.T, j *journey) {
		j.goes("/ns/default/schedules/guarded")
		j.sees("Log in as a user of NATS")
		j.enters("ann", "guess")
		j.sees("NATS does not know these credentials")
		assert.Equal(t, "ann", is[string](j, "document.getElementById('user').value"))
		assert.Empty(t, is[string](j, "document.getElementById('password').value"))
		j.enters("ann", "a")
		j.sees("Trigger now")
		j.sees("logged in as ann")
		assert.Equal(t, "/ns/default/schedules/guarded", is[string](j, "location.pathname"), "one comes to where one wanted to go")
	}},
	{"who did it", func(t *testing.T, j *journey) {
		j.goes("/ns/default/schedules/guarded")
		j.types("note", "by a person")
		j.clicks("Pause")
		j.sees("by a person")
		assert.Contains(t, is[string](j, "document.body.innerText"), "ann")
		require.NoError(t, j.api.Unpause(t.Context(), "guarded", ""))
	}},
	{"logout", func(t *testing.T, j *journey) {
		j.goes("/ns/default/schedules")
		j.clicks("Log out")
		j.sees("You are logged out.")
		j.goes("/ns/default/schedules")
		j.sees("Log in as a user of NATS")
		assert.Empty(t, is[string](j, "document.cookie"), "no script sees the session")
	}},
	{"too few rights", func(t *testing.T, j *journey) {
		j.goes("/ns/default/schedules/guarded")
		j.enters("bob", "b")
		j.sees("Trigger now")
		j.types("note", "I may not")
		j.clicks("Pause")
		j.sees("NATS does not let this user publish on carillon.api.default.schedule.pause")
		j.sees("Ask whoever runs this installation for the permission")
		d, err := j.api.Describe(t.Context(), "guarded")
		require.NoError(t, err)
		assert.False(t, d.State.Paused)
	}},
	{"a session that ends while one looks", func(_ *testing.T, j *journey) {
		j.goes("/ns/default/schedules/guarded")
		j.sees("Trigger now")
		is[any](j, "fetch('/logout', {method: 'POST'}).then(() => 0), 0")
		j.sees("Log in as a user of NATS") // without a click
	}},
	{"on a phone", func(t *testing.T, j *journey) {
		j.do(chromedp.EmulateViewport(360, 800, chromedp.EmulateMobile))
		j.goes("/login")
		j.clicks("A credentials file instead")
		assert.LessOrEqual(t, is[int](j, "document.documentElement.scrollWidth"), 360)
		j.enters("ann", "a")
		j.sees("logged in as ann")
		assert.LessOrEqual(t, is[int](j, "document.documentElement.scrollWidth"), 360)
	}},
}

// TestJourneysOfAccess goes through the login in a browser.
func TestJourneysOfAccess(t *testing.T) {
	t.Parallel()
	of := browser(t)
	g := visitGuarded(t)
	g.make(t, "guarded", daily)
	for _, each := range accessJourneys {
		t.Run(each.name, func(t *testing.T) { each.goes(t, g.tab(t, of)) })
	}
}

// TestLoginIsAccessible: axe-core finds nothing wrong on the pages that only people who log in see.
func TestLoginIsAccessible(t *testing.T) {
	t.Parallel()
	axe, of := axe(t), browser(t)
	g := visitGuarded(t)
	g.areAccessible(t, of, axe, "/login", "/login?reason=out")
	j := g.tab(t, of)
	j.goes("/login")
	j.enters("bob", "b")
	j.sees("logged in as bob")
	g.areAccessible(t, of, axe, "/ns/default/schedules")
}

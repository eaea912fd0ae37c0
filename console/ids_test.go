package console_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/console/internal/segment"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// strangeIDs are IDs that mean something in the path of an address, or seem to be nothing.
var strangeIDs = []string{
	".", "..", "~.", "~~..", "...", "/", "//", "a/b", "a//b", "./..", "../../cluster", "%2e", "%2e%2e", "%2F", `\`, `a\..\b`, "?query#part", " ", "\u3164", "a b+c&d", ";", "runs", "ü",
}

// strangestIDs are those of them with which browsers do most.
var strangestIDs = []string{".", "..", "~..", "/", "../../cluster", "%2e%2e", `a\..\b`, "\u3164"}

// TestStrangeIDsInTheAPI: each thing is where Location says, for any of its verbs, and it is no other.
func TestStrangeIDsInTheAPI(t *testing.T) {
	t.Parallel()
	v := visit(t)
	for _, id := range strangeIDs {
		text, err := json.Marshal(id)
		require.NoError(t, err)
		created := v.do("POST", "/namespaces/default/schedules", strings.Replace(hourly, `"a/b"`, string(text), 1))
		require.Equal(t, 201, created.status, "%q: %s", id, created.body)
		at := strings.TrimPrefix(created.header.Get("Location"), "/api/carillon/v1")
		seen := v.do("GET", at, "")
		require.Equal(t, 200, seen.status, "%q at %s: %s", id, at, seen.body)
		assert.Equal(t, id, seen.field(t, "id"))
		require.Equal(t, 200, v.do("POST", at+"/pause", `{"note":"x"}`).status, id)
		require.Equal(t, 200, v.do("GET", at+"/runs", "").status, id)

		calendar := v.do("POST", "/namespaces/default/calendars", `{"name":`+string(text)+`,"dates":["2027-01-01"]}`)
		require.Equal(t, 201, calendar.status, "%q: %s", id, calendar.body)
		named := v.do("GET", strings.TrimPrefix(calendar.header.Get("Location"), "/api/carillon/v1"), "")
		require.Equal(t, 200, named.status, "%q: %s", id, named.body)
		assert.Equal(t, id, named.field(t, "name"))
	}
	for _, id := range strangeIDs {
		d, err := v.api.Describe(t.Context(), id)
		require.NoError(t, err)
		assert.True(t, d.State.Paused, "%q", id)
		gone := v.do("DELETE", "/namespaces/default/schedules/"+segment.Escape(id), "")
		require.Equal(t, 200, gone.status, "%q: %s", id, gone.body)
	}
	left, err := v.api.Count(t.Context(), "")
	require.NoError(t, err)
	assert.Zero(t, left)
}

// TestFoldersInPaths: a path that is not escaped is refused, and leads to nothing above it.
func TestFoldersInPaths(t *testing.T) {
	t.Parallel()
	v := visit(t)
	for _, path := range []string{"/namespaces/default/schedules/..", "/namespaces/default/schedules/./pause", "/namespaces//schedules", "/namespaces/default/schedules/../../default"} {
		for _, method := range []string{"GET", "DELETE", "POST"} {
			refused := v.do(method, path, "")
			assert.Equal(t, http.StatusNotFound, refused.status, "%s %s", method, path)
			assert.Contains(t, refused.body, `\"~..\"`, "%s %s", method, path)
		}
	}
	_, err := v.api.DescribeNamespace(t.Context(), "default")
	require.NoError(t, err)
}

// TestStrangeIDsInABrowser follows the links of the pages, and sends a form.
func TestStrangeIDsInABrowser(t *testing.T) {
	t.Parallel()
	of := browser(t)
	v := visit(t)
	for _, id := range strangestIDs {
		v.make(t, id, daily)
		_, err := v.api.CreateCalendar(t.Context(), schedule.CreateCalendarRequest{NamedCalendar: schedule.NamedCalendar{Name: id}})
		require.NoError(t, err)
	}
	for number, id := range strangestIDs {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			j := v.tab(t, of)
			j.goes("/ns/default/schedules")
			j.follows(id)
			j.sees("Trigger now")
			j.isAbout(id)
			j.types("note", fmt.Sprintf("note %d", number))
			j.clicks("Pause")
			j.sees(fmt.Sprintf("note %d", number))
			d, err := v.api.Describe(t.Context(), id)
			require.NoError(t, err)
			assert.Equal(t, fmt.Sprintf("note %d", number), d.State.Notes)
			j.clicks("History")
			j.sees("paused")
			j.isAbout(id)
			j.goes("/ns/default/calendars")
			j.follows(id)
			j.isAbout(id)
		})
	}
}

// shown is how pages show strange IDs that would look like nothing.
var shown = map[string]string{" ": `" "`, "\u3164": `"\u3164"`}

func shownAs(id string) string { return cmp.Or(shown[id], id) }

// follows clicks on the link to the thing with an ID.
func (j *journey) follows(id string) {
	j.t.Helper()
	is[chromedp.Void](j, fmt.Sprintf("[...document.querySelectorAll('tbody th a')].find(a => a.textContent === %s).click()", quotedJS(shownAs(id))))
}

// isAbout waits until the page is about the thing with an ID.
func (j *journey) isAbout(id string) {
	j.t.Helper()
	natstest.Eventually(j.t, patience, "the page is about "+id, func() bool {
		title, _ := chromedp.Run(j.tab, chromedp.Evaluate[string]("document.querySelector('h1').textContent")) // a page that comes has none
		return title == shownAs(id)
	})
}

func quotedJS(text string) string {
	quoted, _ := json.Marshal(text) // of a text, which does not fail
	return string(quoted)
}

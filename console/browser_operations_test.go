package console_test

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

// operations are what people do in a browser to look after an installation.
var operations = map[string]func(t *testing.T, j *journey){
	"now": func(t *testing.T, j *journey) {
		j.make(t, "seen", daily)
		j.goes("/")
		j.sees("all is well")
		_, err := j.api.Trigger(t.Context(), schedule.TriggerRequest{ID: "seen"})
		require.NoError(t, err)
		j.sees("completed") // without a click
		j.clicks("As a table")
		j.sees("Ten minutes from")
		j.clicks("seen")
		j.sees("Run of seen")
	},
	"a dead letter is replayed": func(t *testing.T, j *journey) {
		j.make(t, "stuck", daily)
		j.letter(t, "stuck", 1)
		j.goes("/ns/default/dead-letters?schedule=stuck")
		j.do(chromedp.Click("tbody a"))
		j.sees("no <b>good</b>")
		j.sees(`"due"`)
		j.clicks("Replay")
		j.sees("letter is gone")
	},
	"dead letters are deleted together": func(t *testing.T, j *journey) {
		for n := range 3 {
			j.letter(t, "gone", n+1)
		}
		j.goes("/ns/default/dead-letters?schedule=gone")
		j.clicks("Delete all of these…")
		j.sees("Delete 3 letters?")
		j.clicks("Delete 3")
		j.sees("3 letters deleted")
		j.clicks("See what is left")
		j.sees("There are no such letters.")
	},
	"a calendar with a mistake": func(t *testing.T, j *journey) {
		j.goes("/ns/default/calendars")
		j.clicks("New calendar")
		j.types("name", "holidays")
		j.do(chromedp.SetValue("#text", "dates:\n  - 2027-02-30\n"))
		j.clicks("Create")
		j.sees("dates[0]")
		j.do(chromedp.SetValue("#text", "dates:\n  - 2027-02-28\n"))
		j.clicks("Create")
		j.sees("The calendar is there.")
		j.make(t, "with-holidays", schedule.Spec{Cron: []string{"@daily"}, ExcludeCalendarsNamed: []string{"holidays"}})
		j.clicks("Delete")
		j.clicks("Delete holidays")
		j.sees("with-holidays") // uses it
	},
	"freeze": func(t *testing.T, j *journey) {
		_, err := j.api.CreateNamespace(t.Context(), "closing", schedule.CreateNamespaceRequest{})
		require.NoError(t, err)
		j.goes("/ns/closing/namespace")
		j.types("reason", "year-end closing")
		j.clicks("Freeze")
		j.sees("This namespace is frozen: year-end closing.")
		j.clicks("Calendars")
		j.sees("This namespace is frozen: year-end closing.")
		j.goes("/ns/closing/namespace")
		j.clicks("Unfreeze")
		j.sees("The namespace acts again.")
		assert.NotContains(t, is[string](j, "document.body.innerText"), "This namespace is frozen:")
	},
	"a namespace is made and deleted": func(t *testing.T, j *journey) {
		j.goes("/")
		j.clicks("Namespaces")
		j.clicks("New namespace")
		j.types("name", "trial")
		j.types("maxSchedules", "100")
		j.clicks("Create")
		j.sees("The namespace is there.")
		j.clicks("Delete")
		j.types("confirm", "trail")
		j.clicks("Delete trial")
		j.sees("write the name of the namespace, trial")
		j.goes("/ns/trial/namespace")
		j.clicks("Delete")
		j.types("confirm", "trial")
		j.clicks("Delete trial")
		j.sees("The namespace is being deleted.")
	},
	"the cluster": func(t *testing.T, j *journey) {
		j.goes("/")
		j.clicks("Cluster")
		j.sees("Streams and buckets")
		j.sees(j.names.ActionStream())
		j.sees("1.2.3")
	},
	"sections by keyboard": func(t *testing.T, j *journey) {
		j.goes("/ns/default/now")
		for range 5 { // the link past the sections, the name, the namespace, and two sections
			j.do(chromedp.KeyEvent(kb.Tab))
		}
		assert.Equal(t, "Schedules", is[string](j, "document.activeElement.innerText"))
		j.do(chromedp.KeyEvent(kb.Enter))
		j.sees("New schedule")
		assert.Equal(t, "Schedules", is[string](j, "document.querySelector('nav [aria-current]').innerText"))
	},
	"operations on a phone": func(t *testing.T, j *journey) {
		j.do(chromedp.EmulateViewport(360, 800, chromedp.EmulateMobile))
		for _, path := range operationPages {
			j.goes(path)
			assert.LessOrEqual(t, is[int](j, "document.documentElement.scrollWidth"), 360, path)
		}
	},
	"operations without JavaScript": func(t *testing.T, j *journey) {
		tell(j, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		for _, path := range operationPages {
			j.goes(path)
			j.do(chromedp.WaitVisible("h1"))
		}
	},
}

// operationPages are the addresses of the pages.
var operationPages = []string{
	"/ns/default/now", "/ns/default/cluster", "/ns/default/dead-letters", "/ns/default/dead-letters/all?do=delete", "/ns/default/calendars",
	"/ns/default/new-calendar", "/ns/default/namespaces", "/ns/default/namespace", "/ns/default/namespace/edit", "/ns/default/new-namespace",
}

// TestJourneysOfOperations goes through the pages of a whole installation in a browser.
func TestJourneysOfOperations(t *testing.T) {
	t.Parallel()
	of := browser(t)
	v := visitAll(t)
	for name, goes := range operations {
		t.Run(name, func(t *testing.T) { goes(t, v.tab(t, of)) })
	}
}

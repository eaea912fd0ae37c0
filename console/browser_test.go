package console_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// browsers are the names of the program that the journeys drive.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "headless-shell"}

// journeyTime bounds one journey.
const journeyTime = 4 * time.Minute

// browser starts a browser for a test. Without one that starts on this machine, the test is skipped.
func browser(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range browsers {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("there is no Chromium: install it to try the pages in a browser")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WSURLReadTimeout(journeyTime))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // it waits for the end; an error says that the browser has ended before, or never began
		cancel()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Skipf("%s does not start here: %v", path, err)
	}
	return ctx
}

// journey is what somebody does in one tab.
type journey struct {
	*visitor
	tab context.Context
	// wrong are the errors that the browser has seen: of scripts, and of what the content-security policy keeps out. They are whole when ended is
	// closed.
	wrong []string
	ended chan struct{}
}

// tab opens a tab that is closed when the test ends, and in which nothing may go wrong.
func (v *visitor) tab(t *testing.T, of context.Context) *journey {
	t.Helper()
	ctx, cancel := chromedp.NewContext(of)
	require.NoError(t, chromedp.Do(ctx))
	visitor := *v
	visitor.t = t
	j := &journey{visitor: &visitor, ended: make(chan struct{})}
	tab, stop := context.WithTimeout(ctx, journeyTime)
	j.tab = tab
	go func() {
		defer close(j.ended)
		for message, err := range chromedp.Console(tab) {
			if err != nil {
				return
			}
			if message.IsException() || message.Type == "error" && message.Source != "network" {
				j.wrong = append(j.wrong, message.String())
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		<-j.ended
		cancel()
		assert.Empty(t, j.wrong)
	})
	return j
}

func (j *journey) do(steps ...chromedp.Action[chromedp.Void]) {
	j.t.Helper()
	require.NoError(j.t, chromedp.Do(j.tab, steps...))
}

// tell sends a command of the protocol of the browser.
func tell[P, R any](j *journey, command cdp.Command[P, R], params P) {
	j.t.Helper()
	_, err := chromedp.Call(j.tab, command, params)
	require.NoError(j.t, err)
}

func (j *journey) goes(path string) { j.t.Helper(); j.do(chromedp.Navigate(j.url + path)) }

// clicks clicks on a link or a button with a text.
func (j *journey) clicks(text string) {
	j.t.Helper()
	target := `//*[self::a or self::button or self::summary][normalize-space()="` + text + `"]`
	j.do(chromedp.WaitVisible(target))
	j.isReady()
	j.do(chromedp.Click(target, chromedp.NodeVisible))
}

// isReady waits until the scripts of the page have run. Before that a page shows all that it has, and answers to no input.
func (j *journey) isReady() {
	j.t.Helper()
	natstest.Eventually(j.t, patience, "the scripts of the page have run", func() bool {
		state, _ := chromedp.Run(j.tab, chromedp.Evaluate[string]("document.readyState")) // a page that comes has none
		return state == "complete"
	})
}

// types puts a text into a field in place of what is there.
func (j *journey) types(field, text string) {
	j.t.Helper()
	j.do(chromedp.WaitVisible("#" + field))
	j.isReady()
	is[chromedp.Void](j, fmt.Sprintf("document.getElementById(%q).select()", field))
	j.do(chromedp.SendKeys("#"+field, text))
}

// sees waits until the page shows a text.
func (j *journey) sees(text string) {
	j.t.Helper()
	var shown string
	natstest.Eventually(j.t, patience, "the page shows "+text, func() bool {
		shown, _ = chromedp.Run(j.tab, chromedp.Evaluate[string]("document.body.innerText")) // a page that comes has none
		return strings.Contains(shown, text)
	})
}

// is evaluates an expression in the page.
func is[T any](j *journey, expression string) T {
	j.t.Helper()
	value, err := chromedp.Run(j.tab, chromedp.Evaluate[T](expression))
	require.NoError(j.t, err)
	return value
}

func (v *visitor) make(t *testing.T, id string, spec schedule.Spec) {
	t.Helper()
	_, err := v.api.Create(t.Context(), schedule.CreateRequest{ID: id, Schedule: schedule.Schedule{
		Spec: spec, Action: schedule.Action{Type: "log", TaskQueue: "default"},
	}})
	require.NoError(t, err)
}

var daily = schedule.Spec{Cron: []string{"0 9 * * *"}}

// journeys are what people do in a browser.
var journeys = map[string]func(t *testing.T, j *journey, open func() *journey){
	"the first visit": func(t *testing.T, j *journey, _ func() *journey) {
		j.goes("/")
		j.sees("The last hour and the next")
		assert.Equal(t, "Now · Carillon", is[string](j, "document.title"))
	},
	"create with a mistake": func(t *testing.T, j *journey, _ func() *journey) {
		j.goes("/")
		j.clicks("Schedules")
		j.clicks("New schedule")
		j.types("id", "by-browser")
		j.types("cron", "0 25 * * *")
		j.sees(`hour "25" is out of range`) // while one types
		j.types("cron", "0 5 * * mon")
		j.sees("at 05:00 on Mondays")
		j.types("type", "log")
		j.clicks("Create")
		j.sees("The schedule is there.")
		_, err := j.api.Describe(t.Context(), "by-browser")
		require.NoError(t, err)
	},
	"type while a preview comes": func(t *testing.T, j *journey, _ func() *journey) {
		j.goes("/ns/default/new-schedule")
		j.isReady()
		is[chromedp.Void](j, `document.addEventListener('htmx:beforeSwap', () => {
			const cron = document.getElementById('cron')
			cron.value = '0 25 * * *'
			cron.dispatchEvent(new Event('input', {bubbles: true}))
		}, {once: true})`)
		j.types("cron", "0 5 * * mon")
		j.sees(`hour "25" is out of range`) // and not the preview of what was there before
	},
	"create as YAML": func(t *testing.T, j *journey, _ func() *journey) {
		j.goes("/ns/default/new-schedule")
		j.clicks("As YAML")
		j.do(chromedp.SetValue("#text", "id: by-text\nspec: {intervals: [{every: 5m}]}\naction: {type: log, taskQueue: default}\n"))
		j.clicks("Preview")
		j.sees("every 5 minutes")
		j.clicks("Create")
		j.sees("The schedule is there.")
	},
	"pause and unpause": func(t *testing.T, j *journey, _ func() *journey) {
		j.make(t, "to-pause", daily)
		j.goes("/ns/default/schedules/to-pause")
		j.types("note", "year-end closing")
		j.clicks("Pause")
		j.sees("year-end closing")
		d, err := j.api.Describe(t.Context(), "to-pause")
		require.NoError(t, err)
		assert.True(t, d.State.Paused)
		j.clicks("Unpause")
		j.sees("The schedule acts again.")
	},
	"see it live": func(t *testing.T, j *journey, _ func() *journey) {
		j.make(t, "to-watch", daily)
		j.goes("/ns/default/schedules/to-watch")
		j.sees("active")
		require.NoError(t, j.api.Pause(t.Context(), "to-watch", "somebody else did it"))
		j.sees("somebody else did it") // without a click
		j.clicks("Trigger now")
		j.sees("A run has been asked for.")
	},
	"two tabs edit one schedule": func(t *testing.T, j *journey, open func() *journey) {
		j.make(t, "to-edit", daily)
		other := open()
		for _, each := range []*journey{j, other} {
			each.goes("/ns/default/schedules/to-edit")
			each.clicks("Edit")
			each.sees("at 09:00 every day")
		}
		edit := func(j *journey, hour string) {
			j.do(chromedp.SetValue("#text", "spec: {cron: [0 "+hour+" * * *]}\naction: {type: log, taskQueue: default}\n"))
			j.clicks("Save")
		}
		edit(j, "10")
		j.sees("The change is made.")
		edit(other, "11")
		other.sees("the schedule has been changed since")
		other.sees("- 0 10 * * *")
		other.clicks("Save")
		other.sees("The change is made.")
		other.sees("at 11:00 every day")
	},
	"hostile names": func(t *testing.T, j *journey, _ func() *journey) {
		const evil = `<img src=x onerror="document.title='taken'">&lt;`
		j.make(t, evil, daily)
		j.goes("/ns/default/schedules")
		j.sees(evil)
		j.do(chromedp.Click("tbody a[href*=onerror]"))
		j.sees("Trigger now")
		assert.NotEqual(t, "taken", is[string](j, "document.title"))
	},
	"no JavaScript": func(t *testing.T, j *journey, _ func() *journey) {
		j.make(t, "plain", daily)
		tell(j, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		j.goes("/ns/default/schedules/plain")
		j.do(chromedp.SendKeys("#note", "without a script"), chromedp.Submit("#note"),
			chromedp.WaitVisible(".said"))
		d, err := j.api.Describe(t.Context(), "plain")
		require.NoError(t, err)
		assert.Equal(t, "without a script", d.State.Notes)
	},
	"phone": func(t *testing.T, j *journey, _ func() *journey) {
		j.make(t, strings.Repeat("a-long-name-", 15), daily)
		j.do(chromedp.EmulateViewport(360, 800, chromedp.EmulateMobile))
		for _, path := range []string{"/ns/default/schedules", "/ns/default/new-schedule", "/ns/default/schedules/" + strings.Repeat("a-long-name-", 15)} {
			j.goes(path)
			assert.LessOrEqual(t, is[int](j, "document.documentElement.scrollWidth"), 360, path)
		}
	},
	"keyboard only": func(t *testing.T, j *journey, _ func() *journey) {
		j.make(t, "by-keys", daily)
		j.goes("/ns/default/schedules/by-keys")
		j.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter)) // skip to the content
		assert.Equal(t, "#content", is[string](j, "location.hash"))
		for range 9 { // past the link back and the pages of the schedule, to the first button
			j.do(chromedp.KeyEvent(kb.Tab))
		}
		assert.Equal(t, "Trigger now", is[string](j, "document.activeElement.innerText"))
		assert.NotEqual(t, "none", is[string](j, "getComputedStyle(document.activeElement).outlineStyle"), "one sees where one is")
		j.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("by hand"), chromedp.KeyEvent(kb.Enter))
		j.sees("The schedule is paused")
	},
	"a page that is not there": func(t *testing.T, j *journey, _ func() *journey) {
		j.goes("/ns/default/schedules/none")
		j.sees(`has no schedule "none"`)
	},
	"the definition": func(t *testing.T, j *journey, _ func() *journey) {
		j.make(t, "to-read", daily)
		j.goes("/ns/default/schedules/to-read")
		j.clicks("Definition")
		j.sees(`"0 9 * * *"`)
	},
}

// TestJourneys goes through the pages in a browser. No script fails, and nothing is kept out by the content-security policy.
func TestJourneys(t *testing.T) {
	t.Parallel()
	of := browser(t)
	v := visit(t)
	for name, goes := range journeys {
		t.Run(name, func(t *testing.T) {
			goes(t, v.tab(t, of), func() *journey { return v.tab(t, of) })
		})
	}
}

// TestPagesAreAccessible: axe-core finds nothing wrong, in the light and in the dark. The variable CARILLON_AXE names its file.
func TestPagesAreAccessible(t *testing.T) {
	t.Parallel()
	axe, of := axe(t), browser(t)
	v := visit(t)
	v.make(t, "a", daily)
	require.NoError(t, v.api.Pause(t.Context(), "a", "note"))
	v.letter(t, "a", 1)
	dates := url.Values{"name": {"germany"}, "text": {"dates: [2027-01-01]\nwindows: [{from: 2027-02-01T00:00:00Z, to: 2027-02-02T00:00:00Z}]"}, "do": {"write"}}
	require.Contains(t, v.submit("/ns/default/new-calendar", dates).body, "The calendar is there.")
	v.areAccessible(t, of, axe, append([]string{
		"/ns/default/schedules", "/ns/default/schedules?query=nonsense", "/ns/default/schedules/a", "/ns/default/schedules/a/edit", "/ns/default/new-schedule",
		"/ns/default/new-schedule?as=text", "/ns/default/new-schedule?as=crontab", "/ns/default/runs?status=failed", "/ns/default/nothing",
		"/ns/default/schedules/a/trigger", "/ns/default/schedules/a/backfill", "/ns/default/schedules/a/copy", "/ns/default/schedule-counts", "/ns/default/jobs",
		"/ns/default/dead-letters/1", "/ns/default/calendars/germany", "/ns/default/calendars/germany/edit",
	}, operationPages...)...)
}

// axe returns the script of axe-core. Without it, the test is skipped.
func axe(t *testing.T) string {
	t.Helper()
	file := os.Getenv("CARILLON_AXE")
	if file == "" {
		t.Skip("CARILLON_AXE names no file with axe-core")
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// areAccessible asserts that axe-core finds nothing wrong with pages.
func (v *visitor) areAccessible(t *testing.T, of context.Context, axe string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		t.Run(path, func(t *testing.T) { // whose tab is closed before the next one is opened
			j := v.tab(t, of)
			j.goes(path)
			j.isAccessible(axe, path)
		})
	}
}

// prefers sets the colours that the browser asks for: light or dark.
func (j *journey) prefers(scheme string) {
	j.t.Helper()
	tell(j, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// isAccessible asserts that axe-core finds nothing wrong with the page that is shown. In the dark, only the colours are others.
func (j *journey) isAccessible(axe, what string) {
	j.t.Helper()
	is[any](j, axe+"; 0")
	for _, scheme := range []struct{ name, rules string }{{"light", "{}"}, {"dark", `{runOnly: ["color-contrast"]}`}} {
		j.prefers(scheme.name)
		found, err := chromedp.Run(j.tab, chromedp.Evaluate[[]string](`axe.run(`+scheme.rules+`).then(r =>
			r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + n.html + " " + n.failureSummary)))`, chromedp.EvalAwaitPromise))
		require.NoError(j.t, err)
		assert.Empty(j.t, found, "%s, %s", what, scheme.name)
	}
}

package pages

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/console/internal/segment"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/schedule"
)

//go:embed templates
var templates embed.FS

// views are the templates by the name of the page.
var views = parsed()

// layout is the template that all pages share.
const layout = "layout.html"

func parsed() map[string]*template.Template {
	files, err := fs.Glob(templates, "templates/*.html")
	if err != nil {
		panic(err) // the pattern is right
	}
	all := map[string]*template.Template{}
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".html")
		all[name] = template.Must(template.New(layout).Funcs(template.FuncMap{"path": address, "name": nameOf}).ParseFS(templates, "templates/"+layout, "templates/parts/*.html", file))
	}
	return all
}

// nameOf returns an ID as people see it. One that would look like nothing is quoted, so that there is something to see and to click on.
func nameOf(id string) string {
	if id != "" && strings.TrimFunc(id, isBlank) == "" {
		return strconv.QuoteToASCII(id)
	}
	return id
}

// isBlank reports whether a character leaves no trace. Some of them are letters for Unicode.
func isBlank(r rune) bool {
	return unicode.IsSpace(r) || !unicode.IsGraphic(r) || strings.ContainsRune("\u115f\u1160\u2800\u3164\uffa0", r)
}

// section is a group of pages in the navigation: the last part of the address of its first page in a namespace, and its name.
type section struct{ Path, Name string }

var sections = []section{
	{"now", "Now"}, {"schedules", "Schedules"}, {"runs", "Runs"}, {"jobs", "Jobs"}, {"executions", "Executions"}, {"task-queues", "Task queues"}, {"calendars", "Calendars"},
}

// aboutAll are the sections that are not about one namespace.
var aboutAll = []section{{"namespaces", "Namespaces"}, {"cluster", "Cluster"}, {"dead-letters", "Dead letters"}}

// answer is a page to show, or a place to go to.
type answer struct {
	// view is the template, and data what it shows.
	view, title string
	data        any
	// to is where the browser goes instead.
	to string
}

// frame is what every page has around it.
type frame struct {
	Title, Namespace string
	// Who is the name of whoever sees the page; empty if nobody knows. CanLogOut says that they can log out.
	Who       string
	CanLogOut bool
	// IsLogin says that nobody has logged in yet, so that no other page is there for them.
	IsLogin bool
	// Sections and AboutAll are the navigation, and Section is the path of the one that this page belongs to.
	Sections, AboutAll []section
	Section            string
	// Banner says what a visitor of any page of the namespace must know; nil if there is nothing.
	Banner *banner
	// Elsewhere says where the installation is active; nil if it is here.
	Elsewhere *site.Elsewhere
	// Now is when the page was made.
	Now time.Time
	// Said is what the last request came to; empty on other pages.
	Said string
	Page any
}

// maker makes a page for whoever asks, or does what a form asks for.
type maker func(*http.Request, *speaker.Speaker) (*answer, error)

// page adds a page.
func (p *Pages) page(pattern string, make maker) {
	p.mux.HandleFunc(pattern, segment.Handler(pattern, func(w http.ResponseWriter, r *http.Request) {
		asks, err := p.asks(r)
		if err != nil {
			p.problem(r, nil, err).write(w, r)
			return
		}
		p.answered(r, asks, make).write(w, r)
	}))
}

// asks returns who asks for a page, in the namespace of the page.
func (p *Pages) asks(r *http.Request) (*speaker.Speaker, error) {
	asks, err := p.config.Speaker(r)
	if err == nil && r.PathValue("namespace") != "" {
		asks, err = asks.In(r.PathValue("namespace"))
	}
	return asks, err
}

// rendered is a page as it is sent, or a place to go to.
type rendered struct {
	status int
	to     string
	text   []byte
}

// write sends a page.
func (page *rendered) write(w http.ResponseWriter, r *http.Request) {
	if page.to != "" {
		http.Redirect(w, r, page.to, page.status)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(page.status)
	_, _ = w.Write(page.text) // fails if the browser has gone
}

// answered makes a page. One that keeps itself up to date is made once for all who look at it at the moment.
func (p *Pages) answered(r *http.Request, asks *speaker.Speaker, make maker) *rendered {
	if r.Method != http.MethodGet || r.Header.Get("Hx-Request") == "" {
		return p.rendered(r, asks, make)
	}
	who := viewer{conn: asks.Conn, namespace: asks.Namespace(), page: r.URL.RequestURI(), identity: asks.Identity}
	page, err := p.polled.of(r.Context(), who, func(ctx context.Context) (*rendered, error) {
		return p.rendered(r.WithContext(onBehalf{ctx, r.Context()}), asks, make), nil
	})
	if err != nil {
		return p.problem(r, asks, err)
	}
	return page
}

// onBehalf is a context with the values of a request, which does not end with it.
type onBehalf struct {
	context.Context
	request context.Context
}

// Value implements [context.Context].
func (c onBehalf) Value(key any) any { return c.request.Value(key) }

// rendered makes a page. At a standby, none that comes of a form.
func (p *Pages) rendered(r *http.Request, asks *speaker.Speaker, make maker) *rendered {
	if r.Method != http.MethodGet && p.config.Elsewhere != nil {
		return p.problem(r, asks, p.config.Elsewhere.Refusal())
	}
	given, err := make(r, asks)
	switch {
	case err != nil:
		return p.problem(r, asks, err)
	case given.to != "":
		if r.Method != http.MethodGet {
			p.forget()
		}
		return &rendered{status: http.StatusSeeOther, to: given.to}
	}
	return p.show(r, asks, http.StatusOK, given)
}

// problem returns the page that says what went wrong. asks is nil if nobody knows for whom, or about which namespace, it is.
func (p *Pages) problem(r *http.Request, asks *speaker.Speaker, err error) *rendered {
	refused := refusal.Of(err)
	return p.show(r, asks, refused.Status, &answer{view: "problem", title: "Problem", data: refused})
}

// show returns a page, whole or not at all. asks is as for problem.
func (p *Pages) show(r *http.Request, asks *speaker.Speaker, status int, a *answer) *rendered {
	namespace := r.PathValue("namespace")
	if schedule.ValidateNamespace(namespace) != nil {
		namespace = p.config.First(r)
	}
	who, canLogOut := p.config.Who(r)
	var text bytes.Buffer
	err := views[a.view].Execute(&text, frame{
		Title: a.title, Who: who, CanLogOut: canLogOut, IsLogin: a.view == viewLogin, Namespace: namespace, Sections: sections, AboutAll: aboutAll, Section: sectionOf(r.URL.Path), Now: p.config.Now(),
		Banner: p.banner(r.Context(), asks), Elsewhere: p.config.Elsewhere, Said: said[r.URL.Query().Get("said")], Page: a.data,
	})
	if err != nil {
		return &rendered{status: http.StatusInternalServerError, text: []byte("The page cannot be shown.")}
	}
	return &rendered{status: status, text: text.Bytes()}
}

// sectionOf returns the section of the page at an address: what comes after the namespace.
func sectionOf(of string) string {
	parts := strings.Split(of, "/")
	if len(parts) < 4 {
		return ""
	}
	return cmp.Or(belongs[parts[3]], parts[3])
}

// belongs has the sections of pages that are not below the address of theirs.
var belongs = map[string]string{
	"new-schedule": "schedules", "new-calendar": "calendars", "new-namespace": "namespaces", "namespace": "namespaces",
	"new-execution": "executions", "new-batch": "executions", "batches": "executions",
}

var errNoPage = schedule.Errorf(schedule.CodeNotFound, "there is no such page")

// moment is a time on a page.
type moment struct {
	// ISO is for programs and Text for people; Relative says how far off it is.
	ISO, Text, Relative string
}

// momentOf returns a time for a page in a zone. The zero time has no text.
func momentOf(at, now time.Time, zone *time.Location) moment {
	if at.IsZero() {
		return moment{}
	}
	return moment{at.UTC().Format(time.RFC3339), at.In(zone).Format("2006-01-02 15:04:05"), relative(at.Sub(now))}
}

// relative says how far off a time is.
func relative(d time.Duration) string {
	text := rounded(d.Abs())
	switch {
	case d.Abs() < time.Second:
		return "now"
	case d < 0:
		return text + " ago"
	}
	return "in " + text
}

// rounded returns a duration in its largest unit, with the next one where that says something.
func rounded(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < day:
		return fmt.Sprintf("%dh %dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return plural(int(d/day), "day")
}

// plural returns a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

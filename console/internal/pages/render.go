package pages

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
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
		all[name] = template.Must(template.New(layout).Funcs(template.FuncMap{"path": address}).ParseFS(templates, "templates/"+layout, "templates/parts/*.html", file))
	}
	return all
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
	// Now is when the page was made.
	Now time.Time
	// Said is what the last request came to; empty on other pages.
	Said string
	Page any
}

// page adds a page.
func (p *Pages) page(pattern string, make func(*http.Request, *speaker.Speaker) (*answer, error)) {
	p.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		given, err := p.made(r, make)
		switch {
		case err != nil:
			refused := refusal.Of(err)
			p.show(w, r, refused.Status, &answer{view: "problem", title: "Problem", data: refused})
		case given.to != "":
			p.forget()
			http.Redirect(w, r, given.to, http.StatusSeeOther)
		default:
			p.show(w, r, http.StatusOK, given)
		}
	})
}

// made makes a page for whoever asks.
func (p *Pages) made(r *http.Request, make func(*http.Request, *speaker.Speaker) (*answer, error)) (*answer, error) {
	speaker, err := p.config.Speaker(r)
	if err == nil && r.PathValue("namespace") != "" {
		speaker, err = speaker.In(r.PathValue("namespace"))
	}
	if err != nil {
		return nil, err
	}
	return make(r, speaker)
}

// show writes a page, whole or not at all.
func (p *Pages) show(w http.ResponseWriter, r *http.Request, status int, a *answer) {
	namespace := r.PathValue("namespace")
	if schedule.ValidateNamespace(namespace) != nil {
		namespace = p.config.First(r)
	}
	who, canLogOut := p.config.Who(r)
	var text bytes.Buffer
	err := views[a.view].Execute(&text, frame{
		Title: a.title, Who: who, CanLogOut: canLogOut, IsLogin: a.view == viewLogin, Namespace: namespace, Sections: sections, AboutAll: aboutAll, Section: sectionOf(r.URL.Path), Now: p.config.Now(),
		Banner: p.banner(r, namespace), Said: said[r.URL.Query().Get("said")], Page: a.data,
	})
	if err != nil {
		http.Error(w, "The page cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // fails if the browser has gone
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

package pages

import (
	"embed"
	"errors"
	"io/fs"
	"net/http"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/segment"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/diagnosis"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/schedule"
)

//go:embed static
var static embed.FS

// policy lets a page load nothing but the files of the binary.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'"

// Config says what [Pages] work with.
type Config struct {
	// Speaker returns who asks by a request, in any namespace. The error goes to them.
	Speaker func(*http.Request) (*speaker.Speaker, error)
	// Namespace is the usual one, and First returns the one that somebody sees first.
	Namespace string
	First     func(*http.Request) string
	// Who returns who somebody is, and whether they can log out. An empty name is not shown.
	Who func(*http.Request) (name string, canLogOut bool)
	// Elsewhere says where the installation is active, if not here: pages say so, and forms are refused. Nil: it is here.
	Elsewhere *site.Elsewhere
	// TraceURL is the address at which a tracing backend shows a trace, with [TraceID] in it; empty for none.
	TraceURL string
	// Now is the clock.
	Now func() time.Time
	// NewID returns IDs of requests.
	NewID func() string
}

// Pages is the handler of all pages. [New] makes it. It is safe for concurrent use.
type Pages struct {
	config Config
	mux    *http.ServeMux
	// What follows is kept for a moment, for each user.
	facts    *memo[*diagnosis.Facts]
	runsPast *memo[pastFacts]
	times    *memo[comingFacts]
	counts   *memo[executionsView]
	spaces   *memo[schedule.NamespaceDescription]
	filters  *memo[[]filter]
	polled   *memo[*rendered]
	// imports has an element for each file that is being read.
	imports chan struct{}
}

// New returns the handler.
func New(config Config) *Pages {
	p := &Pages{
		config: config, mux: http.NewServeMux(), imports: make(chan struct{}, importsAtOnce),
		facts: newMemo[*diagnosis.Facts](factsFresh, factsStale, config.Now), runsPast: newMemo[pastFacts](dataFresh, dataStale, config.Now),
		times: newMemo[comingFacts](timesFresh, dataStale, config.Now), counts: newMemo[executionsView](timesFresh, dataStale, config.Now),
		spaces: newMemo[schedule.NamespaceDescription](dataFresh, dataStale, config.Now), filters: newMemo[[]filter](timesFresh, factsStale, config.Now),
		polled: newMemo[*rendered](pollFresh, pollFresh, config.Now),
	}
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	p.mux.Handle("GET /static/", http.StripPrefix("/static/", kept(http.FileServerFS(files))))
	p.addNow()
	p.addCluster()
	p.addLetters()
	p.addCalendars()
	p.addNamespaces()
	p.addSchedules()
	p.addRuns()
	p.addScheduleParts()
	p.addExecutions()
	p.addJobs()
	p.page("GET "+Base, func(*http.Request, *speaker.Speaker) (*answer, error) { return nil, errNoPage })
	return p
}

// How long what pages show is kept. To find out how an installation is asks all its streams, so that is done more seldom.
const (
	factsFresh, factsStale = 10 * time.Second, time.Minute
	dataFresh, dataStale   = 3 * time.Second, 20 * time.Second
	timesFresh             = 10 * time.Second
	pollFresh              = time.Second
)

// importsAtOnce is how many files are read at the same time. Others wait.
const importsAtOnce = 2

// forget lets all pages look anew: somebody has changed something, and wants to see it.
func (p *Pages) forget() {
	p.runsPast.forget()
	p.times.forget()
	p.counts.forget()
	p.spaces.forget()
	p.filters.forget()
	p.polled.forget()
}

// Close ends what is still being found out for pages, and waits for it. Pages that are asked for later may lack a part.
func (p *Pages) Close() {
	p.facts.close()
	p.runsPast.close()
	p.times.close()
	p.counts.close()
	p.spaces.close()
	p.filters.close()
	p.polled.close()
}

func (p *Pages) addSchedules() {
	p.page("GET "+Base+"{namespace}/schedules", p.schedules)
	p.page("GET "+Base+"{namespace}/schedule-counts", p.scheduleCounts)
	p.page("GET "+Base+"{namespace}/schedules/{id}", p.schedule)
	p.page("GET "+Base+"{namespace}/new-schedule", p.newSchedule)
	p.page("POST "+Base+"{namespace}/new-schedule", p.create)
	p.page("GET "+Base+"{namespace}/schedules/{id}/edit", p.edit)
	p.page("POST "+Base+"{namespace}/schedules/{id}/edit", p.save)
	p.page("POST "+Base+"{namespace}/schedules/{id}/delete", p.remove)
	for name, act := range acts {
		p.page("POST "+Base+"{namespace}/schedules/{id}/"+name, p.act(name, act))
	}
}

func (p *Pages) addRuns() {
	p.page("GET "+Base+"{namespace}/runs", p.runs)
	p.page("GET "+Base+"{namespace}/schedules/{id}/runs/{run}", p.run)
	for name, do := range endings {
		p.page("POST "+Base+"{namespace}/schedules/{id}/runs/{run}/"+name, p.end(name, do))
	}
}

// Base is the path under which the pages of all namespaces are. The handler also has "GET /static/" and "GET /{$}".
const Base = "/ns/"

// kept lets a browser keep a file for an hour.
func kept(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		next.ServeHTTP(w, r)
	})
}

// ServeHTTP answers one request.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if tooLong := (*http.MaxBytesError)(nil); errors.As(r.ParseForm(), &tooLong) {
		p.Refuse(w, r, http.StatusRequestEntityTooLarge, schedule.Errorf(schedule.CodeInvalidArgument, "the form has more than %d bytes", maxForm))
		return
	}
	p.mux.ServeHTTP(w, r)
}

// maxForm is how many bytes a form may have: the largest request of the API, escaped.
const maxForm = 3 << 20

// protect says to a browser what it must not do with a page.
func protect(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

// address returns the path of a page in a namespace. Parts that are empty are left out.
func address(namespace string, parts ...string) string {
	return below(Base, namespace, parts...)
}

func below(base, namespace string, parts ...string) string {
	path := base + segment.Escape(namespace)
	for _, part := range parts {
		if part != "" {
			path += "/" + segment.Escape(part)
		}
	}
	return path
}

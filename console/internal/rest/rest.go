package rest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/console/internal/segment"
	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Config says what an [API] works with.
type Config struct {
	// Verbs are the verbs of the native API.
	Verbs []frontend.Verb
	// Version is that of the release, for the description.
	Version string
	// Client returns a client that speaks for whoever has sent a request, in any namespace. The error goes to them.
	Client func(*http.Request) (*client.Client, error)
	// Stop ends all live events when it is closed.
	Stop <-chan struct{}
	// Stream counts a live stream of events, and may refuse one that is too many. leave is called when it has ended.
	Stream func(*http.Request) (leave func(), err error)
}

// API is the handler of everything under [Base]. [New] makes one. It is safe for concurrent use.
type API struct {
	config  Config
	mux     *http.ServeMux
	methods []string
	// description is the OpenAPI document.
	description []byte
}

// New returns a handler. An error means that the table of verbs contradicts itself.
func New(config Config) (*API, error) {
	a := &API{config: config, mux: http.NewServeMux()}
	var routes []*route
	for i := range config.Verbs {
		verb := &config.Verbs[i]
		for _, of := range verb.Routes {
			r := newRoute(verb, of)
			a.handle(r.Method, r.pattern(), a.answer(r))
			routes = append(routes, r)
		}
	}
	for _, path := range watchPaths {
		a.handle(http.MethodGet, http.MethodGet+" "+Base+path, a.watch)
	}
	a.handle(http.MethodGet, "GET "+Base+"/openapi.json", a.describe)
	a.mux.HandleFunc(Base+"/", a.unknown)
	var err error
	a.description, err = describe(routes, config.Version)
	return a, err
}

func (a *API) handle(method, pattern string, handler http.HandlerFunc) {
	a.mux.HandleFunc(pattern, segment.Handler(pattern, handler))
	if !slices.Contains(a.methods, method) {
		a.methods = append(a.methods, method)
	}
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	a.mux.ServeHTTP(w, request)
}

// unknown answers requests for which there is no route.
func (a *API) unknown(w http.ResponseWriter, request *http.Request) {
	var allowed []string
	for _, method := range a.methods {
		other := &http.Request{Method: method, URL: request.URL, Host: request.Host}
		if _, pattern := a.mux.Handler(other); strings.HasPrefix(pattern, method+" ") {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		refuse(w, schedule.Errorf(schedule.CodeNotFound, "there is nothing at %s: %s/openapi.json lists all paths", brief(request.URL.Path), Base))
		return
	}
	slices.Sort(allowed)
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	refuse(w, &problemError{http.StatusMethodNotAllowed, schedule.Errorf(schedule.CodeInvalidArgument,
		"%s cannot be used with %s: use %s", brief(request.URL.Path), request.Method, strings.Join(allowed, ", "))})
}

// answer returns the handler of a route.
func (a *API) answer(r *route) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		reply, err := a.ask(w, request, r)
		if err != nil {
			refuse(w, err)
			return
		}
		r.reply(w, request, reply)
	}
}

// ask passes a request on to a frontend.
func (a *API) ask(w http.ResponseWriter, request *http.Request, r *route) (json.RawMessage, error) {
	speaker, err := a.config.Client(request)
	if err != nil {
		return nil, err
	}
	body, err := r.body(w, request)
	if err != nil {
		return nil, err
	}
	if !json.Valid(body) {
		return nil, schedule.Errorf(schedule.CodeInvalidArgument, "the body is not JSON")
	}
	return speaker.Pass(request.Context(), r.namespace(request), r.verb.Thing, r.verb.Name, r.identified(body))
}

// said is what the headers of an answer repeat of its body.
type said struct {
	ID            string          `json:"id"`
	Name          string          `json:"name"`
	JobID         string          `json:"jobId"`
	ConflictToken json.RawMessage `json:"conflictToken"`
	NextPageToken string          `json:"nextPageToken"`
}

// reply answers with the reply of a frontend.
func (r *route) reply(w http.ResponseWriter, request *http.Request, body json.RawMessage) {
	var of said
	_ = json.Unmarshal(body, &of) // what is not there is empty
	header := w.Header()
	header.Set("Content-Type", contentJSON)
	if len(of.ConflictToken) > 0 {
		header.Set("ETag", strconv.Quote(string(of.ConflictToken)))
	}
	if of.NextPageToken != "" {
		header.Set("Link", "<"+nextPage(request.URL, of.NextPageToken)+`>; rel="next"`)
	}
	if r.Status != http.StatusOK {
		header.Set("Location", r.location(request.URL, &of))
	}
	w.WriteHeader(r.Status)
	_, _ = w.Write(append(body, '\n')) // fails if the client has gone
}

// nextPage returns the address of the page that follows on the one of an address.
func nextPage(of *url.URL, token string) string {
	next, query := *of, of.Query()
	query.Set("pageToken", token)
	next.RawQuery = query.Encode()
	return next.RequestURI()
}

// location returns where the thing is that a request has made: at the end of the collection, unless the path names it.
func (r *route) location(of *url.URL, said *said) string {
	path := strings.TrimSuffix(of.EscapedPath(), "/")
	if strings.HasSuffix(r.Path, "}") {
		return path
	}
	for _, id := range []string{said.ID, said.Name, said.JobID} {
		if id != "" {
			return path + "/" + segment.Escape(id)
		}
	}
	return path
}

// describe answers with the description.
func (a *API) describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", contentJSON)
	_, _ = w.Write(a.description) // fails if the client has gone
}

// speaker returns a client for the sender of a request, in the namespace of its path.
func (a *API) speaker(request *http.Request) (*client.Client, error) {
	speaker, err := a.config.Client(request)
	if err != nil {
		return nil, err
	}
	return speaker.In(request.PathValue(paramNamespace))
}

package frontend

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/carillon-scheduler/carillon/frontend/internal/schedules"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Verb is one verb of the API, as those see it who offer the API in another form. It is what every frontend of this release answers.
type Verb struct {
	// Thing is what the verb is about, one of subjects.Thing…, and Name the verb. They are tokens of the subject.
	Thing, Name string
	// Summary says in one line what the verb does.
	Summary string
	// Changes says that it changes something.
	Changes bool
	Routes  []Route
	// Request and Reply are the JSON schemas of both. Do not change them.
	Request, Reply *jsonschema.Schema
	// ReplyName is the name of the type of the reply, which several verbs may have; empty if it has none.
	ReplyName string
}

// Route is a way to call a verb in the HTTP API.
type Route struct {
	// Method is that of HTTP, such as GET, and Path a path such as /namespaces/{namespace}/schedules/{id}. The parameter namespace is the namespace
	// of the subject, and the others are fields of the request. A path without a namespace is about all of them.
	Method, Path string
	// Status is the HTTP status of an answer without an error.
	Status int
}

// Verbs returns all verbs. The error says that a type of the API has no schema, which is a defect.
func Verbs() ([]Verb, error) {
	var verbs []Verb
	for _, e := range endpoints(&schedules.Service{}) { // whose functions are not called
		request, reply, err := e.handle.forms()
		if err != nil {
			return nil, fmt.Errorf("frontend: %s: %w", e.name(), err)
		}
		verbs = append(verbs, Verb{
			Thing: cmp.Or(e.thing, subjects.ThingSchedule), Name: e.verb, Summary: e.summary, Changes: e.handle.access == accessWrite,
			Routes: e.routes(), Request: request, Reply: reply, ReplyName: published(e.handle.reply).Name(),
		})
	}
	return verbs, nil
}

// routes returns the ways to call an endpoint in the HTTP API.
func (e *endpoint) routes() []Route {
	var routes []Route
	for text := range strings.SplitSeq(e.http, ", ") {
		words := strings.Fields(text)
		route := Route{Method: words[0], Path: words[1], Status: http.StatusOK}
		if !strings.HasPrefix(route.Path, "/") {
			route.Path = "/namespaces/{namespace}/" + route.Path
		}
		if len(words) > 2 {
			route.Status, _ = strconv.Atoi(words[2])
		}
		routes = append(routes, route)
	}
	return routes
}

package rest

import (
	"net/http"
	"regexp"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Base is the path under which everything is.
const Base = "/api/carillon/v1"

const (
	// paramNamespace is the parameter of a path that is no field of the request, but a token of the subject.
	paramNamespace = "namespace"
	// fieldToken and fieldRequest are the fields of a request that headers can say as well.
	fieldToken   = "conflictToken"
	fieldRequest = "requestId"
)

// route is one way to call one verb.
type route struct {
	frontend.Route
	verb *frontend.Verb
	// params are the parameters of the path, in their order, without the namespace.
	params []string
	// hasNamespace says that the path names a namespace.
	hasNamespace bool
}

var parameter = regexp.MustCompile(`\{(\w+)\}`)

func newRoute(verb *frontend.Verb, of frontend.Route) *route {
	r := &route{Route: of, verb: verb}
	for _, found := range parameter.FindAllStringSubmatch(r.Path, -1) {
		if found[1] == paramNamespace {
			r.hasNamespace = true
		} else {
			r.params = append(r.params, found[1])
		}
	}
	return r
}

// pattern is what a [http.ServeMux] knows the route by.
func (r *route) pattern() string { return r.Method + " " + Base + r.Path }

// namespace returns the namespace token of a request.
func (r *route) namespace(request *http.Request) string {
	if !r.hasNamespace {
		return subjects.NoNamespace
	}
	return request.PathValue(paramNamespace)
}

// hasBody reports whether a request has its fields in the body. Otherwise they are in the query.
func (r *route) hasBody() bool { return r.Method != http.MethodGet && r.Method != http.MethodDelete }

// takes reports whether a request has a field.
func (r *route) takes(field string) bool { return r.verb.Request.Properties[field] != nil }

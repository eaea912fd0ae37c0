package rest

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/golden"
)

func served(t *testing.T) []byte {
	t.Helper()
	verbs, err := frontend.Verbs()
	require.NoError(t, err)
	api, err := New(Config{Verbs: verbs, Version: "1"})
	require.NoError(t, err)
	recorder := httptest.NewRecorder()
	api.ServeHTTP(recorder, httptest.NewRequest("GET", Base+"/openapi.json", nil))
	require.Equal(t, 200, recorder.Code)
	return recorder.Body.Bytes()
}

// TestDescription: what is served is what the docs have.
func TestDescription(t *testing.T) {
	t.Parallel()
	golden.Equal(t, "../../../../docs/openapi.json", string(served(t)))
}

// TestRoutesOfThePage: the page lists all paths.
func TestRoutesOfThePage(t *testing.T) {
	t.Parallel()
	verbs, err := frontend.Verbs()
	require.NoError(t, err)
	table := "\n| method and path | verb | what it does |\n| --- | --- | --- |\n"
	for _, verb := range verbs {
		for _, route := range verb.Routes {
			table += fmt.Sprintf("| `%s %s` | `%s.%s` | %s |\n", route.Method, route.Path, verb.Thing, verb.Name, verb.Summary)
		}
	}
	golden.Section(t, "../../../docs/http.md", "routes", table+"\n")
}

// TestDescriptionIsWhole: all routes are there, no two operations have one name, references lead somewhere, and parameters of a path are fields.
func TestDescriptionIsWhole(t *testing.T) {
	t.Parallel()
	var whole struct {
		Paths      map[string]map[string]struct{ OperationID string }
		Components struct{ Schemas map[string]*jsonschema.Schema }
	}
	text := served(t)
	require.NoError(t, json.Unmarshal(text, &whole))
	names := map[string]string{}
	for path, operations := range whole.Paths {
		for method, operation := range operations {
			route := strings.ToUpper(method) + " " + path
			assert.Empty(t, names[operation.OperationID], route)
			names[operation.OperationID] = route
		}
	}
	verbs, err := frontend.Verbs()
	require.NoError(t, err)
	routes := len(watchPaths)
	for _, verb := range verbs {
		routes += len(verb.Routes)
		for _, route := range verb.Routes {
			r := newRoute(&verb, route)
			for _, name := range r.params {
				assert.NotNil(t, verb.Request.Properties[name], "%s %s: {%s} is no field of the request", route.Method, route.Path, name)
			}
		}
	}
	assert.Len(t, names, routes)
	for _, ref := range strings.Split(string(text), `"$ref": "`)[1:] {
		name, _, _ := strings.Cut(ref, `"`)
		assert.NotNil(t, whole.Components.Schemas[strings.TrimPrefix(name, sharedRefs)], name)
	}
}

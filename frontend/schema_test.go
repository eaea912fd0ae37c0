package frontend

import (
	"encoding"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend/internal/schedules"
	"github.com/carillon-scheduler/carillon/schedule"
)

// resolved returns the schemas of an endpoint as a caller reads them.
func resolved(t *testing.T, e *endpoint) (request, reply *jsonschema.Resolved) {
	t.Helper()
	requestText, replyText, err := e.handle.schemas()
	require.NoError(t, err, e.name())
	for _, part := range []struct {
		text string
		into **jsonschema.Resolved
	}{{requestText, &request}, {replyText, &reply}} {
		var s jsonschema.Schema
		require.NoError(t, json.Unmarshal([]byte(part.text), &s), e.name())
		*part.into, err = s.Resolve(nil)
		require.NoError(t, err, "%s: %s", e.name(), part.text)
	}
	return request, reply
}

func fits(t *testing.T, s *jsonschema.Resolved, text string) error {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal([]byte(text), &value), text)
	return s.Validate(value)
}

func endpointsByName() map[string]*endpoint {
	byName := map[string]*endpoint{}
	for _, e := range endpoints(&schedules.Service{}) {
		byName[e.name()] = e
	}
	return byName
}

// The reply to an INFO request of micro has all schemas. It must be well below the smallest common maximum message size of NATS,
// its default of 1 MB.
func TestSchemasAreSmall(t *testing.T) {
	t.Parallel()
	total := 0
	for _, e := range endpoints(&schedules.Service{}) {
		metadata, err := e.metadata()
		require.NoError(t, err)
		encoded, err := json.Marshal(metadata)
		require.NoError(t, err)
		total += len(encoded)
	}
	assert.Less(t, total, 300<<10)
}

func TestSchemasTakeTheRequestsOfTheDocs(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	command := regexp.MustCompile(`(?s)nats req carillon\.api\.\w+\.(\w+)\.(\w+) '(.*?)'`)
	endpoints, found := endpointsByName(), 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, r := range command.FindAllStringSubmatch(string(text), -1) {
			name := r[2]
			if r[1] != "schedule" {
				name = r[1] + "-" + r[2]
			}
			require.Contains(t, endpoints, name, page)
			request, _ := resolved(t, endpoints[name])
			body := r[3]
			if body == "" {
				body = "{}"
			}
			assert.NoError(t, fits(t, request, body), "%s: %s", page, body)
			found++
		}
	}
	assert.GreaterOrEqual(t, found, 8)
}

func TestSchemasOfTrigger(t *testing.T) {
	t.Parallel()
	request, reply, err := endpointsByName()["trigger"].handle.schemas()
	require.NoError(t, err)
	assert.Equal(t, `{"type":"object","properties":{"id":{"type":"string"},"overlap":{"$ref":"#/$defs/OverlapPolicy"},`+
		`"note":{"type":"string"},"input":{"description":"any JSON"},`+
		`"headers":{"type":"object","additionalProperties":{"type":"string"}},`+
		`"memo":{"type":"object","additionalProperties":{"description":"any JSON"}},`+
		`"nominalTime":{"$ref":"#/$defs/Time"},"requestId":{"type":"string"}},`+
		`"$defs":{"OverlapPolicy":{"type":"string",`+
		`"enum":["","skip","buffer_one","buffer_all","cancel_other","terminate_other","allow_all"]},`+
		`"Time":{"type":"string","pattern":"^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d([.,]\\d+)?(Z|[+-]\\d\\d:\\d\\d)$",`+
		`"format":"date-time"}},`+
		`"required":["id"],"additionalProperties":false}`, request)
	assert.Equal(t, `{"type":"object","properties":{"id":{"type":"string"},"triggerId":{"type":"string"}},`+
		`"required":["id","triggerId"]}`, reply)
}

func TestSchemasRefuseWhatIsWrong(t *testing.T) {
	t.Parallel()
	create, _ := resolved(t, endpointsByName()["create"])
	whole := `{"id":"x","spec":{"intervals":[{"every":"1h30m","phase":"0"}],"calendars":[{"hour":9,"minute":"*/5"}],` +
		`"structuredCalendars":[{"hour":[{"start":1},{"end":5}]}],"startTime":"2026-03-01T09:00:00.5+01:00"},` +
		`"action":{"type":"t","taskQueue":"q","input":[null],"retryPolicy":{"backoffCoefficient":1.5},"memo":{"a":{}}},` +
		`"policies":{"overlap":"skip"},"state":{"paused":true},` +
		`"backfills":[{"start":"2026-03-01T09:00:00Z","end":"2026-03-01T09:00:00Z"}]}`
	require.NoError(t, fits(t, create, whole))
	require.NoError(t, fits(t, create, `{"id":"x","action":{"type":"t","taskQueue":"q"}}`))
	for _, change := range []struct{ from, to string }{
		{`"id":"x",`, ``}, {`"id":"x"`, `"id":7`}, {`"id":"x"`, `"ID":"x"`}, {`"every":"1h30m",`, ``}, {`"1h30m"`, `"90"`},
		{`"1h30m"`, `5400`}, {`"hour":9`, `"hour":9.5`}, {`"hour":9`, `"hour":[9]`}, {`{"end":5}`, `{"last":5}`},
		{`2026-03-01T09:00:00.5+01:00`, `2026-03-01`}, {`"type":"t",`, ``}, {`1.5`, `"1.5"`}, {`"skip"`, `"skipp"`},
		{`"paused":true`, `"paused":"yes"`}, {`"memo":{"a":{}}`, `"memo":[]`}, {`"start":"2026-03-01T09:00:00Z",`, ``},
	} {
		require.Contains(t, whole, change.from)
		assert.Error(t, fits(t, create, strings.Replace(whole, change.from, change.to, 1)), "%s for %s", change.to, change.from)
	}
}

// TestSchemasKnowTypesOfTheirOwnForm: a type that reads or writes itself must have a schema of its own. The schema of a text with
// a fixed set of values must list them. A reply that is encoded in parts must name its published type.
func TestSchemasKnowTypesOfTheirOwnForm(t *testing.T) {
	t.Parallel()
	known := map[reflect.Type]bool{
		// Any text is valid, as far as a schema can tell.
		reflect.TypeFor[schedule.DateRange](): true,
	}
	for t := range texts {
		known[t] = true
	}
	for t := range unnamed {
		known[t] = true
	}
	seen := map[reflect.Type]bool{}
	for _, e := range endpoints(&schedules.Service{}) {
		for _, root := range []reflect.Type{e.handle.request, e.handle.reply} {
			if published := publishedAs[root]; published != nil {
				root = published
			} else if root == e.handle.reply {
				assert.False(t, hasEncoded(root), "%s: the reply %s needs an entry in publishedAs", e.name(), root)
			}
			visit(root, known, seen, func(own reflect.Type) {
				t.Errorf("%s: %s needs a schema in texts", e.name(), own)
			})
		}
	}
}

// hasEncoded reports whether a reply has lists whose entries are already encoded.
func hasEncoded(t reflect.Type) bool {
	for i := range t.NumField() {
		if t.Field(i).Type == reflect.TypeFor[[]json.RawMessage]() {
			return true
		}
	}
	return false
}

func visit(t reflect.Type, known, seen map[reflect.Type]bool, missing func(reflect.Type)) {
	if known[t] || seen[t] {
		return
	}
	seen[t] = true
	pointer := reflect.PointerTo(t)
	own := pointer.Implements(reflect.TypeFor[json.Unmarshaler]()) || pointer.Implements(reflect.TypeFor[json.Marshaler]()) ||
		pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	if own || t.Kind() == reflect.String && t.PkgPath() != "" {
		missing(t)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		visit(t.Elem(), known, seen, missing)
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			if f.IsExported() && !f.Anonymous {
				visit(f.Type, known, seen, missing)
			}
		}
	}
}

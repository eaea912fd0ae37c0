package frontend_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

func readDocs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/api.md")
	require.NoError(t, err)
	return string(text)
}

// The requests that the page shows must work, in this order.
func TestRequestsInTheDocsWork(t *testing.T) {
	t.Parallel()
	in := installed(t)
	command := regexp.MustCompile(`(?s)nats req carillon\.api\.(\w+)\.schedule\.(\w+) '(.*?)'(?:\n# → ([^\n]*))?`)
	requests := command.FindAllStringSubmatch(readDocs(t), -1)
	require.GreaterOrEqual(t, len(requests), 6)
	schemas, asked := in.replySchemas(), map[string]bool{}
	for _, r := range requests {
		reply := in.ask(r[1], r[2], r[3])
		checkShown(t, schemas[r[2]], r[4], r[0])
		if strings.Contains(r[3], "…") { // its subject is not known beforehand
			assert.Equal(t, "not_found", reply.Header.Get(micro.ErrorCodeHeader), r[0])
			continue
		}
		assert.Empty(t, reply.Header.Get(micro.ErrorHeader), r[0])
		var body any
		require.NoError(t, json.Unmarshal(reply.Data, &body))
		assert.NoError(t, schemas[r[2]].Validate(body), "%s: %s", r[0], reply.Data)
		asked[r[2]] = true
	}
	for verb := range schemas {
		unanswered := slices.Contains([]string{"cancelBackfill", "run", "cancelRun", "terminateRun"}, verb)
		assert.True(t, strings.Contains(verb, "-") || unanswered || asked[verb], "the page has no example of %s", verb)
	}
}

// checkShown checks the reply that the page shows, if it shows one.
func checkShown(t *testing.T, s *jsonschema.Resolved, reply, command string) {
	t.Helper()
	if reply == "" {
		return
	}
	var body any
	require.NoError(t, json.Unmarshal([]byte(reply), &body), command)
	assert.NoError(t, s.Validate(body), "%s: %s", command, reply)
}

// replySchemas returns the reply schemas of the verbs in INFO.
func (in *installation) replySchemas() map[string]*jsonschema.Resolved {
	in.t.Helper()
	var info micro.Info
	in.control(micro.InfoVerb, &info)
	schemas := map[string]*jsonschema.Resolved{}
	for _, e := range info.Endpoints {
		var s jsonschema.Schema
		require.NoError(in.t, json.Unmarshal([]byte(e.Metadata["response_schema"]), &s), e.Name)
		resolved, err := s.Resolve(nil)
		require.NoError(in.t, err, e.Name)
		schemas[e.Name] = resolved
	}
	return schemas
}

func TestDescriptionInTheDocsIsOne(t *testing.T) {
	t.Parallel()
	_, text, _ := strings.Cut(readDocs(t), "```json\n")
	text, _, _ = strings.Cut(text, "```")
	var description schedule.Description
	require.NoError(t, apitext.DecodeJSON([]byte(text), &description))
	assert.NoError(t, description.Schedule.Validate())
}

func TestErrorInTheDocsIsOne(t *testing.T) {
	t.Parallel()
	in := installed(t)
	reply := in.ask("default", "create", createBody("x", `,"policies":{"overlap":"alow_all"}`))
	docs := readDocs(t)
	for _, line := range []string{
		micro.ErrorCodeHeader + ": " + reply.Header.Get(micro.ErrorCodeHeader),
		micro.ErrorHeader + ": " + reply.Header.Get(micro.ErrorHeader),
		string(reply.Data),
	} {
		assert.True(t, strings.Contains(docs, "\n"+line+"\n"), "docs/api.md has no line %s", line)
	}
}

func TestAllVerbsAreInTheDocs(t *testing.T) {
	t.Parallel()
	in := installed(t)
	var info micro.Info
	in.control(micro.InfoVerb, &info)
	docs := readDocs(t)
	for _, e := range info.Endpoints {
		assert.True(t, isDocumented(docs, e.Name), "docs/api.md has no row for %s", e.Name)
	}
}

// isDocumented reports whether a table has a row for a verb: under its endpoint name, or under the verb alone in the section
// about its thing.
func isDocumented(docs, name string) bool {
	if strings.Contains(docs, "\n| `"+name+"` | `") {
		return true
	}
	thing, verb, _ := strings.Cut(name, "-")
	_, section, _ := strings.Cut(strings.ToLower(docs), "\n## "+thing)
	section, _, _ = strings.Cut(section, "\n## ")
	return strings.Contains(section, "\n| `"+strings.ToLower(verb)+"` | `")
}

package frontend_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

func readDocs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/api.md")
	require.NoError(t, err)
	return string(text)
}

// What the page tells people to type must work, in this order.
func TestRequestsInTheDocsWork(t *testing.T) {
	t.Parallel()
	in := installed(t)
	command := regexp.MustCompile(`(?s)nats req carillon\.api\.(\w+)\.schedule\.(\w+) '(.*?)'`)
	requests := command.FindAllStringSubmatch(readDocs(t), -1)
	require.GreaterOrEqual(t, len(requests), 6)
	for _, r := range requests {
		reply := in.ask(r[1], r[2], r[3])
		assert.Empty(t, reply.Header.Get(micro.ErrorHeader), r[0])
	}
}

func TestDescriptionInTheDocsIsOne(t *testing.T) {
	t.Parallel()
	_, text, _ := strings.Cut(readDocs(t), "```json\n")
	text, _, _ = strings.Cut(text, "```")
	var description schedule.Description
	require.NoError(t, schedule.DecodeJSON([]byte(text), &description))
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
		assert.True(t, strings.Contains(docs, "\n| `"+e.Name+"` | `"), "docs/api.md has no row for %s", e.Name)
	}
}

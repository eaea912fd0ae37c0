package cli

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestSearchEndToEnd finds schedules by their properties, also after a restart.
func TestSearchEndToEnd(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	server, url := startServer(t, "--data", data)
	c := cli{t, url}
	c.ok("create", "b", "--every", "1h", "--type", "noop", "--task-queue", "billing", "--search-attribute", `customer="acme"`)
	c.ok("create", "a", "--every", "1h", "--type", "noop", "--task-queue", "billing", "--paused")
	c.ok("create", "c", "--every", "1h", "--type", "noop")
	c.finds("a\nb\nc\n", "type = 'noop'")
	c.finds("a\nb\n", "taskQueue = 'billing'")
	c.finds("b\n", "attr.customer = 'acme'")
	c.finds("b\na\n", "id in ('a', 'b') order by id desc")
	assert.Regexp(t, `(?m)^ID .*\na .*paused`, c.ok("list", "--query", "paused = true"))
	assert.Equal(t, "1\n", c.ok("count", "--query", "taskQueue = 'billing'", "--id-prefix", "b"))
	assert.Equal(t, "no schedules\n", c.ok("list", "--query", "paused = true", "--id-prefix", "b"))
	counted := document[schedule.CountReply](t, c.ok("count", "--query", "paused = false", "-o", "json"))
	assert.Equal(t, 2, counted.Count)
	assert.WithinDuration(t, time.Now(), counted.IndexedUpTo, time.Minute)

	c.fails(ExitUsage, "at character 22: expected a value, found tru: did you mean true?\nhint: this is the place:\n"+
		"  id = 'a' or paused = tru\n                       ^\n", "list", "--query", "id = 'a' or paused = tru")
	c.fails(ExitUsage, "^", "count", "--query", "task = 'a'")

	require.FileExists(t, filepath.Join(data, "search", "search.db"))
	server.stopped(t)
	_, url = startServer(t, "--data", data)
	cli{t, url}.finds("a\nb\n", "taskQueue = 'billing'")
}

// finds waits until a query finds the wanted schedules.
func (c cli) finds(want, query string) {
	c.t.Helper()
	natstest.Eventually(c.t, natstest.Patience, query+" finds "+want, func() bool {
		code, stdout, _ := c.run("list", "--query", query, "-q")
		return code == ExitOK && stdout == want
	})
}

func TestServerWithoutSearch(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	_, url := startServer(t, "--data", data, "--no-search")
	c := cli{t, url}
	c.fails(ExitConflict, "keeps no search index", "list", "--query", "paused = true")
	assert.Equal(t, "0\n", c.ok("count"))
	assert.NoDirExists(t, filepath.Join(data, "search"))
}

func TestExplainQuery(t *testing.T) {
	t.Parallel()
	other := errors.New("other")
	assert.Equal(t, other, explainQuery("id = ", other))
	refused := error(schedule.Invalid("prefix", "is bad"))
	assert.Equal(t, refused, explainQuery("id = ", refused))
	newer := error(schedule.Invalid("query", "at character 1: is not what a newer frontend wants"))
	assert.Equal(t, newer, explainQuery("id = 'a'", newer), "here it is right")
	var hint *hintError
	require.ErrorAs(t, explainQuery("id = ", schedule.Invalid("query", "x")), &hint)
	assert.Equal(t, "this is the place:\n  id = \n       ^", hint.hint)
}

func TestSayIfStale(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	for upTo, want := range map[time.Time]string{
		{}: "", now: "", now.Add(-staleAfter): "", now.Add(-42 * time.Second): "note: the search index is 42s behind\n",
	} {
		var stderr buffer
		a := &app{env: Env{Stderr: &stderr, Now: func() time.Time { return now }}}
		a.sayIfStale(upTo, false)
		assert.Equal(t, want, stderr.String())
	}
	var stderr buffer
	a := &app{env: Env{Stderr: &stderr, Now: func() time.Time { return now }}}
	a.sayIfStale(now, true)
	assert.Equal(t, "note: the search index is behind: the latest changes may not show yet\n", stderr.String())
}

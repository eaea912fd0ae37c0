package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

type item struct {
	ID string `json:"id"`
	N  int    `json:"count"`
}

func TestOutputOfLists(t *testing.T) {
	t.Parallel()
	for output, want := range map[outputFlag]string{
		{format: outputTable}:              "for people\n",
		{format: outputJSON}:               "[\n  {\n    \"id\": \"a\",\n    \"count\": 1\n  },\n  {\n    \"id\": \"b\",\n    \"count\": 2\n  }\n]\n",
		{format: outputYAML}:               "- id: a\n  count: 1\n- id: b\n  count: 2\n",
		{format: outputJSONL}:              "{\"id\":\"a\",\"count\":1}\n{\"id\":\"b\",\"count\":2}\n",
		{format: outputTable, quiet: true}: "a\nb\n",
		{format: outputJSON, quiet: true}:  "a\nb\n",
	} {
		var out bytes.Buffer
		a := &app{env: Env{Stdout: &out}}
		require.NoError(t, printList(a, output, []item{{"a", 1}, {"b", 2}}, func(i *item) string { return i.ID }, forPeople))
		assert.Equal(t, want, out.String(), "%+v", output)
	}
}

func TestOutputOfOne(t *testing.T) {
	t.Parallel()
	for output, want := range map[outputFlag]string{
		{format: outputTable}:              "for people\n",
		{format: outputYAML}:               "id: a\ncount: 1\n",
		{format: outputJSONL}:              "{\"id\":\"a\",\"count\":1}\n",
		{format: outputTable, quiet: true}: "",
		{format: outputJSON, quiet: true}:  "",
	} {
		var out bytes.Buffer
		a := &app{env: Env{Stdout: &out}}
		require.NoError(t, a.print(output, item{"a", 1}, forPeople))
		assert.Equal(t, want, out.String(), "%+v", output)
	}
}

func forPeople(w io.Writer) error {
	_, err := io.WriteString(w, "for people\n")
	return err
}

// TestOutputOfEvents: the output of each event is complete at once, since a watch never ends by itself.
func TestOutputOfEvents(t *testing.T) {
	t.Parallel()
	event := schedule.Event{ID: "e1", Kind: schedule.EventPaused}
	for output, want := range map[eventOutput]string{
		{format: outputJSON}:               `{"id":"e1"`,
		{format: outputJSONL}:              `{"id":"e1"`,
		{format: outputYAML}:               "---\nid: e1\n",
		{format: outputTable, quiet: true}: "e1\n",
	} {
		var out bytes.Buffer
		printer := (&app{}).eventPrinter(&out, output, "", false)
		require.NoError(t, printer.line("a title for people"))
		require.NoError(t, printer.event(&event))
		assert.True(t, strings.HasPrefix(out.String(), want), out.String())
		assert.NotContains(t, out.String(), "a title")
	}
}

func TestNoColor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		env  map[string]string
		want bool
	}{
		{nil, nil, true},
		{[]string{"--no-color"}, nil, false},
		{nil, map[string]string{"CARILLON_NO_COLOR": "true"}, false},
	} {
		p := process{env: c.env}
		env := p.Env()
		env.Color = true
		require.Equal(t, ExitOK, Main(t.Context(), env, append([]string{"spec", "calendar", "--every", "1h", "--month", "2026-01"}, c.args...)))
		assert.Equal(t, c.want, strings.Contains(p.stdout.String(), "\x1b["), c.args)
	}
}

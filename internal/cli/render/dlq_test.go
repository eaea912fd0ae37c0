package render_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/golden"
)

// wakeLetter is a letter about a schedule whose record cannot be read.
func wakeLetter() deadletter.Message {
	return deadletter.Message{
		Letter: deadletter.Letter{
			Number: deadletter.Number{Sequence: 17}, Sequence: 17, Time: now.Add(-3 * time.Minute), Pool: "generator", Deliveries: 10,
			Reason:    "kv: default.report.generator cannot be decoded: byte 1: format version 103, this release reads version 1",
			Namespace: "default", ScheduleID: "report", Size: 42,
			Origin: deadletter.Origin{Subject: "carillon.task.2.generate.default.report.due", Stream: "CARILLON_TASKS_2", Sequence: 4711},
		},
		Headers: map[string][]string{"traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, "a": {"1", "2"}},
		Body: deadletter.Body{
			Format: deadletter.FormatRecord, Value: json.RawMessage(`{"incarnation":"0195a6f0","version":3,"reason":"due"}`),
		},
		Data: []byte("a record"),
	}
}

// hostileLetter holds text that would confuse a terminal, and claims an impossible origin.
func hostileLetter() deadletter.Message {
	return deadletter.Message{
		Letter: deadletter.Letter{
			Number: deadletter.Number{Sequence: 18, Worker: true}, Sequence: 18, TaskQueue: "\x1b[2Jq", Foreign: true,
			Time: now.Add(-time.Second), Pool: "worker", Reason: "\x1b[2Jgone", Size: 4096, Cut: true,
			Namespace: "default", ScheduleID: "ü\nb",
			Origin: deadletter.Origin{Subject: "carillon.task.2.generate.default.report.due\x1b[2J"},
		},
		Body: deadletter.Body{Format: deadletter.FormatBase64, Text: "AP8bWzJK"},
		Data: []byte("\x00\xff\x1b[2J"),
	}
}

func TestLetters(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	nobodys := deadletter.Letter{Number: deadletter.Number{Sequence: 19}, Sequence: 19, Time: now, Pool: "invoker", Reason: "not a task subject", Deliveries: 1}
	letters := []deadletter.Letter{wakeLetter().Letter, hostileLetter().Letter, nobodys}
	require.NoError(t, render.Letters(&out, letters, render.View{Now: now}))
	golden.Equal(t, "dlq_list.txt", out.String())

	out.Reset()
	require.NoError(t, render.Letters(&out, nil, render.View{Now: now}))
	assert.Equal(t, "no dead letters\n", out.String())
}

func TestLetterShown(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]deadletter.Message{"record": wakeLetter(), "hostile": hostileLetter()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			require.NoError(t, render.LetterShown(&out, &m, render.View{Now: now}))
			golden.Equal(t, "dlq_show_"+name+".txt", out.String())
		})
	}
}

func TestLongBodiesAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 40_000)
	for name, body := range map[string]deadletter.Body{
		"text":   {Format: deadletter.FormatText, Text: long},
		"JSON":   {Format: deadletter.FormatJSON, Value: json.RawMessage(`"` + long + `"`)},
		"binary": {Format: deadletter.FormatBase64},
	} {
		m := deadletter.Message{Body: body, Data: []byte(long)}
		var out strings.Builder
		require.NoError(t, render.LetterShown(&out, &m, render.View{Now: now}))
		assert.Less(t, out.Len(), 32<<10, name)
		assert.Contains(t, out.String(), " more bytes; -o json has them\n", name)
	}
}

func TestEmptyBody(t *testing.T) {
	t.Parallel()
	m := deadletter.Message{Body: deadletter.Body{Format: deadletter.FormatText}}
	var out strings.Builder
	require.NoError(t, render.LetterShown(&out, &m, render.View{Now: now}))
	assert.Contains(t, out.String(), "\nBody (text)\n  empty\n")
}

func TestReplayed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, render.Replayed(&out, []deadletter.Replayed{{Letter: wakeLetter().Letter}, {Letter: wakeLetter().Letter, Superseded: true}}))
	assert.Equal(t, "replayed 17 on carillon.task.2.generate.default.report.due\n"+
		"replayed 17 on carillon.task.2.generate.default.report.due: a newer message waits there already\n", out.String())
	out.Reset()
	require.NoError(t, render.Replayed(&out, nil))
	assert.Equal(t, "nothing replayed\n", out.String())
}

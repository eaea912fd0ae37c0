package builtin

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// sample is a run with a value for each placeholder.
func sample(actionType, input string) *worker.Run {
	return &worker.Run{
		Attempt: 2,
		ActionRequest: schedule.ActionRequest{
			Namespace: "default", ScheduleID: `a "b"`, WorkflowID: "wf", RunID: "run", RequestID: "request", Type: actionType,
			NominalTime: time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC), DueTime: time.Date(2026, 3, 1, 2, 0, 3, 250e6, time.UTC),
			LastSuccess: json.RawMessage(`{"n":1}`), Input: json.RawMessage(input),
		},
	}
}

func requireInvalid(t *testing.T, err error, want string) {
	t.Helper()
	var typed *worker.Error
	require.ErrorAs(t, err, &typed)
	assert.Equal(t, worker.TypeInvalidInput, typed.Type)
	assert.True(t, typed.NonRetryable)
	assert.Contains(t, typed.Message, want)
	assert.NotContains(t, typed.Message, "Go ")
}

func TestPlaceholders(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"none":                               "none",
		"{{nominalTime}} {{ nominalDate }}":  "2026-03-01T02:00:00Z 2026-03-01",
		"{{nominalUnix}},{{dueTime}}":        "1772330400,2026-03-01T02:00:03.25Z",
		"{{scheduleId}}/{{attempt}}":         `a "b"/2`,
		"{{requestId}} {{runId}}":            "request run",
		"{{workflowId}} {{namespace}}":       "wf default",
		"{{lastSuccess}}":                    `{"n":1}`,
		"{ {nominalTime} } {{.NominalTime}}": "{ {nominalTime} } {{.NominalTime}}",
	} {
		e := newExpander(sample("http", ""))
		assert.Equal(t, want, e.text("body", text, asIs), text)
		assert.NoError(t, e.err, text)
	}
	e := newExpander(sample("http", ""))
	e.text("body", "{{nominal}} {{other}}", asIs)
	requireInvalid(t, e.err, "body: there is no placeholder {{nominal}}; there are attempt, dueTime, ")
}

func TestPayload(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		``:                             ``,
		`null`:                         ``,
		`"text {{scheduleId}}"`:        `text a "b"`,
		`{"id": "{{scheduleId}}"}`:     `{"id": "a \"b\""}`,
		`["{{nominalDate}}", {"a":1}]`: `["2026-03-01", {"a":1}]`,
		`12`:                           `12`,
	} {
		data, isJSON := newExpander(sample("http", "")).payload("body", json.RawMessage(body))
		assert.Equal(t, want, string(data), body)
		assert.Equal(t, want != "" && body[0] != '"', isJSON, body)
	}
}

func TestDecodeIsStrict(t *testing.T) {
	t.Parallel()
	var in httpInput
	requireInvalid(t, decode(sample("http", ``), &in), "needs an input")
	requireInvalid(t, decode(sample("http", `{"uri": "x"}`), &in), "uri")
	requireInvalid(t, decode(sample("http", `{} {}`), &in), "")
	requireInvalid(t, decode(sample("http", `{"url": 1}`), &in), "url")
	require.NoError(t, decode(sample("http", `{"url": "x"} `), &in))
}

// FuzzInputs: no input makes an action panic, and what is refused is not retried.
func FuzzInputs(f *testing.F) {
	for _, input := range []string{
		`{"url":"https://example.com/{{nominalDate}}","body":{"a":"{{scheduleId}}"},"successCodes":["2xx",404,"200-204"]}`,
		`{"subject":"a.{{scheduleId}}","mode":"request","timeout":"1s","headers":{"a":"b"}}`,
		`{"command":"x","args":["{{attempt}}"],"stdin":"a"}`, `{`, `[]`, `"{{"`,
	} {
		f.Add([]byte(input))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		run := sample("http", string(input))
		var web httpInput
		if err := decode(run, &web); err == nil {
			if _, err := web.request(run); err != nil {
				requireInvalid(t, err, "")
			}
		}
		var program execInput
		if err := decode(run, &program); err == nil {
			action := &execAction{commands: map[string]string{"x": "/bin/x"}}
			if _, err := action.command(t.Context(), run, &program); err != nil {
				requireInvalid(t, err, "")
			}
		}
	})
}

package schedule_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/schedule"
)

func raw(text string) map[string]json.RawMessage {
	return map[string]json.RawMessage{"k": json.RawMessage(text)}
}

func TestWorkflowIsValid(t *testing.T) {
	t.Parallel()
	full := scheduletest.Workflow()
	require.NoError(t, full.Spec.ValidateWith(scheduletest.Named()))
	require.NoError(t, full.Validate())
	small := schedule.Action{Kind: schedule.ActionWorkflow, Type: "W", TaskQueue: "q"}
	require.NoError(t, small.Validate())
	for _, input := range []string{"[]", " [1] ", "[null]", `[{"metadata":{},"data":""}]`, `[{"metadata":1}]`} {
		small.Input = json.RawMessage(input)
		assert.NoError(t, small.Validate(), input)
	}
}

func TestWorkflowIsRefused(t *testing.T) {
	t.Parallel()
	const half = `{"metadata":{"encoding":"?"},"data":""}`
	for want, edit := range map[string]func(*schedule.Action){
		`kind: "workflw" is not a kind of action, did you mean workflow? Use one of run, workflow`: func(a *schedule.Action) { a.Kind = "workflw" },
		`input: is not a list: a workflow takes a list of arguments, such as [1, "two"]`:           func(a *schedule.Action) { a.Input = json.RawMessage(`{"a":1}`) },
		`input[1].metadata.encoding: is not base64, as the metadata of a payload is`:               func(a *schedule.Action) { a.Input = json.RawMessage("[1," + half + "]") },
		`input: is not valid JSON: line 1, column 1: unexpected end of JSON input`:                 func(a *schedule.Action) { a.Input = json.RawMessage("[") },
		`memo.k.metadata.encoding: is not base64, as the metadata of a payload is`:                 func(a *schedule.Action) { a.Memo = raw(half) },
		`searchAttributes.k.metadata.encoding: is not base64, as the metadata of a payload is`:     func(a *schedule.Action) { a.SearchAttributes = raw(half) },
		`headerPayloads.k.metadata.encoding: is not base64, as the metadata of a payload is`:       func(a *schedule.Action) { a.HeaderPayloads = raw(half) },
		`headerPayloads.k: is in headers too: use one of the two`:                                  func(a *schedule.Action) { a.Headers, a.HeaderPayloads = map[string]string{"k": ""}, raw("1") },
		`headerPayloads.k: is not valid JSON: line 1, column 1: unexpected end of JSON input`:      func(a *schedule.Action) { a.HeaderPayloads = raw("") },
		`userMetadata.summary.metadata.encoding: is not base64, as the metadata of a payload is`:   func(a *schedule.Action) { a.UserMetadata = &schedule.UserMetadata{Summary: json.RawMessage(half)} },
		`userMetadata: is 32777 bytes long with its names: at most 32768 are accepted`: func(a *schedule.Action) {
			a.UserMetadata = &schedule.UserMetadata{Details: json.RawMessage(`"` + strings.Repeat("x", schedule.MaxMapBytes) + `"`)}
		},
		`searchAttributes.TemporalScheduledById: is set by the schedule itself: use another name`: func(a *schedule.Action) {
			a.SearchAttributes = map[string]json.RawMessage{schedule.AttributeScheduledBy: json.RawMessage("1")}
		},
		`searchAttributes.TemporalScheduledStartTime: is set by the schedule itself: use another name`: func(a *schedule.Action) {
			a.SearchAttributes = map[string]json.RawMessage{schedule.AttributeScheduledStartTime: json.RawMessage("1")}
		},
		`heartbeatTimeout: is not for workflows: their activities have heartbeats`: func(a *schedule.Action) { a.HeartbeatTimeout = schedule.Duration(time.Minute) },
		`headerPayloads: is for workflows: use headers, or the kind "workflow"`:    func(a *schedule.Action) { a.Kind, a.HeaderPayloads = "", raw("1") },
		`userMetadata: is for workflows: use memo, or the kind "workflow"`:         func(a *schedule.Action) { a.Kind, a.UserMetadata = schedule.ActionRun, &schedule.UserMetadata{} },
	} {
		action := schedule.Action{Kind: schedule.ActionWorkflow, Type: "W", TaskQueue: "q"}
		edit(&action)
		assert.EqualError(t, action.Validate(), want)
	}
}

func TestActionWithATrigger(t *testing.T) {
	t.Parallel()
	action := scheduletest.Workflow().Action
	with, err := action.With(&schedule.Trigger{})
	require.NoError(t, err)
	assert.Equal(t, action, with)

	with, err = action.With(&schedule.Trigger{
		Input: json.RawMessage("[1]"), Headers: map[string]string{"trace": "none", "more": "x"}, Memo: raw("null"),
	})
	require.NoError(t, err)
	assert.Equal(t, json.RawMessage("[1]"), with.Input)
	assert.Equal(t, map[string]string{"tenant": "blue", "trace": "none", "more": "x"}, with.Headers)
	assert.Empty(t, with.HeaderPayloads, "the text has replaced the payload of its name")
	assert.Len(t, with.Memo, 2)
	require.NoError(t, with.Validate())
	assert.Equal(t, scheduletest.Workflow().Action, action, "it has not been changed")

	_, err = action.With(&schedule.Trigger{Input: json.RawMessage(`"x"`)})
	assert.ErrorContains(t, err, "input: is not a list")
	_, err = action.With(&schedule.Trigger{Memo: raw(`{"metadata":1,"data":2}`)})
	assert.ErrorContains(t, err, "memo.k.metadata: ")
	run := scheduletest.Schedule().Action
	with, err = run.With(&schedule.Trigger{Input: json.RawMessage(`"x"`), Memo: raw(`{"metadata":1,"data":2}`)})
	require.NoError(t, err, "any value is a value to a run")
	assert.Equal(t, json.RawMessage(`"x"`), with.Input)
}

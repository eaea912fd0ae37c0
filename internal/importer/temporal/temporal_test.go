package temporal

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

func temporalFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return data
}

func TestImportTemporalKeepsTheMeaning(t *testing.T) {
	t.Parallel()
	all, err := Parse(temporalFile(t, "stream.json"), "", schedule.ActionRun)
	require.NoError(t, err)
	require.Len(t, all, 2)
	spec := all[0].Spec
	require.Len(t, spec.StructuredCalendars, 1)
	first := spec.StructuredCalendars[0]
	assert.Equal(t, []schedule.Range{{Start: 1, End: 7}}, first.DayOfMonth)
	assert.Equal(t, []schedule.Range{{Start: 1, End: 1}}, first.DayOfWeek, "the first Monday, and not the first week and all Mondays")
	assert.Equal(t, []string{"*/10 * * * *"}, spec.Cron, "one that restricts neither means the same")
	assert.Equal(t, "America/New_York", spec.TimeZone)
	assert.Equal(t, schedule.OverlapCancelOther, all[0].Policies.Overlap)
	assert.Equal(t, schedule.DefaultCatchupWindow, all[0].Policies.CatchupWindow.Std())
	assert.JSONEq(t, `["eu", {"dryRun": false}]`, string(all[0].Action.Input))
	assert.Nil(t, all[1].Action.Input)
	assert.Equal(t, 24*time.Hour, all[1].Spec.Intervals[0].Every.Std())
}

// TestImportTemporalKeepsPayloads: a workflow is given what it was given before.
func TestImportTemporalKeepsPayloads(t *testing.T) {
	t.Parallel()
	all, err := Parse(temporalFile(t, "stream.json"), "", schedule.ActionWorkflow)
	require.NoError(t, err)
	assert.Equal(t, schedule.ActionWorkflow, all[0].Action.Kind)
	assert.JSONEq(t, `["eu", {"dryRun": false}]`, string(all[0].Action.Input))
	assert.JSONEq(t, `[{"metadata": {"encoding": "YmluYXJ5L2VuY3J5cHRlZA=="}, "data": "c2VjcmV0"}]`, string(all[1].Action.Input))

	all, err = Parse([]byte(`{"scheduleId": "a", "memo": {"fields": {"m": {"metadata": {"encoding": "YmluYXJ5L251bGw="}}}}, "schedule": {"action": {"startWorkflow": {
		"workflowType": {"name": "T"}, "taskQueue": {"name": "q"}, "workflowTaskTimeout": "7s", "retryPolicy": {},
		"input": {"payloads": [{"metadata": {"encoding": "anNvbi9wbGFpbg=="}, "data": "MQ=="}, {"metadata": 1, "data": 2}]},
		"header": {"fields": {"h": {"_protoMessageType": "temporal.api.common.v1.WorkflowType", "name": "x"}}},
		"userMetadata": {"summary": "s"}, "memo": {"n": null}
	}}}}`), "", schedule.ActionWorkflow)
	require.NoError(t, err)
	require.NoError(t, all[0].Problem)
	assert.Equal(t, schedule.Action{
		Kind: schedule.ActionWorkflow, Type: "T", TaskQueue: "q", TaskTimeout: schedule.Duration(7 * time.Second),
		Input: json.RawMessage(`[1,{"metadata":{"encoding":"anNvbi9wbGFpbg=="},"data":"eyJtZXRhZGF0YSI6IDEsICJkYXRhIjogMn0="}]`),
		HeaderPayloads: map[string]json.RawMessage{"h": json.RawMessage(
			`{"metadata":{"encoding":"anNvbi9wcm90b2J1Zg==","messageType":"dGVtcG9yYWwuYXBpLmNvbW1vbi52MS5Xb3JrZmxvd1R5cGU="},"data":"eyJuYW1lIjoieCJ9"}`)},
		Memo:         map[string]json.RawMessage{"n": json.RawMessage("null")},
		UserMetadata: &schedule.UserMetadata{Summary: json.RawMessage(`"s"`)}, RetryPolicy: &schedule.RetryPolicy{},
	}, all[0].Action)
	assert.Equal(t, map[string]json.RawMessage{"m": json.RawMessage("null")}, all[0].Memo)
	assert.NoError(t, all[0].Action.Validate())
}

func TestIDs(t *testing.T) {
	t.Parallel()
	const action = `"action": {"startWorkflow": {"workflowId": "w", "workflowType": {"name": "T"}}}`
	for text, want := range map[string]string{
		`{"scheduleId": "a", "schedule": {` + action + `}}`:                                       "a",
		`{"schedule": {` + action + `}}`:                                                          "file",
		`{"schedule": {` + action + `}} {"schedule": {` + action + `}}`:                           "w",
		`{"schedules": [{"scheduleId": "b", "schedule": {` + action + `}}], "nextPageToken": ""}`: "b",
	} {
		all, err := Parse([]byte(text), "file", schedule.ActionRun)
		require.NoError(t, err)
		assert.Equal(t, want, all[0].ID, text)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":               "there is no schedule in it",
		"a: b":           "not JSON",
		"{}":             `schedule 1: has neither "schedule"`,
		`{"schedule":7}`: "cannot unmarshal",
		`{"schedule": {"action": {"other": {}}}}`:                                                       "is not startWorkflow",
		`{"schedule": {"spec": {"interval": [{"interval": "soon"}]}, "action": {"startWorkflow": {}}}}`: `spec.interval[0].interval: "soon" is not a duration`,
		`{"schedule": {"spec": {"cronString": ["* *"]}, "action": {"startWorkflow": {}}}}`:              "spec.cronString[0]: ",
		`{"schedule": {"action": {"startWorkflow": {"workflowRunTimeout": "x"}}}}`:                      "action.workflowRunTimeout: ",
		`{"schedule": {"action": {"startWorkflow": {}}, "policies": {"overlapPolicy": "Sometimes"}}}`:   `policies.overlapPolicy: "Sometimes" is not known`,
		`{"schedule": {"action": {"startWorkflow": {}}}}`:                                               "does not say its ID",
		`{"schedule": {"action": {"startWorkflow": {"retryPolicy": {"initialInterval": "x"}}}}}`:        "action.retryPolicy.initialInterval: ",
	} {
		all, err := Parse([]byte(text), "", schedule.ActionRun)
		if err == nil {
			err = fmt.Errorf("%s: %w", all[0].From, all[0].Problem)
		}
		require.ErrorContains(t, err, want, text)
	}
}

// FuzzParse: nothing makes Parse panic, and each entry has an ID.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"nightly.json", "stream.json", "list.json"} {
		f.Add(temporalFile(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range schedule.ActionKinds() {
			all, err := Parse(data, "x", kind)
			if err != nil {
				return
			}
			for i := range all {
				require.True(t, all[i].ID != "" || all[i].Problem != nil)
				require.NotEmpty(t, all[i].From)
			}
		}
	})
}

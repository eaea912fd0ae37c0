package frontend_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// workflowOf is a request to create a schedule of a workflow.
func workflowOf(id, more string) string {
	return `{"id":"` + id + `","action":{"kind":"workflow","type":"Report","taskQueue":"few","input":["x",null]` + more + `}}`
}

// TestWorkflowIsCreated: its workers are not asked for a type, and what only the other kind has is refused.
func TestWorkflowIsCreated(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.knowing("few", "noop")
	d, err := answer[schedule.Description](in, "create", workflowOf("a", `,"headerPayloads":{"h":1},"userMetadata":{"summary":"s"}`))
	require.NoError(t, err)
	assert.Empty(t, d.Info.Warnings)
	assert.Equal(t, schedule.ActionWorkflow, d.Action.Kind)
	assert.JSONEq(t, `["x",null]`, string(d.Action.Input))
	for more, want := range map[string]string{
		`,"heartbeatTimeout":"10s"`:                            "action.heartbeatTimeout: ",
		`,"memo":{"m":{"metadata":1,"data":""}}`:               "action.memo.m.metadata: ",
		`,"headers":{"h":"1"},"headerPayloads":{"h":1}`:        "action.headerPayloads.h: is in headers too",
		`,"searchAttributes":{"TemporalScheduledById":"else"}`: "action.searchAttributes.TemporalScheduledById: is set by the schedule",
	} {
		_, err := answer[schedule.Description](in, "create", workflowOf("b", more))
		assert.ErrorContains(t, err, want, more)
	}
}

// TestTriggerThatDoesNotFitAWorkflow is refused, whichever way it comes.
func TestTriggerThatDoesNotFitAWorkflow(t *testing.T) {
	t.Parallel()
	in := installed(t)
	_, err := answer[schedule.Description](in, "create", workflowOf("a", ""))
	require.NoError(t, err)
	_, err = answer[schedule.TriggerReply](in, "trigger", `{"id":"a","input":{"x":1}}`)
	assert.ErrorContains(t, err, "input: is not a list")
	_, err = answer[schedule.Description](in, "patch", `{"id":"a","trigger":{"input":"x"}}`)
	assert.ErrorContains(t, err, "trigger.input: is not a list")
	assert.Empty(t, in.pending("a"))
	_, err = answer[schedule.TriggerReply](in, "trigger", `{"id":"a","input":["y"]}`)
	assert.NoError(t, err)
}

// TestEndAWorkflowWhoseScheduleIsGone: the invoker is told what the event history knows of the run.
func TestEndAWorkflowWhoseScheduleIsGone(t *testing.T) {
	t.Parallel()
	in := installed(t)
	began := time.Now().Add(-time.Minute).UTC()
	in.tell(
		schedule.Event{
			ID: "i-1", Time: began, Namespace: "default", ScheduleID: "gone", Kind: schedule.EventStarted, RequestID: "sched-auto-1",
			WorkflowID: "gone-1", RunID: "run-1", TaskQueue: "few", ActionKind: schedule.ActionWorkflow, Source: schedule.SourceAuto, Actual: began,
		},
		schedule.Event{ID: "i-deleted", Time: began.Add(time.Second), Namespace: "default", ScheduleID: "gone", Kind: schedule.EventDeleted},
	)
	reply, err := answerTo[schedule.EndRunReply](in, "ann@desk", "terminateRun", `{"id":"gone","run":"gone-1"}`)
	require.NoError(t, err)
	assert.Equal(t, "run-1", reply.Run.RunID)
	key := in.key("gone")
	message := in.task("gone", in.names.InvokeEnd(in.store.ShardOf(key), key, schedule.ControlTerminate, "sched-auto-1"))
	require.NotNil(t, message)
	var end wire.EndRun
	require.NoError(t, codec.Unmarshal(message.Data, &end))
	assert.Equal(t, wire.EndRun{
		Kind: schedule.ControlTerminate, RequestID: "sched-auto-1", Identity: "ann@desk", WorkflowID: "gone-1", RunID: "run-1", TaskQueue: "few",
		ActionKind: schedule.ActionWorkflow,
	}, end)
	run, err := answer[schedule.RunReply](in, "run", `{"id":"gone","run":"gone-1"}`)
	require.NoError(t, err)
	assert.Equal(t, schedule.ActionWorkflow, run.ActionKind)
}

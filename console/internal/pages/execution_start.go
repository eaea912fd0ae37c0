package pages

import (
	"cmp"
	"net/http"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/console/internal/readable"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
)

// conflicts are what a start may do if the workflow ID has a run already.
var conflicts = []actChoice{{"refuse", "refuse if one is open"}, {"use", "go to the one that is open"}, {"terminate", "terminate the one that is open"}}

// policies are the conflict policies for them. What is none of them means the default.
var policies = map[string]enums.WorkflowIdConflictPolicy{
	"use": enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING, "terminate": enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
}

// taskTime is how long a worker may take for a workflow task: what clients of Temporal ask for as well.
const taskTime = 10 * time.Second

// startForm returns the form for a new execution.
func (p *Pages) startForm(asks *speaker.Speaker) *actForm {
	return &actForm{
		Title: "New execution", Of: "Executions", Back: address(asks.Namespace(), "executions"), Button: "Start", Request: p.config.NewID(),
		Intro: "A workflow begins as soon as a worker polls its task queue.",
		Fields: []actField{
			{Name: "type", Label: "Workflow type", Required: true},
			{Name: "queue", Label: "Task queue", Required: true, Value: "default"},
			{Name: "workflow", Label: "Workflow ID", Hint: "One is made up if there is none."},
			{Name: "input", Label: "Input", Kind: "json", Hint: jsonHint},
			{Name: "conflict", Label: "If the workflow ID is taken", Kind: "choice", Choices: conflicts, Value: conflicts[0].Value},
		},
	}
}

// newExecution shows the form for a new execution, filled with what another execution began with if the address names one.
func (p *Pages) newExecution(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	ctx := r.Context()
	form, asked := p.startForm(asks), r.URL.Query()
	of := &common.WorkflowExecution{WorkflowId: asked.Get("workflow"), RunId: asked.Get("run")}
	if queue := asked.Get("queue"); queue != "" {
		form.set("queue", queue)
	}
	if of.WorkflowId == "" {
		return form.page(), nil
	}
	event, err := firstEvent(ctx, asks, of, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	if err != nil {
		return nil, err
	}
	started := event.GetWorkflowExecutionStartedEventAttributes()
	form.set("type", started.GetWorkflowType().GetName())
	form.set("queue", started.GetTaskQueue().GetName())
	form.set("workflow", of.WorkflowId)
	form.set("input", readable.Typed(started.GetInput()))
	return form.page(), nil
}

// startExecution starts an execution, and leads to it. Sending the form twice starts one.
func (p *Pages) startExecution(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	ctx := r.Context()
	form := p.startForm(asks)
	form.fill(r)
	input, isJSON := form.arguments("input")
	if isComplete := form.isComplete(); !isJSON || !isComplete {
		return form.page(), nil
	}
	id := cmp.Or(form.value("workflow"), form.Request)
	request := &workflowservice.StartWorkflowExecutionRequest{
		Namespace: asks.Namespace(), WorkflowId: id, WorkflowType: &common.WorkflowType{Name: form.value("type")}, RequestId: form.Request,
		TaskQueue: &taskqueue.TaskQueue{Name: form.value("queue")}, Input: input, Identity: asks.Identity,
		WorkflowTaskTimeout: durationpb.New(taskTime), WorkflowIdConflictPolicy: policies[form.value("conflict")],
	}
	started, err := asks.Workflows.StartWorkflowExecution(ctx, request)
	if err != nil {
		form.refuse(err)
		return form.page(), nil
	}
	return &answer{to: address(asks.Namespace(), "executions", id, started.GetRunId()) + "?said=start"}, nil
}

package pages

import (
	"context"
	"net/http"
	"slices"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
)

// act is a form about one execution, and the request that it stands for.
type executionAct struct {
	title, intro, button string
	fields               []actField
	// prepare adds to the form what is there already; nil if there is nothing to add.
	prepare func(context.Context, *speaker.Speaker, *common.WorkflowExecution, *actForm) error
	// do makes the request, and returns the address to which the browser goes; empty to show the form, with what came back or what is wrong.
	do func(context.Context, *speaker.Speaker, *common.WorkflowExecution, *actForm) (to string, err error)
}

// jsonHint says how values are written.
const jsonHint = `JSON: 5, "text", {"field": "value"} or [1, 2]. Several values one after the other; nothing for no value.`

var reasonField = actField{Name: "reason", Label: "Reason"}

// executionActs are the forms about one execution, by the last part of their address.
var executionActs = map[string]executionAct{
	"signal": {
		title: "Signal", button: "Send the signal", do: signalExecution,
		intro:  "The workflow gets the signal with its next workflow task. Nobody says whether it does something with it.",
		fields: []actField{{Name: "name", Label: "Name", Required: true}, {Name: "input", Label: "Input", Kind: "json", Hint: jsonHint}},
	},
	"query": {
		title: "Query", button: "Ask", do: queryExecution, prepare: noteUnserved,
		intro:  "A worker answers from the state of the workflow, also if it has ended. Nothing changes.",
		fields: []actField{{Name: "name", Label: "Name", Required: true, Hint: "__stack_trace shows where the code waits, if the SDK knows it."}, {Name: "input", Label: "Arguments", Kind: "json", Hint: jsonHint}},
	},
	"update": {
		title: "Update", button: "Send the update", do: updateExecution, prepare: noteUnserved,
		intro:  "The workflow accepts or rejects the update, and answers. The page waits for it for some seconds; the update goes on after that.",
		fields: []actField{{Name: "name", Label: "Name", Required: true}, {Name: "input", Label: "Arguments", Kind: "json", Hint: jsonHint}},
	},
	"cancel": {
		title: "Cancel", button: "Ask it to cancel", do: cancelExecution, prepare: noteUnserved,
		intro:  "The code of the workflow is asked to end. It may clean up first, and it may go on. Without a worker, nothing happens.",
		fields: []actField{reasonField},
	},
	"terminate": {
		title: "Terminate", button: "Terminate", do: terminateExecution,
		intro:  "The execution ends at once. Its code does not hear of it, and cleans up nothing. Running activities are told with their next heartbeat.",
		fields: []actField{reasonField},
	},
	"reset": {
		title: "Reset", button: "Reset", do: resetExecution, prepare: resetPoints,
		intro:  "A new run begins with the history up to the workflow task that you choose, and goes on from there. This run is terminated if it is open. Signals that came later are applied again.",
		fields: []actField{{Name: "event", Label: "After which workflow task", Kind: "radio"}, reasonField},
	},
}

func (p *Pages) addExecutionActs() {
	for name, act := range executionActs {
		pattern := Base + "{namespace}/executions/{workflow}/{run}/" + name
		p.bounded("GET "+pattern, p.actOn(act, false))
		p.bounded("POST "+pattern, p.actOn(act, true))
	}
}

// actForm returns an empty form about an execution.
func (p *Pages) actForm(act executionAct, of *common.WorkflowExecution, namespace string) *actForm {
	return &actForm{
		Title: act.title, Intro: act.intro, Button: act.button, Fields: slices.Clone(act.fields), Request: p.config.NewID(),
		Of: of.WorkflowId, Back: address(namespace, "executions", of.WorkflowId, of.RunId),
	}
}

// actOn returns the handler of a form about an execution.
func (p *Pages) actOn(act executionAct, sent bool) maker {
	return func(r *http.Request, asks *speaker.Speaker) (*answer, error) {
		ctx, of := r.Context(), executionOf(r)
		form := p.actForm(act, of, asks.Namespace())
		form.IsSent = sent
		if sent {
			form.fill(r)
		} else {
			form.set("name", r.URL.Query().Get("name"))
		}
		if act.prepare != nil {
			if err := act.prepare(ctx, asks, of, form); err != nil {
				return nil, err
			}
		}
		if !sent || !form.isComplete() {
			return form.page(), nil
		}
		to, err := act.do(ctx, asks, of, form)
		if form.IsOver {
			form.Request = p.config.NewID()
		}
		switch {
		case err != nil:
			form.refuse(err)
			return form.page(), nil
		case to == "":
			return form.page(), nil
		}
		return &answer{to: to}, nil
	}
}

// noteUnserved adds to a form that there is no worker which could do what it asks for.
func noteUnserved(ctx context.Context, asks *speaker.Speaker, of *common.WorkflowExecution, form *actForm) error {
	d, err := describe(ctx, asks, of)
	if err != nil {
		return err
	}
	d.PendingActivities = nil
	form.Notes = append(form.Notes, unserved(ctx, asks, d)...)
	return nil
}

func signalExecution(ctx context.Context, asks *speaker.Speaker, of *common.WorkflowExecution, form *actForm) (string, error) {
	input, ok := form.arguments("input")
	if !ok {
		return "", nil
	}
	_, err := asks.Workflows.SignalWorkflowExecution(ctx, &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: asks.Namespace(), WorkflowExecution: of, SignalName: form.value("name"), Input: input, Identity: asks.Identity, RequestId: form.Request,
	})
	return form.Back + "?said=signal", err
}

func cancelExecution(ctx context.Context, asks *speaker.Speaker, of *common.WorkflowExecution, form *actForm) (string, error) {
	_, err := asks.Workflows.RequestCancelWorkflowExecution(ctx, &workflowservice.RequestCancelWorkflowExecutionRequest{
		Namespace: asks.Namespace(), WorkflowExecution: of, Identity: asks.Identity, RequestId: form.Request, Reason: form.value("reason"),
	})
	return form.Back + "?said=cancel-execution", err
}

func terminateExecution(ctx context.Context, asks *speaker.Speaker, of *common.WorkflowExecution, form *actForm) (string, error) {
	_, err := asks.Workflows.TerminateWorkflowExecution(ctx, &workflowservice.TerminateWorkflowExecutionRequest{
		Namespace: asks.Namespace(), WorkflowExecution: of, Identity: asks.Identity, Reason: form.value("reason"),
	})
	return form.Back + "?said=terminate-execution", err
}

package temporal

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// scheduleAction is a ScheduleAction of Temporal's API.
type scheduleAction struct {
	StartWorkflow *workflow `json:"startWorkflow"`
}

// workflow is a NewWorkflowExecutionInfo of Temporal's API.
type workflow struct {
	WorkflowID               string        `json:"workflowId"`
	WorkflowType             named         `json:"workflowType"`
	TaskQueue                named         `json:"taskQueue"`
	Input                    payloads      `json:"input"`
	WorkflowExecutionTimeout duration      `json:"workflowExecutionTimeout"`
	WorkflowRunTimeout       duration      `json:"workflowRunTimeout"`
	WorkflowTaskTimeout      duration      `json:"workflowTaskTimeout"`
	RetryPolicy              *retryPolicy  `json:"retryPolicy"`
	Memo                     payloadFields `json:"memo"`
	SearchAttributes         payloadFields `json:"searchAttributes"`
	Header                   payloadFields `json:"header"`
	UserMetadata             struct {
		Summary json.RawMessage `json:"summary"`
		Details json.RawMessage `json:"details"`
	} `json:"userMetadata"`
	VersioningOverride any `json:"versioningOverride"`
	Priority           struct {
		PriorityKey    int     `json:"priorityKey"`
		FairnessKey    string  `json:"fairnessKey"`
		FairnessWeight float64 `json:"fairnessWeight"`
	} `json:"priority"`
}

type retryPolicy struct {
	InitialInterval        duration `json:"initialInterval"`
	BackoffCoefficient     float64  `json:"backoffCoefficient"`
	MaximumInterval        duration `json:"maximumInterval"`
	MaximumAttempts        int      `json:"maximumAttempts"`
	NonRetryableErrorTypes []string `json:"nonRetryableErrorTypes"`
}

func (t *scheduleAction) action(kind schedule.ActionKind, notes *[]string) (a schedule.Action, err error) {
	w := t.StartWorkflow
	if w == nil {
		return a, errors.New("action: is not startWorkflow, the only one that is known")
	}
	if kind.IsWorkflow() {
		a, err = w.asWorkflow(notes)
	} else {
		a, err = w.asRun(notes)
	}
	if err != nil {
		return a, err
	}
	a.Type, a.WorkflowID, a.TaskQueue, a.Priority = w.WorkflowType.Name, w.WorkflowID, w.TaskQueue.Name, w.Priority.PriorityKey
	if a.ExecutionTimeout, err = w.WorkflowExecutionTimeout.of("action.workflowExecutionTimeout"); err != nil {
		return a, err
	}
	if a.RunTimeout, err = w.WorkflowRunTimeout.of("action.workflowRunTimeout"); err != nil {
		return a, err
	}
	*notes = append(*notes, w.leftOut()...)
	return a, nil
}

// asRun returns the parts of an action that a run on a worker of Carillon's own protocol has in other forms than a workflow.
func (w *workflow) asRun(notes *[]string) (a schedule.Action, err error) {
	a = schedule.Action{
		Input:            w.Input.value(notes),
		Memo:             w.Memo.values("memo", notes),
		SearchAttributes: w.SearchAttributes.values("search attribute", notes),
		Headers:          w.Header.texts(notes),
	}
	if !slices.Contains([]duration{"", "0s", "10s"}, w.WorkflowTaskTimeout) {
		*notes = append(*notes, "workflowTaskTimeout is not carried over: it bounds a step of a workflow, and not an attempt")
	}
	if len(w.UserMetadata.Summary)+len(w.UserMetadata.Details) > 0 {
		*notes = append(*notes, "userMetadata is not carried over")
	}
	if w.Priority.FairnessKey != "" {
		*notes = append(*notes, "priority.fairnessKey is not carried over")
	}
	a.RetryPolicy, err = w.RetryPolicy.policy()
	return a, err
}

// asWorkflow returns the same parts of an action that starts a workflow. All payloads stay what they are.
func (w *workflow) asWorkflow(notes *[]string) (a schedule.Action, err error) {
	a = schedule.Action{
		Kind: schedule.ActionWorkflow, Input: w.Input.list(), Memo: w.Memo.payloads(), SearchAttributes: w.SearchAttributes.payloads(),
		HeaderPayloads: w.Header.payloads(), FairnessKey: w.Priority.FairnessKey, FairnessWeight: w.Priority.FairnessWeight,
	}
	if m := w.UserMetadata; len(m.Summary)+len(m.Details) > 0 {
		a.UserMetadata = &schedule.UserMetadata{Summary: payloadText(m.Summary), Details: payloadText(m.Details)}
	}
	if a.RetryPolicy, err = w.RetryPolicy.policy(); err != nil {
		return a, err
	}
	a.TaskTimeout, err = w.WorkflowTaskTimeout.of("action.workflowTaskTimeout")
	return a, err
}

// leftOut returns notes about what has no counterpart.
func (w *workflow) leftOut() []string {
	var notes []string
	if w.VersioningOverride != nil {
		notes = append(notes, "versioningOverride is not carried over: choose the version by the task queue")
	}
	return notes
}

func (t *retryPolicy) policy() (*schedule.RetryPolicy, error) {
	if t == nil {
		return nil, nil
	}
	p := schedule.RetryPolicy{
		BackoffCoefficient: t.BackoffCoefficient, MaximumAttempts: t.MaximumAttempts, NonRetryableErrorTypes: t.NonRetryableErrorTypes,
	}
	var err error
	if p.InitialInterval, err = t.InitialInterval.of("action.retryPolicy.initialInterval"); err != nil {
		return nil, err
	}
	p.MaximumInterval, err = t.MaximumInterval.of("action.retryPolicy.maximumInterval")
	return &p, err
}

// schedulePolicies is a SchedulePolicies of Temporal's API.
type schedulePolicies struct {
	OverlapPolicy          string   `json:"overlapPolicy"`
	CatchupWindow          duration `json:"catchupWindow"`
	PauseOnFailure         bool     `json:"pauseOnFailure"`
	KeepOriginalWorkflowID bool     `json:"keepOriginalWorkflowId"`
}

func (t *schedulePolicies) policies() (p schedule.Policies, err error) {
	p = schedule.Policies{PauseOnFailure: t.PauseOnFailure, KeepOriginalWorkflowID: t.KeepOriginalWorkflowID}
	if p.CatchupWindow, err = t.CatchupWindow.of("policies.catchupWindow"); err != nil {
		return p, err
	}
	p.Overlap, err = overlapOf(t.OverlapPolicy)
	return p, err
}

// overlapOf reads SCHEDULE_OVERLAP_POLICY_BUFFER_ONE, and BufferOne as older versions write it.
func overlapOf(text string) (schedule.OverlapPolicy, error) {
	plain := func(text string) string { return strings.ToLower(strings.ReplaceAll(text, "_", "")) }
	word := strings.TrimPrefix(plain(text), "scheduleoverlappolicy")
	if word == "" || word == "unspecified" {
		return schedule.OverlapUnspecified, nil
	}
	for _, policy := range schedule.OverlapPolicies() {
		if plain(string(policy)) == word {
			return policy, nil
		}
	}
	return "", fmt.Errorf("policies.overlapPolicy: %q is not known", text)
}

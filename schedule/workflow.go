package schedule

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/internal/payload"
)

// ActionKind says what an action starts. The empty kind is ActionRun.
type ActionKind string

// The kinds of action.
const (
	// ActionRun starts a run on a worker of Carillon's own protocol.
	ActionRun ActionKind = "run"
	// ActionWorkflow starts an execution of a workflow on a worker that is made with an SDK of Temporal.
	ActionWorkflow ActionKind = "workflow"
)

// ActionKinds returns the kinds of action.
func ActionKinds() []ActionKind { return []ActionKind{ActionRun, ActionWorkflow} }

// IsWorkflow reports whether the action starts an execution of a workflow.
func (k ActionKind) IsWorkflow() bool { return k == ActionWorkflow }

// UserMetadata is text about a run of a workflow, for people. Both fields are payloads: see [Action].
type UserMetadata struct {
	// Summary is one line.
	Summary json.RawMessage `json:"summary,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
}

// The search attributes that the start of a workflow by a schedule sets.
const (
	AttributeScheduledBy        = "TemporalScheduledById"
	AttributeScheduledStartTime = "TemporalScheduledStartTime"
)

// validateContents checks the kind, and what a run is given.
func (a Action) validateContents() error {
	value, input := validateJSON, validateInput
	if a.Kind.IsWorkflow() {
		value, input = validatePayload, validateArguments
	}
	return cmp.Or(
		oneOf("kind", "a kind of action", a.Kind, ActionKinds()...),
		a.validateKind(),
		input("input", a.Input),
		validateMap("headers", a.Headers, validateHeader),
		validateMap("headerPayloads", a.HeaderPayloads, value),
		validateMap("memo", a.Memo, value),
		validateMap("searchAttributes", a.SearchAttributes, value),
		a.validateUserMetadata(),
	)
}

// validateKind checks that the action has nothing that its kind does not allow.
func (a Action) validateKind() error {
	if a.Kind.IsWorkflow() {
		return a.validateWorkflow()
	}
	switch {
	case len(a.HeaderPayloads) > 0:
		return Invalid("headerPayloads", "is for workflows: use headers, or the kind %q", ActionWorkflow)
	case a.FairnessKey != "" || a.FairnessWeight != 0:
		return Invalid("fairnessKey", "is for workflows: use the kind %q", ActionWorkflow)
	case a.UserMetadata != nil:
		return Invalid("userMetadata", "is for workflows: use memo, or the kind %q", ActionWorkflow)
	}
	return nil
}

func (a Action) validateWorkflow() error {
	switch {
	case a.HeartbeatTimeout != 0:
		return Invalid("heartbeatTimeout", "is not for workflows: their activities have heartbeats")
	}
	if err := a.validateFairness(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a.HeaderPayloads)) {
		if _, twice := a.Headers[name]; twice {
			return Invalid(jsontext.JoinKey("headerPayloads", name), "is in headers too: use one of the two")
		}
	}
	for _, name := range []string{AttributeScheduledBy, AttributeScheduledStartTime} {
		if _, taken := a.SearchAttributes[name]; taken {
			return Invalid(jsontext.JoinKey("searchAttributes", name), "is set by the schedule itself: use another name")
		}
	}
	return nil
}

// The bounds of what Temporal calls fairness.
const (
	maxFairnessKeyBytes = 64
	minFairnessWeight   = 0.001
	maxFairnessWeight   = 1000
)

func (a Action) validateFairness() error {
	if w := a.FairnessWeight; w != 0 && !(w >= minFairnessWeight && w <= maxFairnessWeight) {
		return Invalid("fairnessWeight", "%v is out of range: use %v to %v, or 0 for the default", w, minFairnessWeight, maxFairnessWeight)
	}
	return validateText("fairnessKey", a.FairnessKey, maxFairnessKeyBytes)
}

// validateArguments checks the input of a workflow: a list of payloads, or none.
func validateArguments(field string, input json.RawMessage) error {
	if err := validateInput(field, input); err != nil {
		return err
	}
	_, problem := payload.ParseList(input)
	return invalidPayload(field, problem)
}

// validatePayload checks one payload.
func validatePayload(field string, value json.RawMessage) error {
	if err := validateJSON(field, value); err != nil {
		return err
	}
	_, problem := payload.Parse(value)
	return invalidPayload(field, problem)
}

func invalidPayload(field string, problem *jsontext.Problem) error {
	if problem == nil {
		return nil
	}
	return Prefix(field, Invalid(problem.Path, "%s", problem.Message))
}

func (a Action) validateUserMetadata() error {
	if a.UserMetadata == nil {
		return nil
	}
	texts := map[string]json.RawMessage{"summary": a.UserMetadata.Summary, "details": a.UserMetadata.Details}
	maps.DeleteFunc(texts, func(_ string, text json.RawMessage) bool { return len(text) == 0 })
	return validateMap("userMetadata", texts, validatePayload)
}

// With returns the action as a trigger changes it. The error, about a field of the trigger, says what the action cannot be given: a workflow
// takes a list of arguments. With changes neither of the two.
func (a Action) With(t *Trigger) (Action, error) {
	if a.Kind.IsWorkflow() {
		err := cmp.Or(validateArguments("input", t.Input), validateMap("memo", t.Memo, validatePayload))
		if err != nil {
			return a, err
		}
	}
	if len(t.Input) > 0 {
		a.Input = t.Input
	}
	if len(a.HeaderPayloads) > 0 && len(t.Headers) > 0 {
		a.HeaderPayloads = maps.Clone(a.HeaderPayloads)
		maps.DeleteFunc(a.HeaderPayloads, func(name string, _ json.RawMessage) bool {
			_, replaced := t.Headers[name]
			return replaced
		})
	}
	a.Headers, a.Memo = merge(a.Headers, t.Headers), merge(a.Memo, t.Memo)
	return a, nil
}

// merge returns base with the entries of over, which replace entries of the same names. It changes neither map.
func merge[V any](base, over map[string]V) map[string]V {
	if len(over) == 0 {
		return base
	}
	merged := maps.Clone(base)
	if merged == nil {
		merged = map[string]V{}
	}
	maps.Copy(merged, over)
	return merged
}

package schedule

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
)

// Validate reports the first thing in a that can never work, as [Schedule.Validate] does, with a path relative to a.
func (a Action) Validate() error {
	return cmp.Or(
		validateNewID("type", a.Type),
		cmp.Or(validateOptionalID("workflowId", a.WorkflowID), validateVisible("workflowId", a.WorkflowID)),
		validateNewID("taskQueue", a.TaskQueue),
		a.validateContents(),
		notNegative("runTimeout", a.RunTimeout),
		notNegative("executionTimeout", a.ExecutionTimeout),
		notNegative("taskTimeout", a.TaskTimeout),
		a.validateHeartbeatTimeout(),
		a.validateRetryPolicy(),
		a.validatePriority(),
	)
}

func (a Action) validateHeartbeatTimeout() error {
	if a.HeartbeatTimeout == 0 || a.HeartbeatTimeout.Std() >= MinHeartbeatTimeout {
		return nil
	}
	return Invalid("heartbeatTimeout", "%s is too short: use %s or more, or 0 for none", a.HeartbeatTimeout, MinHeartbeatTimeout)
}

func (a Action) validateRetryPolicy() error {
	if a.RetryPolicy == nil {
		return nil
	}
	return Prefix("retryPolicy", a.RetryPolicy.Validate())
}

func (a Action) validatePriority() error {
	if a.Priority < 0 || a.Priority > MaxPriority {
		return Invalid("priority", "%d is out of range: use 1 (first) to %d, or 0 for the default", a.Priority, MaxPriority)
	}
	return nil
}

// Validate reports the first thing in p that can never work, as [Schedule.Validate] does, with a path relative to p.
func (p RetryPolicy) Validate() error {
	return cmp.Or(
		notNegative("initialInterval", p.InitialInterval),
		p.validateCoefficient(),
		notNegative("maximumInterval", p.MaximumInterval),
		p.validateIntervals(),
		notNegative("maximumAttempts", p.MaximumAttempts),
		validateEach("nonRetryableErrorTypes", p.NonRetryableErrorTypes, MaxErrorTypes, func(name string) error {
			return ValidateID("", name)
		}),
	)
}

// validateCoefficient also refuses NaN and the infinities, which Go and msgpack can write but JSON cannot.
func (p RetryPolicy) validateCoefficient() error {
	c := p.BackoffCoefficient
	if c == 0 || c >= 1 && !math.IsInf(c, 1) {
		return nil
	}
	return Invalid("backoffCoefficient", "%v is out of range: use a number from 1, or 0 for the default", c)
}

func (p RetryPolicy) validateIntervals() error {
	if p.MaximumInterval > 0 && p.MaximumInterval < p.InitialInterval {
		return Invalid("maximumInterval", "%s is less than initialInterval (%s): use that or more, or 0 for the default",
			p.MaximumInterval, p.InitialInterval)
	}
	return nil
}

// validateInput checks a payload: any JSON value, or none.
func validateInput(field string, input json.RawMessage) error {
	switch {
	case len(input) == 0:
		return nil
	case len(input) > MaxInputBytes:
		return Invalid(field, "is %d bytes long: at most %d (512 KiB) are accepted; store it elsewhere and pass a reference",
			len(input), MaxInputBytes)
	}
	return validateJSON(field, input)
}

// validateJSON checks raw JSON by the rules of DecodeJSON, so that a valid value can be printed and read again.
func validateJSON(field string, value json.RawMessage) error {
	if p := jsontext.Check(value, MaxInputDepth); p != nil {
		return Prefix(field, Invalid(p.Path, "%s", p.Message))
	}
	return nil
}

// validateMap checks headers, memo or search attributes: the number of entries, their total size, and then each name and value in the order
// of the names.
func validateMap[V ~string | ~[]byte](field string, entries map[string]V, check func(string, V) error) error {
	if len(entries) > MaxMapEntries {
		return Invalid(field, "has %d entries: at most %d are accepted", len(entries), MaxMapEntries)
	}
	size := 0
	for name, value := range entries {
		size += len(name) + len(value)
	}
	if size > MaxMapBytes {
		return Invalid(field, "is %d bytes long with its names: at most %d are accepted", size, MaxMapBytes)
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		path := jsontext.JoinKey(field, name)
		if err := cmp.Or(ValidateID(path, name), check(path, entries[name])); err != nil {
			return err
		}
	}
	return nil
}

func validateHeader(field, value string) error { return validateText(field, value, MaxMapBytes) }

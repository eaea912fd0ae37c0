package schedule

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/internal/suggest"
)

// Limits of a schedule besides those of its spec (docs/semantics.md §10). Sizes are in bytes.
const (
	// MaxIDBytes bounds schedule IDs, workflow IDs, task queues, types and request IDs.
	MaxIDBytes = 255
	// MaxNamespaceBytes bounds the name of a namespace.
	MaxNamespaceBytes = 63
	// MaxInputBytes bounds the input of an action, and the input of a trigger that replaces it.
	MaxInputBytes = 512 << 10
	// MaxInputDepth is how deep objects and lists may nest in an input, or in one value of memo or search attributes. The rest of
	// MaxTextDepth is for what surrounds them.
	MaxInputDepth = 100
	// MaxNoteBytes bounds every free text of a user: state notes, and the notes of pause, unpause and trigger.
	MaxNoteBytes = 4 << 10
	// MaxMapEntries and MaxMapBytes bound each of headers, memo and search attributes. The bytes count names and values together.
	MaxMapEntries = 100
	MaxMapBytes   = 32 << 10
	// MaxErrorTypes bounds the list of non-retryable error types.
	MaxErrorTypes = 100
	// MinHeartbeatTimeout is the shortest heartbeat timeout. If a worker dies, another one takes over its run within this time.
	MinHeartbeatTimeout = 10 * time.Second
	// MaxPriority is the last priority of an action; 1 is the first.
	MaxPriority = 5
)

// Validate reports the first thing in s that can never work, as an *Error with CodeInvalidArgument, the path of the field and the accepted
// values. It checks spec, action, policies, state and the rest in this order, so the same schedule always gives the same error. It is the only
// validation: the client, the command line and the frontend all call it.
//
// The zero Schedule is invalid: an action needs a type and a task queue.
func (s Schedule) Validate() error {
	return cmp.Or(
		Prefix("spec", s.Spec.Validate()),
		Prefix("action", s.Action.Validate()),
		Prefix("policies", s.Policies.Validate()),
		Prefix("state", s.State.Validate()),
		validateMap("memo", s.Memo, validatePayload),
		validateMap("searchAttributes", s.SearchAttributes, validatePayload),
	)
}

// Validate reports the first thing in p that can never work, as [Schedule.Validate] does, with a path relative to p.
func (p Policies) Validate() error {
	return cmp.Or(
		p.Overlap.validate("overlap"),
		notNegative("concurrencyLimit", p.ConcurrencyLimit),
		notNegative("catchupWindow", p.CatchupWindow),
		oneOf("catchupMode", "a catch-up mode", p.CatchupMode, CatchupModes()...),
		oneOf("lostRuns", "a policy for lost runs", p.LostRuns, LostRunPolicies()...),
	)
}

// Validate reports the first thing in s that can never work, as [Schedule.Validate] does, with a path relative to s.
func (s State) Validate() error {
	return cmp.Or(
		validateNote("notes", s.Notes),
		notNegative("remainingActions", s.RemainingActions),
	)
}

// Validate reports whether k can name a schedule: see [ValidateNamespace] and [ValidateID].
func (k Key) Validate() error {
	return cmp.Or(ValidateNamespace(k.Namespace), ValidateID("id", k.ID))
}

// ValidateNamespace checks the name of a namespace: 1 to 63 of a-z, 0-9 and "-". The error is about "namespace".
func ValidateNamespace(name string) error {
	valid := len(name) >= 1 && len(name) <= MaxNamespaceBytes
	for _, r := range name {
		valid = valid && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-')
	}
	if !valid {
		return Invalid("namespace", "%q is not a name: use 1 to %d of a-z, 0-9 and -", jsontext.Shorten(name), MaxNamespaceBytes)
	}
	return nil
}

// ValidateID checks the name of a schedule, workflow, task queue, type or request: 1 to 255 bytes of UTF-8 without control characters. The
// error is about field.
func ValidateID(field, value string) error {
	if value == "" {
		return Invalid(field, "is empty: use 1 to %d bytes of text", MaxIDBytes)
	}
	return validateOptionalID(field, value)
}

// validateOptionalID is ValidateID for names that may be absent.
func validateOptionalID(field, value string) error {
	if err := validateText(field, value, MaxIDBytes); err != nil {
		return err
	}
	for _, r := range value {
		if unicode.IsControl(r) {
			return Invalid(field, "contains the control character %U: use printable text", r)
		}
	}
	return nil
}

// validateNewID is ValidateID for the name of something new. Such a name must not contain invisible characters, which could make one name
// look like another. An existing name that contains some can still be read and deleted.
func validateNewID(field, value string) error {
	return cmp.Or(ValidateID(field, value), validateVisible(field, value))
}

// validateVisible refuses formatting characters, such as those that join, divide or reverse the text beside them.
func validateVisible(field, value string) error {
	for _, r := range value {
		if unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return Invalid(field, "contains %U, which cannot be seen: use printable text", r)
		}
	}
	return nil
}

// validateNote checks free text, which may have several lines.
func validateNote(field, text string) error { return validateText(field, text, MaxNoteBytes) }

func validateText(field, text string, limit int) error {
	switch {
	case len(text) > limit:
		return Invalid(field, "is %d bytes long: at most %d are accepted", len(text), limit)
	case !utf8.ValidString(text):
		return Invalid(field, "is not valid UTF-8")
	}
	return nil
}

// notNegative checks counts and durations for which zero means the default.
func notNegative[T int | Duration](field string, value T) error {
	if value < 0 {
		return Invalid(field, "%v is negative: use 0 or more", value)
	}
	return nil
}

// validate checks that p is unspecified or known.
func (p OverlapPolicy) validate(field string) error {
	return oneOf(field, "an overlap policy", p, OverlapPolicies()...)
}

// oneOf checks that value is empty or known; what describes the expected value. The error lists the known values, and suggests one that
// resembles value.
func oneOf[T ~string](field, what string, value T, known ...T) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	words := make([]string, len(known))
	for i := range known {
		words[i] = string(known[i])
	}
	return unknownValue(field, what, string(value), words)
}

// unknownValue is the error about an unknown value; what describes the expected value.
func unknownValue(path, what, value string, known []string) error {
	accepted := strings.Join(known, ", ")
	if meant := suggest.Nearest(value, known); meant != "" {
		return Invalid(path, "%q is not %s, did you mean %s? Use one of %s", jsontext.Shorten(value), what, meant, accepted)
	}
	return Invalid(path, "%q is not %s: use one of %s", jsontext.Shorten(value), what, accepted)
}

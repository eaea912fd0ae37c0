package schedule

import (
	"cmp"
	"time"
)

// Limits of requests.
const (
	// MaxPageSize bounds a page of a list (docs/semantics.md §10).
	MaxPageSize = 1000
	// MaxPageTokenBytes bounds a page token; the tokens that list issues are shorter.
	MaxPageTokenBytes = 1024
	// MaxQueryBytes bounds the query of a list.
	MaxQueryBytes = 8 << 10
)

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r CreateRequest) Validate() error {
	return cmp.Or(
		validateNewID("id", r.ID),
		r.Schedule.Validate(),
		validateRanges(r.Backfills),
		validateOptionalID("requestId", r.RequestID),
	)
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r UpdateRequest) Validate() error {
	return cmp.Or(
		ValidateID("id", r.ID),
		r.Schedule.Validate(),
		validateOptionalID("requestId", r.RequestID),
	)
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r PatchRequest) Validate() error {
	return cmp.Or(
		ValidateID("id", r.ID),
		r.validateSwitch(),
		validateIf("trigger", r.Trigger),
		validateRanges(r.Backfills),
		validateIf("unskip", r.Unskip),
		validateIf("skip", r.Skip),
		validateOptionalID("requestId", r.RequestID),
		r.validateNotEmpty(),
	)
}

func (r PatchRequest) validateSwitch() error {
	if r.Pause != nil && r.Unpause != nil {
		return Invalid("unpause", "does not go together with pause: use one of them")
	}
	return cmp.Or(validateIf("pause", r.Pause), validateIf("unpause", r.Unpause))
}

func (r PatchRequest) validateNotEmpty() error {
	if r.Pause == nil && r.Unpause == nil && r.Trigger == nil && len(r.Backfills) == 0 && r.Skip == nil && r.Unskip == nil {
		return Invalid("", "nothing to do: use pause, unpause, trigger, backfills, skip or unskip")
	}
	return nil
}

// validateIf validates a part of a request, if it is there.
func validateIf[T interface{ Validate() error }](field string, part *T) error {
	if part == nil {
		return nil
	}
	return Prefix(field, (*part).Validate())
}

func validateRanges(ranges []BackfillRange) error {
	return validateEach("backfills", ranges, MaxBackfills, BackfillRange.Validate)
}

// Validate reports the first thing in n that can never work, as [Schedule.Validate] does, with a path relative to n.
func (n Note) Validate() error { return validateNote("note", n.Note) }

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r IDRequest) Validate() error { return ValidateID("id", r.ID) }

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r DeleteRequest) Validate() error {
	return cmp.Or(ValidateID("id", r.ID), validateRuns(r.Runs, RunsPolicies()...), validateOptionalID("requestId", r.RequestID))
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r NoteRequest) Validate() error {
	return cmp.Or(ValidateID("id", r.ID), validateNote("note", r.Note), validateOptionalID("requestId", r.RequestID))
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does. It does not check that the spec gives the times;
// the frontend does.
func (r SkipRequest) Validate() error {
	return cmp.Or(ValidateID("id", r.ID), r.Skip.Validate(), validateOptionalID("requestId", r.RequestID))
}

// Validate reports the first thing in s that can never work, as [Schedule.Validate] does, with a path relative to s.
func (s Skip) Validate() error {
	switch {
	case s.Count != 0 && len(s.Times) > 0:
		return Invalid("times", "does not go together with count: use one of them")
	case len(s.Times) > 0:
		return cmp.Or(validateTimes("times", s.Times), validateNote("note", s.Note))
	case s.Count < 1 || s.Count > MaxSkips:
		return Invalid("count", "%d is out of range: use 1 to %d, or times instead", s.Count, MaxSkips)
	}
	return validateNote("note", s.Note)
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r UnskipRequest) Validate() error {
	return cmp.Or(ValidateID("id", r.ID), r.Unskip.Validate(), validateOptionalID("requestId", r.RequestID))
}

// Validate reports the first thing in u that can never work, as [Schedule.Validate] does, with a path relative to u.
func (u Unskip) Validate() error { return validateTimes("times", u.Times) }

func validateTimes(field string, times []time.Time) error {
	return validateEach(field, times, MaxSkips, func(t time.Time) error {
		if t.IsZero() {
			return Invalid("", "is missing: use a time in RFC 3339")
		}
		return nil
	})
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r BackfillRequest) Validate() error {
	return cmp.Or(ValidateID("id", r.ID), r.BackfillRange.Validate(), validateOptionalID("requestId", r.RequestID))
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r CancelBackfillRequest) Validate() error {
	return cmp.Or(
		ValidateID("id", r.ID), ValidateID("backfillId", r.BackfillID), validateOptionalID("requestId", r.RequestID),
	)
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r CountRequest) Validate() error {
	return cmp.Or(validateOptionalID("prefix", r.Prefix), validateText("query", r.Query, MaxQueryBytes))
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r MatchingTimesRequest) Validate() error {
	return cmp.Or(ValidateID("id", r.ID), validateSpan("from", r.From, "to", r.To))
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r PreviewRequest) Validate() error {
	return cmp.Or(
		Prefix("spec", r.Spec.Validate()),
		validateOptionalID("id", r.ID),
		validatePageSize("count", r.Count),
	)
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r HistoryRequest) Validate() error {
	if r.Newest && r.PageToken != "" {
		return Invalid("pageToken", "does not go together with newest: use one of them")
	}
	return cmp.Or(
		validateOptionalID("id", r.ID),
		validateEach("kinds", r.Kinds, len(EventKinds()), func(kind EventKind) error {
			return oneOf("", "a kind of event", kind, EventKinds()...)
		}),
		validatePageSize("pageSize", r.PageSize),
		validateText("pageToken", r.PageToken, MaxPageTokenBytes),
	)
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r RunsRequest) Validate() error {
	return cmp.Or(
		validateOptionalID("id", r.ID),
		oneOf("status", "a status", r.Status, append([]Status{StatusRunning}, Statuses()...)...),
		validatePageSize("pageSize", r.PageSize),
		validateText("pageToken", r.PageToken, MaxPageTokenBytes),
	)
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r RunRequest) Validate() error {
	return cmp.Or(ValidateID("id", r.ID), validateRequiredText("run", r.Run))
}

// validateRequiredText checks text that may be a workflow ID with a time appended, which is longer than an ID.
func validateRequiredText(field, value string) error {
	if value == "" {
		return Invalid(field, "is missing")
	}
	return validateText(field, value, 2*MaxIDBytes)
}

func validatePageSize(field string, size int) error {
	if size < 0 || size > MaxPageSize {
		return Invalid(field, "%d is out of range: use 1 to %d, or 0 for the default", size, MaxPageSize)
	}
	return nil
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r TriggerRequest) Validate() error {
	return cmp.Or(
		ValidateID("id", r.ID),
		r.Trigger.Validate(),
		validateOptionalID("requestId", r.RequestID),
	)
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does. It does not check that list issued the page
// token; list does.
func (r ListRequest) Validate() error {
	return cmp.Or(
		validatePageSize("pageSize", r.PageSize),
		validateText("pageToken", r.PageToken, MaxPageTokenBytes),
		validateOptionalID("prefix", r.Prefix),
		validateText("query", r.Query, MaxQueryBytes),
	)
}

// Validate reports the first thing in t that can never work, as [Schedule.Validate] does, with a path relative to t.
func (t Trigger) Validate() error {
	return cmp.Or(
		t.Overlap.validate("overlap"),
		validateNote("note", t.Note),
		validateInput("input", t.Input),
		validateMap("headers", t.Headers, validateHeader),
		validateMap("memo", t.Memo, validateJSON),
		validateNominal(t.NominalTime),
	)
}

// validateNominal refuses fractions of a second, which no time of a spec has.
func validateNominal(at time.Time) error {
	if at.Nanosecond() != 0 {
		return Invalid("nominalTime", "has fractions of a second: use whole seconds")
	}
	return nil
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does, with a path relative to r. Both ends are
// required. They may be equal, since both belong to the range.
func (r BackfillRange) Validate() error {
	return cmp.Or(
		validateSpan("start", r.Start, "end", r.End),
		r.Overlap.validate("overlap"),
		validateNote("note", r.Note),
	)
}

// validateSpan checks two times that are both required. They may be equal, since both belong to the range.
func validateSpan(first string, from time.Time, last string, to time.Time) error {
	switch {
	case from.IsZero():
		return Invalid(first, "is missing: use a time in RFC 3339")
	case to.IsZero():
		return Invalid(last, "is missing: use a time in RFC 3339")
	case to.Before(from):
		return Invalid(last, "lies before %s: use a time from %s on", first, first)
	}
	return nil
}

// MaxSkips is how many nominal times of a schedule may be marked to be skipped.
const MaxSkips = 1000

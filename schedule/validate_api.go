package schedule

import "cmp"

// Limits of requests.
const (
	// MaxPageSize bounds a page of a list (SEMANTICS §10).
	MaxPageSize = 1000
	// MaxPageTokenBytes bounds a page token; those that list hands out are shorter.
	MaxPageTokenBytes = 1024
)

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r CreateRequest) Validate() error {
	return cmp.Or(
		ValidateID("id", r.ID),
		r.Schedule.Validate(),
		validateOptionalID("requestId", r.RequestID),
	)
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r IDRequest) Validate() error { return ValidateID("id", r.ID) }

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r NoteRequest) Validate() error {
	return cmp.Or(ValidateID("id", r.ID), validateNote("note", r.Note))
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r TriggerRequest) Validate() error {
	return cmp.Or(
		ValidateID("id", r.ID),
		r.Trigger.Validate(),
		validateOptionalID("requestId", r.RequestID),
	)
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does. Whether the page token is one
// that list has handed out is for list to find out.
func (r ListRequest) Validate() error {
	if r.PageSize < 0 || r.PageSize > MaxPageSize {
		return Invalid("pageSize", "%d is out of range: use 1 to %d, or 0 for the default", r.PageSize, MaxPageSize)
	}
	return cmp.Or(
		validateText("pageToken", r.PageToken, MaxPageTokenBytes),
		validateOptionalID("prefix", r.Prefix),
	)
}

// Validate reports the first thing in t that can never work, as [Schedule.Validate] does, with a path relative to t.
func (t Trigger) Validate() error {
	return cmp.Or(t.Overlap.validate("overlap"), validateNote("note", t.Note))
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does, with a path relative to r. Both
// ends are required; they may be equal, since both belong to the range.
func (r BackfillRange) Validate() error {
	switch {
	case r.Start.IsZero():
		return Invalid("start", "is missing: use a time in RFC 3339")
	case r.End.IsZero():
		return Invalid("end", "is missing: use a time in RFC 3339")
	case r.End.Before(r.Start):
		return Invalid("end", "lies before start: use a time from start on")
	}
	return r.Overlap.validate("overlap")
}

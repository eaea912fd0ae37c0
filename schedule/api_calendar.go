package schedule

import (
	"cmp"
	"time"
)

// CreateCalendarRequest creates a named calendar. Its reply is a CalendarDescription.
type CreateCalendarRequest struct {
	// NamedCalendar is inlined: name, dates, windows.
	NamedCalendar
	// RequestID makes the request idempotent: a repeat with the same ID answers as the first did.
	RequestID string `json:"requestId,omitempty"`
}

// UpdateCalendarRequest replaces the dates and windows of a named calendar. Its reply is a CalendarDescription. The schedules that use the
// calendar adopt the change a little later; [CalendarInfo.Replan] shows the progress.
type UpdateCalendarRequest struct {
	// NamedCalendar is inlined, as in CreateCalendarRequest.
	NamedCalendar
	// ConflictToken is the token of the CalendarDescription that the caller has read. If the calendar has changed since, the request is
	// refused with CodeFailedPrecondition. Zero replaces any version.
	ConflictToken uint64 `json:"conflictToken,omitempty"`
	// RequestID makes the request idempotent.
	RequestID string `json:"requestId,omitempty"`
}

// DeleteCalendarRequest deletes a named calendar that no schedule uses.
type DeleteCalendarRequest struct {
	Name string `json:"name"`
	// ConflictToken is as in UpdateCalendarRequest.
	ConflictToken uint64 `json:"conflictToken,omitempty"`
	// RequestID makes the request idempotent for an hour.
	RequestID string `json:"requestId,omitempty"`
}

// CalendarRequest names a calendar: the request of describe.
type CalendarRequest struct {
	Name string `json:"name"`
}

// CalendarDescription is a named calendar and its history.
type CalendarDescription struct {
	Namespace string `json:"namespace"`
	// NamedCalendar is inlined: name, dates, windows.
	NamedCalendar
	Info CalendarInfo `json:"info"`
	// ConflictToken names this version of the calendar.
	ConflictToken uint64 `json:"conflictToken"`
}

// CalendarInfo is what is known about a calendar besides its contents.
type CalendarInfo struct {
	CreateTime time.Time `json:"createTime"`
	UpdateTime time.Time `json:"updateTime,omitzero"`
	// Identity is who created or last updated the calendar, as far as that is known.
	Identity string `json:"identity,omitempty"`
	// Replan is the progress of the newest version among the schedules that use the calendar. It is kept for some days.
	Replan *Replan `json:"replan,omitempty"`
}

// Replan says how many of the schedules that use a calendar have adopted its change.
type Replan struct {
	// Done says that all schedules use the newest version. Until then, Carillon still looks for schedules that were written at the same
	// moment as the calendar.
	Done bool `json:"done"`
	// Replanned counts the schedules that were brought up to date. Failed counts those that cannot be; Failures gives the reasons of some
	// of them.
	Replanned int             `json:"replanned"`
	Failed    int             `json:"failed,omitempty"`
	Failures  []ReplanFailure `json:"failures,omitempty"`
	// StartTime is when the calendar was changed, EndTime when Done became true.
	StartTime time.Time `json:"startTime"`
	EndTime   time.Time `json:"endTime,omitzero"`
}

// ReplanFailure is a schedule that could not be brought up to date, and why.
type ReplanFailure struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// CalendarSummary is a named calendar in a list.
type CalendarSummary struct {
	Name string `json:"name"`
	// Dates and Windows count the entries.
	Dates         int       `json:"dates"`
	Windows       int       `json:"windows"`
	CreateTime    time.Time `json:"createTime"`
	UpdateTime    time.Time `json:"updateTime,omitzero"`
	ConflictToken uint64    `json:"conflictToken"`
}

// ListCalendarsReply is one page, ordered by name. Its request is a ListRequest.
type ListCalendarsReply struct {
	Calendars []CalendarSummary `json:"calendars"`
	// NextPageToken is empty on the last page.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// CalendarUse is the version of a named calendar that a schedule uses.
type CalendarUse struct {
	Name string `json:"name"`
	// ConflictToken names that version of the calendar.
	ConflictToken uint64 `json:"conflictToken"`
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r CreateCalendarRequest) Validate() error {
	return cmp.Or(validateNewID("name", r.Name), r.NamedCalendar.Validate(), validateOptionalID("requestId", r.RequestID))
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r UpdateCalendarRequest) Validate() error {
	return cmp.Or(r.NamedCalendar.Validate(), validateOptionalID("requestId", r.RequestID))
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r DeleteCalendarRequest) Validate() error {
	return cmp.Or(ValidateID("name", r.Name), validateOptionalID("requestId", r.RequestID))
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r CalendarRequest) Validate() error { return ValidateID("name", r.Name) }

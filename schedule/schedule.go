package schedule

import (
	"encoding/json"
	"time"
)

// Schedule is what a user creates. It says when something is due, what is started then, under which policies, and whether the schedule is
// active (docs/semantics.md §1). It is a plain value. Only the type and the task queue of its action are required; a schedule with an empty
// spec is never due.
type Schedule struct {
	Spec     Spec     `json:"spec"`
	Action   Action   `json:"action"`
	Policies Policies `json:"policies"`
	State    State    `json:"state"`
	// Memo and SearchAttributes belong to the schedule itself; its runs are not given them. Their values are payloads, whatever the kind of
	// the action: see [Action].
	Memo             map[string]json.RawMessage `json:"memo,omitempty"`
	SearchAttributes map[string]json.RawMessage `json:"searchAttributes,omitempty"`
}

// Spec says when a schedule is due (docs/semantics.md §2). It is the union of its calendars, structured calendars, intervals, cron
// expressions and one-off times, between StartTime and EndTime (both inclusive). Seconds that an exclude calendar matches, that lie on an
// excluded date or in a blackout are removed. The resolution is one second. A Spec without any times is never due; such a schedule runs
// only when triggered. Each list holds at most [MaxSpecEntries] entries.
type Spec struct {
	Calendars           []Calendar           `json:"calendars,omitempty"`
	StructuredCalendars []StructuredCalendar `json:"structuredCalendars,omitempty"`
	Intervals           []Interval           `json:"intervals,omitempty"`
	// Cron holds crontab(5) expressions of 5 (minute hour day-of-month month day-of-week), 6 (5 + year) or 7 (second + 5 + year) fields,
	// the usual @daily forms, and "@every 90s[/phase]". A CRON_TZ= or TZ= prefix sets the zone; all expressions of a spec must name the
	// same zone.
	Cron []string `json:"cron,omitempty"`
	// At holds one-off times. Fractions of a second are an error.
	At                         []time.Time          `json:"at,omitempty"`
	ExcludeCalendars           []Calendar           `json:"excludeCalendars,omitempty"`
	ExcludeStructuredCalendars []StructuredCalendar `json:"excludeStructuredCalendars,omitempty"`
	// ExcludeDates holds whole local days, in the zone of the spec, on which nothing is due, not even one-off times and intervals.
	ExcludeDates []DateRange `json:"excludeDates,omitempty"`
	// Blackouts holds spans of time in which nothing is due, such as maintenance windows.
	Blackouts []Blackout `json:"blackouts,omitempty"`
	// ExcludeCalendarsNamed names calendars of the namespace; their dates and windows are excluded as well. See [NamedCalendar].
	ExcludeCalendarsNamed []string `json:"excludeCalendarsNamed,omitempty"`
	// StartTime and EndTime bound the nominal times, both inclusive. The zero time means no bound.
	StartTime time.Time `json:"startTime,omitzero"`
	EndTime   time.Time `json:"endTime,omitzero"`
	// Jitter delays each time by a deterministic amount in [0, Jitter), never past the following time. Its resolution is milliseconds;
	// smaller parts are ignored. Negative values are an error.
	Jitter Duration `json:"jitter,omitempty"`
	// TimeZone is an IANA name such as "Europe/Berlin" for calendars and cron expressions. Empty means UTC, or the
	// zone of the cron expressions.
	TimeZone string `json:"timeZone,omitempty"`
	// TimeZoneData is the compiled time zone file (RFC 9636) to use instead of the embedded database.
	TimeZoneData []byte `json:"timeZoneData,omitempty"`
	// DST says what becomes of calendar and cron times in skipped and repeated hours. Zero: a skipped time never comes, a repeated time
	// comes twice.
	DST DST `json:"dst,omitzero"`
}

// Calendar is the string form of a calendar. Each field takes "*", "x", "x-z", "x-z/y", "x/y" (from x to the maximum), "*/y" and
// comma-separated lists of those. Months may be names of three or more letters, days of the week names of two or more, in any case; Sunday
// is 0 or 7. Empty second, minute and hour mean "0"; the other fields mean "*" when empty.
//
// DayOfMonth also takes "L" (the last day of the month), "L-3" (three days before it), "15W" (the day from Monday to Friday that is nearest
// to the 15th, within the month) and "LW" (the last day from Monday to Friday). DayOfWeek also takes "fri#2" or "5#2" (the second Friday of
// the month) and "friL" or "5L" (the last Friday). All of them may stand in lists, with letters in any case. See [StructuredCalendar] for
// their exact meaning.
type Calendar struct {
	Second     CalendarField `json:"second,omitempty"`
	Minute     CalendarField `json:"minute,omitempty"`
	Hour       CalendarField `json:"hour,omitempty"`
	DayOfMonth CalendarField `json:"dayOfMonth,omitempty"`
	Month      CalendarField `json:"month,omitempty"`
	Year       CalendarField `json:"year,omitempty"`
	DayOfWeek  CalendarField `json:"dayOfWeek,omitempty"`
	// Comment is free text of at most 200 bytes.
	Comment string `json:"comment,omitempty"`
}

// StructuredCalendar matches every second whose local time, in the zone of the spec, lies in a range of each field. An empty Year matches
// every year; any other empty field matches nothing.
//
// The day of month is one field in four parts: a day matches if it is in DayOfMonth, LastDayOfMonth or NearestWeekday, or if it is the day
// of LastWeekday. The day of week is one field in three parts: DayOfWeek, NthDayOfWeek and LastDayOfWeek. An empty part adds nothing. A day
// must match both fields.
type StructuredCalendar struct {
	Second     []Range `json:"second,omitempty"`
	Minute     []Range `json:"minute,omitempty"`
	Hour       []Range `json:"hour,omitempty"`
	DayOfMonth []Range `json:"dayOfMonth,omitempty"`
	// LastDayOfMonth counts days back from the end of the month: 0 is the last day ("L"), 3 is three days before it ("L-3"). The values are
	// 0 to 30; a month that is too short has no such day.
	LastDayOfMonth []Range `json:"lastDayOfMonth,omitempty"`
	// NearestWeekday holds days of the month, 1 to 31. Each stands for the nearest day from Monday to Friday within its month ("15W"). For
	// a Saturday, that is the Friday before; if the Saturday is the 1st, the Monday after. For a Sunday, that is the Monday after; if the
	// Sunday is the last day of the month, the Friday before. A month that is too short has no such day.
	NearestWeekday []Range `json:"nearestWeekday,omitempty"`
	// LastWeekday stands for the last day from Monday to Friday of the month ("LW").
	LastWeekday bool    `json:"lastWeekday,omitempty"`
	Month       []Range `json:"month,omitempty"`
	Year        []Range `json:"year,omitempty"`
	DayOfWeek   []Range `json:"dayOfWeek,omitempty"`
	// NthDayOfWeek stands for days such as the second Friday of the month ("fri#2").
	NthDayOfWeek []NthDayOfWeek `json:"nthDayOfWeek,omitempty"`
	// LastDayOfWeek holds days of the week, 0 to 6. Each stands for the last such day of the month ("friL").
	LastDayOfWeek []Range `json:"lastDayOfWeek,omitempty"`
	Comment       string  `json:"comment,omitempty"`
}

// NthDayOfWeek is the Nth DayOfWeek of a month. Nth is 1 to 5, DayOfWeek is 0 (Sunday) to 6. A month without a fifth one has no such day.
type NthDayOfWeek struct {
	DayOfWeek int `json:"dayOfWeek"`
	Nth       int `json:"nth"`
}

// Range is start, start+step, … up to and including End. An End below Start means End = Start; a Step of 0 means 1.
type Range struct {
	Start int `json:"start"`
	End   int `json:"end,omitempty"`
	Step  int `json:"step,omitempty"`
}

// Interval is due at every instant t for which (t − Phase) is a multiple of Every, counted from the Unix epoch. Every is at least 1s and 0
// ≤ Phase < Every, both in whole seconds. Time zones do not affect it.
type Interval struct {
	Every Duration `json:"every"`
	Phase Duration `json:"phase,omitempty"`
}

// Action is what a schedule starts. One execution of it is a run.
//
// A workflow gets its arguments, memo, search attributes and other values as payloads of Temporal. In an Action, any JSON value is such a
// payload. An object with exactly "metadata" and "data" stands for a payload of another encoding; the values in metadata, and data, are
// base64.
type Action struct {
	// Kind says what is started. Zero means ActionRun.
	Kind ActionKind `json:"kind,omitempty"`
	// Type names the handler, or the workflow, that a worker registered. Required.
	Type string `json:"type"`
	// WorkflowID is the base of the workflow IDs; empty means the schedule ID. The nominal time is appended unless
	// Policies.KeepOriginalWorkflowID is set.
	WorkflowID string `json:"workflowId,omitempty"`
	// TaskQueue is where workers wait for the run. Required.
	TaskQueue string `json:"taskQueue"`
	// Input is any JSON value of at most 512 KiB. The worker gets it unchanged. For a workflow, it is the list of the arguments.
	Input json.RawMessage `json:"input,omitempty"`
	// Headers are texts. A workflow gets each as a payload; HeaderPayloads are its other headers.
	Headers          map[string]string          `json:"headers,omitempty"`
	HeaderPayloads   map[string]json.RawMessage `json:"headerPayloads,omitempty"`
	Memo             map[string]json.RawMessage `json:"memo,omitempty"`
	SearchAttributes map[string]json.RawMessage `json:"searchAttributes,omitempty"`
	// UserMetadata is for workflows alone.
	UserMetadata *UserMetadata `json:"userMetadata,omitempty"`
	// RunTimeout ends a run as timed out if it has not completed within this time after its start. Zero means no limit.
	RunTimeout Duration `json:"runTimeout,omitempty"`
	// ExecutionTimeout bounds the run with all its retries. Zero means no limit.
	ExecutionTimeout Duration `json:"executionTimeout,omitempty"`
	// TaskTimeout bounds one attempt of a worker. Zero means no limit. For a workflow, it bounds one workflow task; zero means 10s.
	TaskTimeout Duration `json:"taskTimeout,omitempty"`
	// HeartbeatTimeout ends an attempt whose code shows no sign of life for this long. It is at least [MinHeartbeatTimeout]. With zero, it
	// is enough that the worker's process is alive. Workflows have none.
	HeartbeatTimeout Duration `json:"heartbeatTimeout,omitempty"`
	// RetryPolicy is for the attempts of a run, or for the runs of a workflow.
	RetryPolicy *RetryPolicy `json:"retryPolicy,omitempty"`
	// Priority orders runs of one task queue, 1 (first) to 5; 0 means 3.
	Priority int `json:"priority,omitempty"`
	// FairnessKey and FairnessWeight are part of the priority of a workflow: kept with it, and shown to its code. They order nothing.
	FairnessKey    string  `json:"fairnessKey,omitempty"`
	FairnessWeight float64 `json:"fairnessWeight,omitempty"`
}

// RetryPolicy says how often, and with which waits, a worker attempts a run whose handler returned an error.
type RetryPolicy struct {
	// InitialInterval is the wait before the second attempt. Zero means 1s.
	InitialInterval Duration `json:"initialInterval,omitempty"`
	// BackoffCoefficient multiplies the wait after each attempt. Zero means 2; values below 1 are an error.
	BackoffCoefficient float64 `json:"backoffCoefficient,omitempty"`
	// MaximumInterval caps the wait. Zero means 100 times InitialInterval.
	MaximumInterval Duration `json:"maximumInterval,omitempty"`
	// MaximumAttempts bounds the attempts, the first included. Zero means no bound.
	MaximumAttempts int `json:"maximumAttempts,omitempty"`
	// NonRetryableErrorTypes names the error types that end the run at once.
	NonRetryableErrorTypes []string `json:"nonRetryableErrorTypes,omitempty"`
}

// Policies say how a schedule treats runs that collide, come late or fail.
type Policies struct {
	Overlap OverlapPolicy `json:"overlap,omitempty"`
	// ConcurrencyLimit is how many runs may be in progress before the overlap policy applies. Zero means 1. OverlapAllowAll ignores it.
	ConcurrencyLimit int `json:"concurrencyLimit,omitempty"`
	// CatchupWindow is how late an action may start. Zero means 365 days; values below 10 s are raised to 10 s.
	CatchupWindow Duration `json:"catchupWindow,omitempty"`
	// CatchupMode says which of several late times are made up for. Zero means CatchupAll.
	CatchupMode CatchupMode `json:"catchupMode,omitempty"`
	// PauseOnFailure pauses the schedule when a run fails or times out.
	PauseOnFailure bool `json:"pauseOnFailure,omitempty"`
	// LostRuns says what becomes of a lost run. Zero means LostRunFail.
	LostRuns LostRunPolicy `json:"lostRuns,omitempty"`
	// KeepOriginalWorkflowID uses Action.WorkflowID as it is instead of appending the nominal time.
	KeepOriginalWorkflowID bool `json:"keepOriginalWorkflowId,omitempty"`
}

// State is the part of a schedule that people switch.
type State struct {
	// Notes is free text: why the schedule is paused, or what it is for.
	Notes  string `json:"notes,omitempty"`
	Paused bool   `json:"paused,omitempty"`
	// LimitedActions bounds the automated actions to RemainingActions. After those, only manual requests run.
	LimitedActions   bool `json:"limitedActions,omitempty"`
	RemainingActions int  `json:"remainingActions,omitempty"`
}

// OverlapPolicy says what happens to a start that is due while earlier runs are in progress (docs/semantics.md §5). On a schedule, the
// empty policy means OverlapSkip; on a start, it means the schedule's policy.
type OverlapPolicy string

// The overlap policies.
const (
	OverlapUnspecified OverlapPolicy = ""
	// OverlapSkip drops the start and counts it as skipped.
	OverlapSkip OverlapPolicy = "skip"
	// OverlapBufferOne keeps one start waiting and drops the others.
	OverlapBufferOne OverlapPolicy = "buffer_one"
	// OverlapBufferAll keeps every start waiting, in order.
	OverlapBufferAll OverlapPolicy = "buffer_all"
	// OverlapCancelOther asks the run in progress to cancel, and starts when that run has ended.
	OverlapCancelOther OverlapPolicy = "cancel_other"
	// OverlapTerminateOther terminates the run in progress, and starts.
	OverlapTerminateOther OverlapPolicy = "terminate_other"
	// OverlapAllowAll starts at once, whatever else runs.
	OverlapAllowAll OverlapPolicy = "allow_all"
)

// OverlapPolicies returns the policies a user can choose, in the order of docs/semantics.md §5.
func OverlapPolicies() []OverlapPolicy {
	return []OverlapPolicy{
		OverlapSkip, OverlapBufferOne, OverlapBufferAll, OverlapCancelOther, OverlapTerminateOther, OverlapAllowAll,
	}
}

// Or returns p, or fallback if p is unspecified.
func (p OverlapPolicy) Or(fallback OverlapPolicy) OverlapPolicy {
	if p == OverlapUnspecified {
		return fallback
	}
	return p
}

// Key names one schedule in a cluster. An earlier schedule of the same name has the same key; the incarnation in the records tells them
// apart.
type Key struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
}

// String returns "namespace/id", for logs and messages.
func (k Key) String() string { return k.Namespace + "/" + k.ID }

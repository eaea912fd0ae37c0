package wire

import (
	"encoding/json"
	"time"

	"github.com/carillon-scheduler/carillon/internal/zonedata"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Definition is the stored schedule, the record that the API writes. The frontend owns it. The invoker also writes it to pause on failure,
// and the generator to close the schedule.
type Definition struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
	// Incarnation is a UUID made at creation. It distinguishes this schedule from an earlier one of the same ID: records and messages with
	// another incarnation belong to a deleted schedule.
	Incarnation string `json:"incarnation"`
	// Version counts the writes of this definition from 1. It is the conflict token of the API.
	Version uint64 `json:"version"`
	// LimitVersion is the version that last set State.RemainingActions; what has been used since is in the invoker's
	// record.
	LimitVersion uint64            `json:"limitVersion"`
	Schedule     schedule.Schedule `json:"schedule"`
	// RequestID is the idempotency key of the create request.
	RequestID  string    `json:"requestId,omitempty"`
	CreateTime time.Time `json:"createTime"`
	// ActiveSince is when the schedule was last unpaused: what was due while it was paused stays undone. Zero means never.
	ActiveSince time.Time `json:"activeSince,omitzero"`
	// Calendars are the named calendars of the spec, by name, as they were when this version was written. They are part of the definition
	// so that it contains everything needed to compute times. When a calendar changes, the frontend updates them. CalendarsVersion is the
	// version that last did so, ReplanTime the time of that; both are zero if none has. ReplanFrom is for a generator that has not seen the
	// version before: the times of this version count from then on. It is just before the first time that was due by then according to this
	// version, else ReplanTime.
	Calendars        map[string]CalendarCopy `json:"calendars,omitempty"`
	CalendarsVersion uint64                  `json:"calendarsVersion,omitempty"`
	ReplanTime       time.Time               `json:"replanTime,omitzero"`
	ReplanFrom       time.Time               `json:"replanFrom,omitzero"`
	// UpdateTime is when spec, action, policies or state were last replaced; times of the spec before it are dropped.
	// Zero means never updated. Pausing and unpausing do not move it.
	UpdateTime time.Time `json:"updateTime,omitzero"`
	// PausedBy and PauseTime say who last paused the schedule, and when. They have a meaning only while it is paused.
	PausedBy  string    `json:"pausedBy,omitempty"`
	PauseTime time.Time `json:"pauseTime,omitzero"`
	// Skips are the nominal times that a person asked to skip, in order, at most [schedule.MaxSkips]. They stay until the generator's mark
	// has passed them and the frontend writes the definition again.
	Skips []time.Time `json:"skips,omitempty"`
	// Requests are the triggers and backfills that a patch asks for together with other changes. The generator makes a record of each when
	// it sees the version that brought it. They stay until the frontend then writes the definition again.
	Requests []BackfillState `json:"requests,omitempty"`
	// Events are the events of changes that the generator may not have seen yet. Frontend and generator both store them, because the
	// frontend may die before. They stay until the frontend then writes the definition again.
	Events []DefinitionEvent `json:"events,omitempty"`
	// Predecessor is the deletion of the previous schedule of this ID, if it was remembered when this one was created. Because of it, a
	// repeat of that deletion does not delete this schedule.
	Predecessor *Deletion `json:"predecessor,omitempty"`
	// PredecessorClosed is the incarnation of the previous schedule of this ID, if that was closed for being idle and this was remembered
	// when this one was created. A generator uses it to store the event of the closing in place of one that has died.
	PredecessorClosed string `json:"predecessorClosed,omitempty"`
	// Closing says that a generator has found nothing to do for the idle time, and is about to look once more and close the schedule. It is
	// no change of the definition: the version stays. Whoever stores a request beside the definition resets it; then the schedule is not
	// closed.
	Closing bool `json:"closing,omitempty"`
	// Applied are the newest requests that changed the definition, at most [MaxApplied], oldest first. A repeat of one of them is answered
	// and changes nothing.
	Applied []AppliedRequest `json:"applied,omitempty"`
}

// Deletion says which schedule of an ID was deleted, by which request, and what becomes of its runs.
type Deletion struct {
	// Incarnation is that of the schedule. It is empty if an earlier release has noted only Runs.
	Incarnation string `json:"incarnation"`
	// RequestID is the idempotency key of the request. It may be empty.
	RequestID string `json:"requestId"`
	// Runs says what becomes of the runs. It may be empty.
	Runs schedule.RunsPolicy `json:"runs,omitempty"`
}

// RunsOf returns what becomes of the runs of an incarnation. It is empty if the deletion does not say, or is none, or is that of another one.
func (d *Deletion) RunsOf(incarnation string) schedule.RunsPolicy {
	if d == nil || d.Incarnation != "" && d.Incarnation != incarnation {
		return ""
	}
	return d.Runs
}

// Carried returns what the deletion still says after another schedule of the ID has come and gone. What an earlier release noted about the runs
// of a schedule that it did not name would be taken for that of the later one. Carried returns nil if nothing is left.
func (d *Deletion) Carried() *Deletion {
	switch {
	case d == nil || d.Incarnation != "":
		return d
	case d.RequestID == "":
		return nil
	}
	return &Deletion{RequestID: d.RequestID}
}

// By reports whether a request made the deletion. The request may have no ID, and there may be no deletion.
func (d *Deletion) By(requestID string) bool {
	return d != nil && requestID != "" && d.RequestID == requestID
}

// DefinitionEvent is the event of a change of a definition, with the version that the change made.
type DefinitionEvent struct {
	Version uint64         `json:"version"`
	Event   schedule.Event `json:"event"`
}

// MaxApplied bounds the list Applied of a [Definition].
const MaxApplied = 16

// AppliedRequest is a request of the API that has changed a definition.
type AppliedRequest struct {
	RequestID string `json:"requestId"`
	// Version is the version it made.
	Version uint64 `json:"version"`
}

// Key returns the name of the schedule.
func (d *Definition) Key() schedule.Key { return schedule.Key{Namespace: d.Namespace, ID: d.ID} }

// JitterSeed returns the seed of the deterministic jitter (docs/semantics.md §2).
func (d *Definition) JitterSeed() string { return d.Namespace + "-" + d.ID }

// CalendarCopy is the copy of a named calendar in a definition.
type CalendarCopy struct {
	// Incarnation is a UUID made when the calendar was created; Version is the calendar's version. Edition is a UUID made for this version:
	// after a backup was restored, another version may have the same number.
	Incarnation string               `json:"incarnation"`
	Version     uint64               `json:"version"`
	Edition     string               `json:"edition"`
	Dates       []schedule.DateRange `json:"dates,omitempty"`
	Windows     []schedule.Blackout  `json:"windows,omitempty"`
}

// NamedCalendars returns the calendars that the spec was last resolved to, by name.
func (d *Definition) NamedCalendars() map[string]schedule.NamedCalendar {
	if len(d.Calendars) == 0 {
		return nil
	}
	calendars := make(map[string]schedule.NamedCalendar, len(d.Calendars))
	for name, c := range d.Calendars {
		calendars[name] = schedule.NamedCalendar{Name: name, Dates: c.Dates, Windows: c.Windows}
	}
	return calendars
}

// GeneratorState is what the generator remembers about a schedule.
type GeneratorState struct {
	Incarnation string `json:"incarnation"`
	// Mark is the high water mark: every time of the spec up to and including it is settled.
	Mark time.Time `json:"mark"`
	// HandedOff is the end of the last range handed to the invoker; the next hand-off begins there. It is behind Mark if nothing was due
	// since.
	HandedOff time.Time `json:"handedOff"`
	// Version is the definition version this state was computed from.
	Version uint64 `json:"version"`
	// Next is when the next action is due, jitter included; zero when none is.
	Next time.Time `json:"next,omitzero"`
	// Future holds the next times, at most 10, for describe. Nothing decides by it.
	Future []time.Time `json:"future,omitempty"`
	// IdleDeadline is when an exhausted schedule closes; zero while it is not exhausted.
	IdleDeadline time.Time `json:"idleDeadline,omitzero"`
	// LastNominal is the newest nominal time handed to the invoker. If an update moves its actual time past the mark, the time is not
	// handed over again.
	LastNominal time.Time `json:"lastNominal,omitzero"`
	// ZoneData is the version of the time zone data that the record was made with. ZoneRules is a fingerprint of the rules of the spec's
	// zone in it, and ZoneOffset how many seconds its clock was ahead of UTC at Mark. All are empty in UTC, for a spec with its own data,
	// and in the records of earlier releases.
	ZoneData   string `json:"zoneData,omitempty"`
	ZoneRules  string `json:"zoneRules,omitempty"`
	ZoneOffset int    `json:"zoneOffset,omitempty"`
	// Passed is the time up to which times that name hours have already come, by rules of the zone that no longer apply.
	Passed time.Time `json:"passed,omitzero"`
}

// ZoneRules say by which rules a spec is read.
type ZoneRules struct {
	// Data is the version of the time zone data, Rules a fingerprint of the rules of the zone.
	Data, Rules string
}

// ZoneRulesOf returns the rules by which this process reads a spec. They are empty in UTC, for a spec with its own data, and for a spec
// whose zone is unknown.
func ZoneRulesOf(s schedule.Spec) ZoneRules {
	if len(s.TimeZoneData) > 0 {
		return ZoneRules{}
	}
	name, err := s.ZoneName()
	if err != nil {
		return ZoneRules{}
	}
	data := zonedata.Current()
	if rules := data.Fingerprint(name); rules != "" {
		return ZoneRules{Data: data.Version(), Rules: rules}
	}
	return ZoneRules{}
}

// InvokerState is what the invoker remembers about a schedule: its buffer and its counters.
type InvokerState struct {
	Incarnation string `json:"incarnation"`
	// Starts is the buffer in order of arrival: waiting and running starts. Completed starts move to Ended when the record is written.
	// After a restored backup, some may remain until the invoker looks at the schedule.
	Starts []BufferedStart `json:"starts,omitempty"`
	// Ended are the last ended runs.
	Ended EndedRuns `json:"ended,omitempty"`
	// LastDue is the newest due time of all ended runs. Ended may no longer have that run, because runs of a backfill, which were due
	// earlier, may end later. It is zero if no run has ended, and in the records of earlier releases: see LastEnded.
	LastDue time.Time `json:"lastDue,omitzero"`
	// Controls are cancels and terminates not yet delivered.
	Controls []PendingControl `json:"controls,omitempty"`
	// Sources holds, for "auto" and each backfill in progress, how far its hand-offs have been applied.
	Sources map[string]SourceProgress `json:"sources,omitempty"`
	// LimitVersion and LimitUsed count the automated actions since the definition's LimitVersion.
	LimitVersion uint64 `json:"limitVersion,omitempty"`
	LimitUsed    int    `json:"limitUsed,omitempty"`
	// AskAt is when the delayed starts without a time may ask again; zero if there are none.
	AskAt time.Time `json:"askAt,omitzero"`
	// HasResult says that a Result record exists.
	HasResult bool     `json:"hasResult,omitempty"`
	Counters  Counters `json:"counters"`
	// Outbox holds the events of the transition that wrote this state. They are published after the write and before
	// the messages that caused them are acknowledged, so a redelivery publishes them again under the same IDs.
	Outbox []schedule.Event `json:"outbox,omitempty"`
	// EventSequence numbers the events of this incarnation from 1.
	EventSequence uint64 `json:"eventSequence,omitempty"`
	// Abandoned says that the schedule is gone and its waiting starts have been given up. The record no longer knows all runs, so nothing
	// may begin from it: whoever finds it asks the leader for the definition.
	Abandoned bool `json:"abandoned,omitempty"`
}

// Counters are the totals of a schedule since its creation.
type Counters struct {
	// Actions counts runs that were started.
	Actions int64 `json:"actions,omitempty"`
	// MissedCatchup counts due actions given up because they were later than the catch-up window.
	MissedCatchup int64 `json:"missedCatchup,omitempty"`
	// OverlapSkipped counts starts dropped by their overlap policy.
	OverlapSkipped int64 `json:"overlapSkipped,omitempty"`
	// BufferDropped counts starts dropped for any other reason: buffer full, paused, no remaining actions, start
	// refused or failed too often, schedule deleted, backfill canceled.
	BufferDropped int64 `json:"bufferDropped,omitempty"`
	// SkippedOnRequest counts due actions that a person had asked to skip.
	SkippedOnRequest int64 `json:"skippedOnRequest,omitempty"`
}

// SourceProgress says which part of a source's times has been handed over. Hand-offs of one source form a chain: each
// begins where the one before ended, and may arrive in any order.
type SourceProgress struct {
	// Covered are the settled ranges, disjoint and in order; one, unless a hand-off has overtaken another.
	Covered []Span `json:"covered"`
	// LastFrom, LastMissed, LastDropped and LastSuperseded belong to the newest hand-off, so that its repeat with a later end adds only
	// what is new.
	LastFrom       time.Time `json:"lastFrom"`
	LastMissed     int       `json:"lastMissed,omitempty"`
	LastDropped    int       `json:"lastDropped,omitempty"`
	LastSuperseded int       `json:"lastSuperseded,omitempty"`
	// LastCount is how many starts the newest hand-off had. Complete says that it was the last one. Withdrawn says that the backfill was
	// canceled; its later starts are dropped.
	LastCount int  `json:"lastCount,omitempty"`
	Complete  bool `json:"complete,omitempty"`
	Withdrawn bool `json:"withdrawn,omitempty"`
	// Version is the newest version of the definition by which automated actions were handed over. LastNominal is the newest nominal time
	// of those actions. Settled is LastNominal before the first hand-off by Version. All are zero for manual sources.
	Version     uint64    `json:"version,omitempty"`
	LastNominal time.Time `json:"lastNominal,omitzero"`
	Settled     time.Time `json:"settled,omitzero"`
}

// Span is a range of time, From exclusive, To inclusive.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// PendingControl is a cancel or terminate on its way to a run.
type PendingControl struct {
	Kind       schedule.ControlKind `json:"kind"`
	RequestID  string               `json:"requestId"`
	WorkflowID string               `json:"workflowId"`
	RunID      string               `json:"runId"`
	TaskQueue  string               `json:"taskQueue"`
	ActionKind schedule.ActionKind  `json:"actionKind,omitempty"`
	// Reason says who wants the run to end and why, unless it must make room for another.
	Reason string `json:"reason,omitempty"`
}

// BackfillState is one backfill or trigger request in progress. The frontend creates it, or the generator for a patch. The backfiller owns
// it; the frontend also writes Canceled. A range stays until all its starts have left the buffer, a trigger until its start has been
// executed or dropped.
type BackfillState struct {
	Incarnation string `json:"incarnation"`
	// ID is unique among the backfills of the cluster, and one subject token.
	ID string `json:"id"`
	// RequestTime is when the request was accepted.
	RequestTime time.Time `json:"requestTime"`
	// Trigger asks for one start now. Exactly one of Trigger and Range is set.
	Trigger *schedule.Trigger       `json:"trigger,omitempty"`
	Range   *schedule.BackfillRange `json:"range,omitempty"`
	// Mark is the last time handed over; zero before the first batch.
	Mark time.Time `json:"mark,omitzero"`
	// Handed counts the starts handed over.
	Handed int `json:"handed,omitempty"`
	// Total is how many times the range has, counted up to [MaxBackfillTotal]. TotalVersion is the version of the definition that was used
	// for that.
	Total        int    `json:"total,omitempty"`
	TotalVersion uint64 `json:"totalVersion,omitempty"`
	// Attempt counts how often there was no room, or the generator had not noted the request, since the last batch.
	Attempt int `json:"attempt,omitempty"`
	// Done means that everything has been handed over.
	Done bool `json:"done,omitempty"`
	// Trace is the W3C traceparent of the request, Identity is who asked, RequestID is its idempotency key.
	Trace     string `json:"trace,omitempty"`
	Identity  string `json:"identity,omitempty"`
	RequestID string `json:"requestId,omitempty"`
	// Version is the version of the definition that brought the request, if it came with a patch; else zero.
	Version uint64 `json:"version,omitempty"`
	// Canceled says that a person has ended the backfill, CanceledBy who it was, and CancelRequestID with which request.
	Canceled        bool   `json:"canceled,omitempty"`
	CanceledBy      string `json:"canceledBy,omitempty"`
	CancelRequestID string `json:"cancelRequestId,omitempty"`
}

// MaxBackfillTotal is up to how many times a backfill is counted in advance.
const MaxBackfillTotal = 1_000_000

// Result holds the last outcomes of a schedule, handed to the next run (docs/semantics.md §7).
type Result struct {
	Incarnation string `json:"incarnation"`
	// Success is the result of the last run that completed.
	Success json.RawMessage `json:"success,omitempty"`
	// Failure is why the last run did not complete; nil after a success.
	Failure *schedule.Failure `json:"failure,omitempty"`
	// CloseTime is the end of the run that set this. A run that ended earlier changes nothing.
	CloseTime time.Time `json:"closeTime"`
}

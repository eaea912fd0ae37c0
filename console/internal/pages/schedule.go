package pages

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc/prose"
)

// eventsShown is how many of the newest events the page of a schedule has.
const eventsShown = 25

// scheduleOne is the page of one schedule.
type scheduleOne struct {
	ID, Address, When, Action, TaskQueue, Zone string
	State                                      state
	Notes, PausedBy                            string
	Paused                                     bool
	// Reasons say what holds it up, and Warnings what may surprise.
	Reasons, Warnings []schedule.Notice
	Next              []moment
	// Skips are the times to come that will be skipped, and Backfills those in progress.
	Skips     []moment
	Backfills []backfillRow
	Runs      []runRow
	Waiting   []waitingRow
	Counts    []count
	Events    []eventRow
	// Definition is the schedule as JSON.
	Definition string
}

// runRow is a run in a list.
type runRow struct {
	// Address is its page.
	Address, ScheduleID string
	Nominal, Start      moment
	Took, Lateness      string
	Outcome             outcome
	Failure             string
	IsManual            bool
}

// backfillRow is a backfill in progress.
type backfillRow struct {
	From, To    moment
	Done, Total int
	IsMore      bool
}

// waitingRow is a start that waits.
type waitingRow struct {
	Nominal moment
	Phase   string
}

// count is a number that is not zero.
type count struct {
	Name  string
	Value int64
}

// eventRow is an event in a list.
type eventRow struct {
	At                     moment
	Kind, Identity, Reason string
}

func (p *Pages) schedule(r *http.Request, speaker *speaker.Speaker) (*answer, error) {
	id := r.PathValue("id")
	d, err := speaker.Describe(r.Context(), id)
	if err != nil {
		return nil, err
	}
	history, err := speaker.History(r.Context(), schedule.HistoryRequest{ID: id, Newest: true, PageSize: eventsShown})
	if err != nil {
		return nil, err
	}
	return &answer{view: "schedule", title: d.ID, data: oneOf(&d, history.Events, p.config.Now())}, nil
}

// oneOf returns what the page of a schedule shows.
func oneOf(d *schedule.Description, events []schedule.Event, now time.Time) *scheduleOne {
	zone, info := zoneOf(d), &d.Info
	one := &scheduleOne{
		ID: d.ID, Address: address(d.Namespace, "schedules", d.ID), When: prose.Describe(d.Spec), Action: actionOf(&d.Action),
		TaskQueue: d.Action.TaskQueue, Zone: zone.String(), State: stateOf(d), Notes: d.State.Notes, PausedBy: info.PausedBy, Paused: d.State.Paused,
		Reasons: info.Reasons, Warnings: info.Warnings, Definition: definition(&d.Schedule), Counts: countsOf(info),
	}
	for _, at := range info.FutureActionTimes {
		one.Next = append(one.Next, momentOf(at, now, zone))
	}
	for _, at := range info.Skips {
		one.Skips = append(one.Skips, momentOf(at, now, zone))
	}
	for i := range info.Backfills {
		b := &info.Backfills[i]
		if !b.Trigger {
			one.Backfills = append(one.Backfills, backfillRow{momentOf(b.Start, now, zone), momentOf(b.End, now, zone), b.Done, b.Total, b.TotalCapped})
		}
	}
	for i := len(info.RecentActions) - 1; i >= 0; i-- {
		one.Runs = append(one.Runs, runOf(&info.RecentActions[i], d.Namespace, now, zone))
	}
	for i := range info.Buffer {
		one.Waiting = append(one.Waiting, waitingRow{momentOf(info.Buffer[i].NominalTime, now, zone), string(info.Buffer[i].Phase)})
	}
	one.Events = reversed(events, now, zone)
	return one
}

func runOf(run *schedule.Run, namespace string, now time.Time, zone *time.Location) runRow {
	row := runRow{
		Address: address(namespace, "schedules", run.ScheduleID, "runs", run.RunID), ScheduleID: run.ScheduleID,
		Nominal: momentOf(run.NominalTime, now, zone), Start: momentOf(run.StartTime, now, zone), Outcome: outcomeOf(run, now, zone),
		IsManual: run.Manual,
	}
	if !run.CloseTime.IsZero() {
		row.Took = run.CloseTime.Sub(run.StartTime).Round(time.Millisecond).String()
	}
	if late := run.StartTime.Sub(run.DueTime); late > 0 && !run.Manual {
		row.Lateness = late.Round(time.Millisecond).String()
	}
	if run.Failure != nil {
		row.Failure = run.Failure.Message
	}
	return row
}

func countsOf(info *schedule.Info) (counts []count) {
	for _, c := range []count{
		{"actions", info.ActionCount}, {"waiting", int64(info.BufferSize)}, {"missed, outside of the catch-up window", info.MissedCatchupWindow},
		{"skipped because of an overlap", info.OverlapSkipped}, {"dropped because the buffer was full", info.BufferDropped},
		{"skipped on request", info.SkippedOnRequest},
	} {
		if c.Value != 0 {
			counts = append(counts, c)
		}
	}
	return counts
}

// definition returns a schedule as JSON for people.
func definition(s *schedule.Schedule) string {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// acts are what the forms of the page of a schedule ask for, by the last part of their address.
var acts = map[string]func(*http.Request, *speaker.Speaker, string) error{
	"pause": func(r *http.Request, speaker *speaker.Speaker, id string) error {
		return speaker.Pause(r.Context(), id, r.PostFormValue("note"))
	},
	"unpause": func(r *http.Request, speaker *speaker.Speaker, id string) error {
		return speaker.Unpause(r.Context(), id, r.PostFormValue("note"))
	},
	"backfill": backfill,
	"skip": func(r *http.Request, speaker *speaker.Speaker, id string) error {
		_, err := speaker.Skip(r.Context(), schedule.SkipRequest{ID: id, Skip: schedule.Skip{Count: 1, Note: r.PostFormValue("note")}})
		return err
	},
	"trigger": func(r *http.Request, speaker *speaker.Speaker, id string) error {
		_, err := speaker.Trigger(r.Context(), schedule.TriggerRequest{ID: id})
		return err
	},
}

// backfill starts a run for each time of a range, in the zone of the schedule.
func backfill(r *http.Request, speaker *speaker.Speaker, id string) error {
	d, err := speaker.Describe(r.Context(), id)
	if err != nil {
		return err
	}
	request := schedule.BackfillRequest{ID: id}
	for _, bound := range []struct {
		field string
		to    *time.Time
	}{{"start", &request.Start}, {"end", &request.End}} {
		if *bound.to, err = time.ParseInLocation(localTime, r.PostFormValue(bound.field), zoneOf(&d)); err != nil {
			return schedule.Invalid(bound.field, "is %q: give a date and a time, such as %s", r.PostFormValue(bound.field), localTime)
		}
	}
	_, err = speaker.Backfill(r.Context(), request)
	return err
}

// localTime is the form of a time in a field for times.
const localTime = "2006-01-02T15:04"

// said are what the page says after each of them, and after a schedule has been written.
var said = map[string]string{
	"create":    "The schedule is there.",
	"save":      "The change is made.",
	"pause":     "The schedule is paused: it starts nothing by itself.",
	"unpause":   "The schedule acts again.",
	"trigger":   "A run has been asked for.",
	"backfill":  "The backfill has begun.",
	"skip":      "The next time will be skipped.",
	"cancel":    "The run has been asked to stop.",
	"terminate": "The run is being ended.",
	"delete":    "The schedule is deleted.",
}

// remove deletes a schedule, and leads back to the list.
func (p *Pages) remove(r *http.Request, speaker *speaker.Speaker) (*answer, error) {
	if err := speaker.Delete(r.Context(), r.PathValue("id")); err != nil {
		return nil, err
	}
	return &answer{to: address(speaker.Namespace(), "schedules") + "?said=delete"}, nil
}

// act returns the handler of a form, which leads back to the page of the schedule.
func (p *Pages) act(name string, do func(*http.Request, *speaker.Speaker, string) error) func(*http.Request, *speaker.Speaker) (*answer, error) {
	return func(r *http.Request, speaker *speaker.Speaker) (*answer, error) {
		id := r.PathValue("id")
		if err := do(r, speaker, id); err != nil {
			return nil, err
		}
		return &answer{to: address(speaker.Namespace(), "schedules", id) + "?said=" + name}, nil
	}
}

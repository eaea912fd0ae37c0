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
	scheduleHead
	When, Action, TaskQueue string
	// Request is the ID of a trigger or of a skip, so that sending the form twice does it once.
	Request         string
	State           state
	Notes, PausedBy string
	Paused          bool
	// Reasons say what holds it up, and Warnings what may surprise.
	Reasons, Warnings []schedule.Notice
	Next              []moment
	// Skips are the times to come that will be skipped, and Backfills those in progress.
	Skips     []moment
	Backfills []backfillRow
	Picture   *gantt
	Runs      []runRow
	Waiting   []waitingRow
	Counts    []count
	Events    []eventRow
	// Definition is the schedule as JSON, if it is not too long. All is the address of the whole.
	Definition, All string
	// IsBusy says that the page will soon be another one, so that it asks more often.
	IsBusy bool
}

// runRow is a run in a list.
type runRow struct {
	// Address is its page.
	Address, ScheduleID string
	Nominal, Start      moment
	Took, Lateness      string
	Outcome             outcome
	Failure             string
	// Attempts is 0 as long as nobody knows.
	Attempts int
	IsManual bool
}

// backfillRow is a backfill in progress, or a trigger that waits.
type backfillRow struct {
	ID string
	// Asked is when it was asked for, and From and To are the range.
	Asked, From, To   moment
	Overlap, Identity string
	Done, Total       int
	// IsMore says that the range has more times than Total, IsTrigger that it is a trigger that waits, without a range.
	IsMore, IsTrigger, IsCanceled bool
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

func (p *Pages) schedule(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	id := r.PathValue("id")
	d, err := asks.Describe(r.Context(), id)
	if err != nil {
		return nil, err
	}
	history, err := asks.History(r.Context(), schedule.HistoryRequest{ID: id, Newest: true, PageSize: eventsShown})
	if err != nil {
		return nil, err
	}
	one := oneOf(&d, history.Events, p.config.Now())
	one.Request = p.config.NewID()
	return &answer{view: "schedule", title: d.ID, data: one}, nil
}

// oneOf returns what the page of a schedule shows.
func oneOf(d *schedule.Description, events []schedule.Event, now time.Time) *scheduleOne {
	zone, info := zoneOf(d), &d.Info
	one := &scheduleOne{
		scheduleHead: headOf(d.Namespace, d.ID, zone.String(), ""), When: prose.Describe(d.Spec), Action: actionOf(&d.Action),
		TaskQueue: d.Action.TaskQueue, State: stateOf(d), Notes: d.State.Notes, PausedBy: info.PausedBy, Paused: d.State.Paused,
		Reasons: info.Reasons, Warnings: info.Warnings, Definition: definition(&d.Schedule), All: inTheAPI(d.Namespace, "schedules", d.ID),
		Counts: countsOf(info), IsBusy: isBusy(info, now),
	}
	for _, at := range info.FutureActionTimes {
		one.Next = append(one.Next, momentOf(at, now, zone))
	}
	for _, at := range info.Skips {
		one.Skips = append(one.Skips, momentOf(at, now, zone))
	}
	for i := range info.Backfills {
		b := &info.Backfills[i]
		one.Backfills = append(one.Backfills, backfillRow{
			b.BackfillID, momentOf(b.RequestTime, now, zone), momentOf(b.Start, now, zone), momentOf(b.End, now, zone), string(b.Overlap), b.Identity,
			b.Done, b.Total, b.TotalCapped, b.Trigger, b.Canceled,
		})
	}
	for i := len(info.RecentActions) - 1; i >= 0; i-- {
		run := info.RecentActions[i]
		run.ScheduleID = d.ID // a description does not repeat it in each run
		one.Runs = append(one.Runs, runOf(&run, d.Namespace, now, zone))
	}
	one.Picture = ganttOf(recentOf(info), d.Namespace, now, zone)
	for i := range info.Buffer {
		one.Waiting = append(one.Waiting, waitingRow{momentOf(info.Buffer[i].NominalTime, now, zone), string(info.Buffer[i].Phase)})
	}
	one.Events = reversed(events, now, zone)
	return one
}

// isBusy reports whether a schedule has something in progress, or is about to.
func isBusy(info *schedule.Info, now time.Time) bool {
	const soon = 10 * time.Second
	next := info.FutureActionTimes
	return len(info.RunningWorkflows)+len(info.Buffer)+len(info.Backfills) > 0 || len(next) > 0 && next[0].Before(now.Add(soon))
}

// recentOf returns the runs that a schedule knows: the last ones, and those in progress that began earlier.
func recentOf(info *schedule.Info) []schedule.Run {
	known := map[string]bool{}
	for i := range info.RecentActions {
		known[info.RecentActions[i].RequestID] = true
	}
	var runs []schedule.Run
	for i := range info.RunningWorkflows {
		if !known[info.RunningWorkflows[i].RequestID] {
			runs = append(runs, info.RunningWorkflows[i])
		}
	}
	return append(runs, info.RecentActions...)
}

func runOf(run *schedule.Run, namespace string, now time.Time, zone *time.Location) runRow {
	row := runRow{
		Address: address(namespace, "schedules", run.ScheduleID, "runs", run.RunID), ScheduleID: run.ScheduleID,
		Nominal: momentOf(run.NominalTime, now, zone), Start: momentOf(run.StartTime, now, zone), Outcome: outcomeOf(run, now, zone),
		Attempts: run.Attempt, IsManual: run.Manual,
	}
	if !run.CloseTime.IsZero() {
		row.Took = toThePoint(run.CloseTime.Sub(run.StartTime))
	}
	if late := run.StartTime.Sub(run.DueTime); late > 0 && !run.Manual {
		row.Lateness = toThePoint(late)
	}
	if run.Failure != nil {
		row.Failure = shortened(run.Failure.Message)
	}
	return row
}

// toThePoint returns a duration with as many digits as say something.
func toThePoint(d time.Duration) string {
	if d < time.Minute {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func countsOf(info *schedule.Info) (counts []count) {
	for _, c := range []count{
		{"Actions", info.ActionCount}, {"Waiting", int64(info.BufferSize)}, {"Missed, outside of the catch-up window", info.MissedCatchupWindow},
		{"Skipped because of an overlap", info.OverlapSkipped}, {"Dropped because the buffer was full", info.BufferDropped},
		{"Skipped on request", info.SkippedOnRequest},
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
	return cut(string(text), mostText)
}

// acts are what the forms of the page of a schedule ask for, by the last part of their address.
var acts = map[string]func(*http.Request, *speaker.Speaker, string) error{
	"pause": func(r *http.Request, asks *speaker.Speaker, id string) error {
		return asks.Pause(r.Context(), id, r.PostFormValue("note"))
	},
	"unpause": func(r *http.Request, asks *speaker.Speaker, id string) error {
		return asks.Unpause(r.Context(), id, r.PostFormValue("note"))
	},
	"cancel-backfill": func(r *http.Request, asks *speaker.Speaker, id string) error {
		return asks.CancelBackfill(r.Context(), schedule.CancelBackfillRequest{ID: id, BackfillID: r.PostFormValue("backfill")})
	},
	"skip": func(r *http.Request, asks *speaker.Speaker, id string) error {
		_, err := asks.Skip(r.Context(), schedule.SkipRequest{ID: id, Skip: schedule.Skip{Count: 1, Note: r.PostFormValue("note")}, RequestID: r.PostFormValue("request")})
		return err
	},
	"unskip": func(r *http.Request, asks *speaker.Speaker, id string) error {
		at, err := neededTime("time", r.PostFormValue("time"), time.UTC)
		if err != nil {
			return err
		}
		_, err = asks.Unskip(r.Context(), schedule.UnskipRequest{ID: id, Unskip: schedule.Unskip{Times: []time.Time{at}}})
		return err
	},
}

// said are what the page says after each of them, and after a schedule has been written.
var said = map[string]string{
	"create":          "The schedule is there.",
	"save":            "The change is made.",
	"pause":           "The schedule is paused: it starts nothing by itself.",
	"unpause":         "The schedule acts again.",
	"trigger":         "A run has been asked for.",
	"backfill":        "The backfill has begun.",
	"cancel-backfill": "The backfill ends: what still waits of it is dropped, and its runs go on.",
	"unskip":          "The time will not be skipped.",
	"skip":            "The next time will be skipped.",
	"cancel":          "The run has been asked to stop.",
	"terminate":       "The run is being ended.",
	"bulk":            "The bulk operation has begun.",
	"cancel-bulk":     "The bulk operation is being canceled.",
	"delete":          "The schedule is deleted.",

	"signal":              "The signal is in the history.",
	"cancel-execution":    "The workflow has been asked to cancel.",
	"terminate-execution": "The execution is terminated.",
	"reset":               "This is the new run.",
	"start":               "The execution has begun.",
	"pause-activity":      "The activity is paused: an attempt that runs goes on, and no other one begins.",
	"unpause-activity":    "The activity goes on.",
	"reset-activity":      "The activity begins again with its first attempt.",
	"stop-batch":          "The operation is being stopped. What it has done stays done.",
	"letter-replayed":     "The message has been sent again, and its letter is gone.",
	"letter-superseded":   "The letter is gone. Nothing had to be sent: a newer message does the same.",
	"letter-deleted":      "The letter is deleted.",
	"calendar-created":    "The calendar is there.",
	"calendar-saved":      "The calendar is changed. The schedules that use it adopt the change now.",
	"calendar-deleted":    "The calendar is deleted.",
	"frozen":              "The namespace is frozen.",
	"unfrozen":            "The namespace acts again.",
	"namespace-created":   "The namespace is there.",
	"namespace-saved":     "The namespace is changed.",
	"namespace-deleted":   "The namespace is being deleted. It is gone when its last schedule is.",
}

// remove deletes a schedule, and leads back to the list.
func (p *Pages) remove(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	if err := asks.Delete(r.Context(), r.PathValue("id")); err != nil {
		return nil, err
	}
	return &answer{to: address(asks.Namespace(), "schedules") + "?said=delete"}, nil
}

// act returns the handler of a form, which leads back to the page of the schedule.
func (p *Pages) act(name string, do func(*http.Request, *speaker.Speaker, string) error) maker {
	return func(r *http.Request, asks *speaker.Speaker) (*answer, error) {
		id := r.PathValue("id")
		if err := do(r, asks, id); err != nil {
			return nil, err
		}
		return &answer{to: address(asks.Namespace(), "schedules", id) + "?said=" + name}, nil
	}
}

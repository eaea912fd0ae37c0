package pages

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// runsShown is how many runs the list has.
const runsShown = 100

// runList is the page with the newest runs of a namespace.
type runList struct {
	// Status is the one that is looked for; empty means all. Statuses are those that there are.
	Status   string
	Statuses []string
	Rows     []runRow
}

// runs shows the newest runs of all schedules.
func (p *Pages) runs(r *http.Request, speaker *speaker.Speaker) (*answer, error) {
	list := &runList{Status: r.URL.Query().Get("status"), Statuses: []string{string(schedule.StatusRunning)}}
	for _, status := range schedule.Statuses() {
		list.Statuses = append(list.Statuses, string(status))
	}
	found, err := speaker.Runs(r.Context(), schedule.RunsRequest{Status: schedule.Status(list.Status), PageSize: runsShown})
	if err != nil {
		return nil, err
	}
	now := p.config.Now()
	for i := range found.Runs {
		list.Rows = append(list.Rows, runOf(&found.Runs[i], speaker.Namespace(), now, time.UTC))
	}
	return &answer{view: "runs", title: "Runs", data: list}, nil
}

// runOne is the page of one run.
type runOne struct {
	runRow
	RunID, WorkflowID, Source, TaskQueue, Identity, Worker, Zone string
	ScheduleAddress                                              string
	Due, Code, Close                                             moment
	Attempt                                                      int
	IsOpen                                                       bool
	// Result is that of a run that has completed, and Details those of a failure, as JSON.
	Result, Details string
	Events          []eventRow
}

// run shows one run of a schedule.
func (p *Pages) run(r *http.Request, speaker *speaker.Speaker) (*answer, error) {
	id := r.PathValue("id")
	found, err := speaker.Run(r.Context(), id, r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	now, zone := p.config.Now(), time.UTC
	if d, err := speaker.Describe(r.Context(), id); err == nil { // it may have been deleted
		zone = zoneOf(&d)
	}
	run := &found.Run
	run.ScheduleID = id
	one := &runOne{
		runRow: runOf(run, speaker.Namespace(), now, zone), RunID: run.RunID, WorkflowID: run.WorkflowID, Source: run.Source, TaskQueue: run.TaskQueue,
		Identity: run.Identity, Worker: run.Worker, Zone: zone.String(), ScheduleAddress: address(speaker.Namespace(), "schedules", id),
		Due: momentOf(run.DueTime, now, zone), Code: momentOf(run.CodeTime, now, zone), Close: momentOf(run.CloseTime, now, zone),
		Attempt: run.Attempt, IsOpen: run.Status == "" || run.Status == schedule.StatusRunning, Result: string(run.Result),
	}
	if run.Failure != nil {
		one.Details = string(run.Failure.Details)
	}
	for i := range found.Events {
		one.Events = append(one.Events, eventOf(&found.Events[i], now, zone))
	}
	return &answer{view: "run", title: "Run of " + id, data: one}, nil
}

// endings are what the forms of the page of a run ask for, by the last part of their address.
var endings = map[string]func(*speaker.Speaker, *http.Request, schedule.EndRunRequest) error{
	"cancel": func(speaker *speaker.Speaker, r *http.Request, request schedule.EndRunRequest) error {
		_, err := speaker.CancelRun(r.Context(), request)
		return err
	},
	"terminate": func(speaker *speaker.Speaker, r *http.Request, request schedule.EndRunRequest) error {
		_, err := speaker.TerminateRun(r.Context(), request)
		return err
	},
}

// end returns the handler of a form that ends a run. It leads back to the page of the run.
func (p *Pages) end(name string, do func(*speaker.Speaker, *http.Request, schedule.EndRunRequest) error) func(*http.Request, *speaker.Speaker) (*answer, error) {
	return func(r *http.Request, speaker *speaker.Speaker) (*answer, error) {
		id, run := r.PathValue("id"), r.PathValue("run")
		if err := do(speaker, r, schedule.EndRunRequest{ID: id, Run: run, Reason: strings.TrimSpace(r.PostFormValue("reason"))}); err != nil {
			return nil, err
		}
		return &answer{to: address(speaker.Namespace(), "schedules", id, "runs", run) + "?said=" + name}, nil
	}
}

func eventOf(e *schedule.Event, now time.Time, zone *time.Location) eventRow {
	return eventRow{momentOf(e.Time, now, zone), string(e.Kind), e.Identity, e.Reason}
}

// reversed returns the events of a page, the newest first.
func reversed(events []schedule.Event, now time.Time, zone *time.Location) (rows []eventRow) {
	for _, e := range slices.Backward(events) {
		rows = append(rows, eventOf(&e, now, zone))
	}
	return rows
}

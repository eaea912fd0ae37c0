package pages

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// runsShown is how many runs a page of the list has.
const runsShown = 50

// runList is a page with runs of a namespace, or of one schedule.
type runList struct {
	scheduleHead
	// Of is the schedule that is looked for, on the page about all of them.
	Of string
	// Status is the one that is looked for; empty means all. Statuses are those that there are. From and To bound when the runs began.
	Status, From, To string
	Statuses         []string
	// Problem is what is wrong with the fields of the search.
	Problem *refusal.Refusal
	Picture *gantt
	Rows    []runRow
	// Older is the address of the next page, and Newest that of the first; empty if this is the last or the first.
	Older, Newest string
	// IsPart says that the page has fewer runs than there may be: to find more, one has to look further back.
	IsPart bool
}

// runs shows the newest runs of a schedule or of all of them, or those up to a time.
func (p *Pages) runs(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	values, id, zone := r.URL.Query(), r.PathValue("id"), time.UTC
	list := &runList{Of: values.Get("schedule"), Status: values.Get("status"), From: values.Get("from"), To: values.Get("to")}
	a := &answer{view: "runs", title: "Runs", data: list}
	if id != "" {
		zone = zoneOfID(r, asks, id)
		list.scheduleHead, a.title = headOf(asks.Namespace(), id, zone.String(), "runs"), "Runs of "+id
	}
	list.Zone, list.Statuses = zone.String(), statuses()
	request := schedule.RunsRequest{ID: cmp.Or(id, list.Of), Status: schedule.Status(list.Status), PageSize: runsShown, PageToken: values.Get("after")}
	from, to, err := rangeFields(list.From, list.To, zone)
	if err != nil {
		list.Problem = refusal.Of(err)
		return a, nil
	}
	request.From, request.To = from, to
	found, err := runsUpTo(r.Context(), asks, request)
	if err != nil {
		return nil, err
	}
	if found.NextPageToken != "" {
		list.Older, list.IsPart = list.page(found.NextPageToken), len(found.Runs) < runsShown
	}
	if request.PageToken != "" {
		list.Newest = list.page("")
	}
	list.show(found.Runs, asks.Namespace(), p.config.Now(), zone)
	return a, nil
}

// runsAsked bounds how many requests a page makes for its runs. The search for a rare status reads much of the history and finds little.
const runsAsked = 3

// runsUpTo asks for runs until it has as many as a request wants, or has asked often enough. The answer leads on from there.
func runsUpTo(ctx context.Context, asks *speaker.Speaker, request schedule.RunsRequest) (found schedule.RunsReply, err error) {
	wanted := request.PageSize
	for asked := 0; asked < runsAsked; asked++ {
		page, err := asks.Runs(ctx, request)
		if err != nil && asked > 0 && ctx.Err() != nil {
			break // there was no time for more
		}
		if err != nil {
			return found, err
		}
		found.Runs, found.NextPageToken = append(found.Runs, page.Runs...), page.NextPageToken
		if request.PageToken, request.PageSize = page.NextPageToken, wanted-len(found.Runs); request.PageToken == "" || request.PageSize == 0 {
			break
		}
	}
	return found, nil
}

// statuses are those that runs can be looked for with.
func statuses() (words []string) {
	words = append(words, string(schedule.StatusRunning))
	for _, status := range schedule.Statuses() {
		words = append(words, string(status))
	}
	return words
}

// show fills in the rows and the picture.
func (l *runList) show(runs []schedule.Run, namespace string, now time.Time, zone *time.Location) {
	for i := range runs {
		l.Rows = append(l.Rows, runOf(&runs[i], namespace, now, zone))
	}
	if l.ID != "" {
		l.Picture = ganttOf(runs, namespace, now, zone)
	}
}

// page returns the address of the page after a token.
func (l *runList) page(token string) string {
	return cmp.Or(queryOf("schedule", l.Of, "status", l.Status, "from", l.From, "to", l.To, "after", token), "?")
}

// runOne is the page of one run.
type runOne struct {
	runRow
	RunID, WorkflowID, Source, TaskQueue, Identity, Worker, Zone string
	ScheduleAddress                                              string
	Due, Code, Close                                             moment
	Attempt                                                      int
	IsOpen                                                       bool
	Trace                                                        traceLink
	// Execution is the page of the execution that the run has started; empty if it is none of a workflow.
	Execution string
	// Result is that of a run that has completed, and Details those of a failure, as JSON.
	Result, Details string
	// All is the address of the run with all that it has.
	All    string
	Events []eventRow
}

// run shows one run of a schedule.
func (p *Pages) run(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	id := r.PathValue("id")
	found, err := asks.Run(r.Context(), id, r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	now, zone := p.config.Now(), zoneOfID(r, asks, id)
	run := &found.Run
	run.ScheduleID = id
	one := &runOne{
		runRow: runOf(run, asks.Namespace(), now, zone), RunID: run.RunID, WorkflowID: run.WorkflowID, Source: run.Source, TaskQueue: run.TaskQueue,
		Identity: run.Identity, Worker: run.Worker, Zone: zone.String(), ScheduleAddress: address(asks.Namespace(), "schedules", id),
		Due: momentOf(run.DueTime, now, zone), Code: momentOf(run.CodeTime, now, zone), Close: momentOf(run.CloseTime, now, zone),
		Attempt: run.Attempt, IsOpen: run.Status == "" || run.Status == schedule.StatusRunning, Result: cut(string(run.Result), mostText),
		All: inTheAPI(asks.Namespace(), "schedules", id, "runs", run.RunID),
	}
	if run.ActionKind.IsWorkflow() {
		one.Execution = address(asks.Namespace(), "executions", run.WorkflowID, run.RunID)
	}
	if run.Failure != nil {
		one.Failure, one.Details = cut(run.Failure.Message, mostText), cut(string(run.Failure.Details), mostText)
	}
	for i := range found.Events[:min(len(found.Events), eventsOfARun)] {
		one.Trace = cmp.Or(one.Trace, p.trace(found.Events[i].Trace))
		one.Events = append(one.Events, eventOf(&found.Events[i], now, zone))
	}
	return &answer{view: "run", title: "Run of " + id, data: one}, nil
}

// endings are what the forms of the page of a run ask for, by the last part of their address.
var endings = map[string]func(*speaker.Speaker, *http.Request, schedule.EndRunRequest) error{
	"cancel": func(asks *speaker.Speaker, r *http.Request, request schedule.EndRunRequest) error {
		_, err := asks.CancelRun(r.Context(), request)
		return err
	},
	"terminate": func(asks *speaker.Speaker, r *http.Request, request schedule.EndRunRequest) error {
		_, err := asks.TerminateRun(r.Context(), request)
		return err
	},
}

// end returns the handler of a form that ends a run. It leads back to the page of the run.
func (p *Pages) end(name string, do func(*speaker.Speaker, *http.Request, schedule.EndRunRequest) error) maker {
	return func(r *http.Request, asks *speaker.Speaker) (*answer, error) {
		id, run := r.PathValue("id"), r.PathValue("run")
		if err := do(asks, r, schedule.EndRunRequest{ID: id, Run: run, Reason: strings.TrimSpace(r.PostFormValue("reason"))}); err != nil {
			return nil, err
		}
		return &answer{to: address(asks.Namespace(), "schedules", id, "runs", run) + "?said=" + name}, nil
	}
}

// reasonShown is how many bytes of a reason a list has, and eventsOfARun how many events the page of a run.
const reasonShown, eventsOfARun = 500, 200

func eventOf(e *schedule.Event, now time.Time, zone *time.Location) eventRow {
	return eventRow{momentOf(e.Time, now, zone), string(e.Kind), e.Identity, cut(e.Reason, reasonShown)}
}

// reversed returns the events of a page, the newest first.
func reversed(events []schedule.Event, now time.Time, zone *time.Location) (rows []eventRow) {
	for _, e := range slices.Backward(events) {
		rows = append(rows, eventOf(&e, now, zone))
	}
	return rows
}

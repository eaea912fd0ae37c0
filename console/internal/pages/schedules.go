package pages

import (
	"net/http"
	"net/url"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc/prose"
)

// pageSize is how many schedules one page of the list has.
const pageSize = 50

// scheduleList is the page with the schedules of a namespace.
type scheduleList struct {
	// Query is what somebody searches for, and Refused why that cannot be.
	Query, Refused string
	Rows           []scheduleRow
	// Next is the address of the next page; empty on the last one.
	Next string
	// IsFirst says that this is the first page.
	IsFirst bool
}

// scheduleRow is a schedule in the list.
type scheduleRow struct {
	ID, Address, When, Action string
	State                     state
	Next                      moment
	Last                      *outcome
}

// state is whether a schedule acts, in one word, and the name of its colour.
type state struct{ Word, Kind string }

// outcome is how a run ended, or that it has not.
type outcome struct {
	Word, Kind string
	At         moment
}

func (p *Pages) schedules(r *http.Request, speaker *speaker.Speaker) (*answer, error) {
	query, after := r.URL.Query().Get("query"), r.URL.Query().Get("after")
	list := &scheduleList{Query: query, IsFirst: after == ""}
	found, err := speaker.List(r.Context(), schedule.ListRequest{Query: query, PageSize: pageSize, PageToken: after})
	if schedule.CodeOf(err) == schedule.CodeInvalidArgument && query != "" {
		list.Refused = err.Error()
		return &answer{view: "schedules", title: "Schedules", data: list}, nil
	}
	if err != nil {
		return nil, err
	}
	now := p.config.Now()
	for i := range found.Schedules {
		list.Rows = append(list.Rows, rowOf(&found.Schedules[i], now))
	}
	if found.NextPageToken != "" {
		list.Next = "?" + url.Values{"query": {query}, "after": {found.NextPageToken}}.Encode()
	}
	return &answer{view: "schedules", title: "Schedules", data: list}, nil
}

func rowOf(d *schedule.Description, now time.Time) scheduleRow {
	row := scheduleRow{
		ID: d.ID, Address: address(d.Namespace, "schedules", d.ID), When: prose.Describe(d.Spec), Action: actionOf(&d.Action),
		State: stateOf(d),
	}
	if next := d.Info.FutureActionTimes; len(next) > 0 && !d.State.Paused {
		row.Next = momentOf(next[0], now, zoneOf(d))
	}
	if recent := d.Info.RecentActions; len(recent) > 0 {
		last := outcomeOf(&recent[len(recent)-1], now, zoneOf(d))
		row.Last = &last
	}
	return row
}

// zoneOf returns the zone of a schedule, or UTC if this binary does not know it.
func zoneOf(d *schedule.Description) *time.Location {
	if zone, err := d.Spec.Location(); err == nil {
		return zone
	}
	return time.UTC
}

// actionOf names what a schedule starts.
func actionOf(a *schedule.Action) string {
	if a.Kind.IsWorkflow() {
		return "workflow " + a.Type
	}
	return a.Type
}

func stateOf(d *schedule.Description) state {
	switch {
	case d.State.Paused:
		return state{"paused", "warn"}
	case d.State.LimitedActions && d.State.RemainingActions == 0:
		return state{"used up", "quiet"}
	case len(d.Info.Reasons) > 0:
		return state{"held up", "bad"}
	}
	return state{"active", "good"}
}

func outcomeOf(run *schedule.Run, now time.Time, zone *time.Location) outcome {
	o := outcome{Word: string(run.Status), Kind: "bad", At: momentOf(run.CloseTime, now, zone)}
	switch run.Status {
	case schedule.StatusCompleted:
		o.Kind = "good"
	case "", schedule.StatusRunning:
		o = outcome{string(schedule.StatusRunning), "busy", momentOf(run.StartTime, now, zone)}
	}
	return o
}

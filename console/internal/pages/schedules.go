package pages

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc/prose"
)

// pageSize is how many schedules one page of the list has.
const pageSize = 40

// scheduleList is the page with the schedules of a namespace.
type scheduleList struct {
	// Filters are the common searches. Its Query is what somebody searches for.
	filterList
	// Sort is the order, and Sorts are those that there are.
	Sort  string
	Sorts []order
	// Refused is why the search cannot be, and Place the query with a mark where it goes wrong.
	Refused, Place string
	Hints          []hint
	Operations     []string
	Rows           []scheduleRow
	// Behind says that the search may not know of the last changes.
	Behind bool
	// Next is the address of the next page; empty on the last one.
	Next string
	// IsFirst says that this is the first page.
	IsFirst bool
}

// scheduleRow is a schedule in the list.
type scheduleRow struct {
	ID, Address, When, Action string
	// Pick is the ID of the field that chooses it.
	Pick    string
	State   state
	Next    moment
	Last    *outcome
	Failure string
}

// state is whether a schedule acts, in one word, and the name of its colour.
type state struct{ Word, Kind string }

// outcome is how a run ended, or that it has not.
type outcome struct {
	Word, Kind string
	At         moment
}

func (p *Pages) schedules(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	values := r.URL.Query()
	query, after := strings.TrimSpace(values.Get("query")), values.Get("after")
	list := &scheduleList{
		filterList: filterList{Filters: commonFilters, Query: query}, Sort: values.Get("sort"), Sorts: orders, Hints: hints, IsFirst: after == "",
	}
	for _, operation := range schedule.BulkOperations() {
		list.Operations = append(list.Operations, string(operation))
	}
	a := &answer{view: "schedules", title: "Schedules", data: list}
	asked := sorted(query, list.Sort)
	found, err := listed(r.Context(), asks, asked, after)
	if schedule.CodeOf(err) == schedule.CodeInvalidArgument && query != "" {
		list.Refused, list.Place = err.Error(), pointed(query)
		return a, nil
	}
	if err != nil {
		return nil, err
	}
	now := p.config.Now()
	for i := range found.Schedules {
		list.Rows = append(list.Rows, rowOf(&found.Schedules[i], now))
	}
	list.Behind = found.IndexBehind
	if found.NextPageToken != "" {
		list.Next = queryOf("query", query, "sort", list.Sort, "after", found.NextPageToken)
	}
	return a, nil
}

// listed reads a page of the schedules that a query finds; empty finds all. A search for all is answered from the index. A frontend that has none reads
// the IDs of the whole namespace instead.
func listed(ctx context.Context, asks *speaker.Speaker, query, after string) (schedule.ListReply, error) {
	request := schedule.ListRequest{Query: cmp.Or(query, all), PageSize: pageSize, PageToken: after}
	found, err := asks.List(ctx, request)
	if query != "" || err == nil {
		return found, err
	}
	request.Query = "" // a token of such a list is none of a search either
	return asks.List(ctx, request)
}

// First returns the address of the first page, below that of the list.
func (l *scheduleList) First() string { return queryOf("query", l.Query, "sort", l.Sort) }

// SortedBy returns the address of the list in another order.
func (l *scheduleList) SortedBy(by string) string { return queryOf("query", l.Query, "sort", by) }

func rowOf(d *schedule.Description, now time.Time) scheduleRow {
	row := scheduleRow{
		ID: d.ID, Address: address(d.Namespace, "schedules", d.ID), When: shortened(prose.Describe(d.Spec)), Action: shortened(actionOf(&d.Action)),
		State: stateOf(d), Pick: fmt.Sprintf("pick-%x", sha256.Sum256([]byte(d.ID)))[:21],
	}
	if next := d.Info.FutureActionTimes; len(next) > 0 && !d.State.Paused {
		row.Next = momentOf(next[0], now, zoneOf(d))
	}
	if recent := d.Info.RecentActions; len(recent) > 0 {
		last := outcomeOf(&recent[len(recent)-1], now, zoneOf(d))
		row.Last = &last
		if failure := recent[len(recent)-1].Failure; failure != nil {
			row.Failure = shortened(failure.Message)
		}
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

// messageShown is how many characters of a message a row has.
const messageShown = 120

func shortened(text string) string { return cut(text, messageShown) }

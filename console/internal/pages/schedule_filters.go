package pages

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/schedule"
)

// filter is a search that people often want.
type filter struct {
	Name, Query string
	// Count is how many schedules it finds; negative if that is not known.
	Count int
}

// commonFilters are the searches, without counts. The first one finds all.
var commonFilters = []filter{
	{"All", "", -1}, {"Paused", "paused = true", -1}, {"Last run failed", "lastStatus in ('failed', 'timed_out')", -1},
	{"Running", "running > 0", -1}, {"Waiting to start", "waiting > 0", -1},
}

// all is a search that finds all schedules.
const all = "id is not null"

// filterList are the searches, beside the list of schedules and with their counts as a page.
type filterList struct {
	Filters []filter
	// Query is the search that is shown.
	Query string
	// IsCounted says that somebody has counted, and Uncounted why that could not be.
	IsCounted bool
	Uncounted string
}

// countTime bounds how long the counts are waited for.
const countTime = 5 * time.Second

// scheduleCounts shows the common searches with how many schedules each finds. The list asks for it when it is there already.
func (p *Pages) scheduleCounts(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), countTime)
	defer cancel()
	filters, err := p.filters.get(ctx, asks, func(ctx context.Context) ([]filter, error) { return counted(ctx, asks) })
	list := filterList{Filters: filters, Query: r.URL.Query().Get("query"), IsCounted: true}
	if err != nil { // the searches are there all the same
		list.Filters, list.Uncounted = commonFilters, refusal.Of(err).Message
	}
	return &answer{view: "schedule-counts", title: "Schedules by state", data: list}, nil
}

func counted(ctx context.Context, asks *speaker.Speaker) (filters []filter, err error) {
	for _, f := range commonFilters {
		reply, err := asks.CountMatching(ctx, schedule.CountRequest{Query: cmp.Or(f.Query, all)})
		if err != nil {
			return nil, err
		}
		f.Count = reply.Count
		filters = append(filters, f)
	}
	return filters, nil
}

// order is a way to sort the list.
type order struct{ Value, Name string }

var orders = []order{
	{"", "ID"}, {"nextTime", "next run"}, {"lastTime desc", "last run"}, {"running desc", "most running"}, {"waiting desc", "most waiting"},
	{"lastStatus", "last status"}, {"taskQueue", "task queue"}, {"type", "action type"}, {"createTime desc", "newest"}, {"updateTime desc", "last changed"},
}

// sorted returns a query with an order. One that has an order already keeps that, and an order that is not offered is left out.
func sorted(asked, by string) string {
	_, ordered := splitOrder(asked)
	for _, known := range orders {
		if by == known.Value && by != "" && ordered == "" {
			return strings.TrimSpace(asked + " order by " + by)
		}
	}
	return asked
}

// pointed returns a query with a mark below the place of a mistake; empty if that is not known.
func pointed(asked string) string {
	_, err := query.Parse(asked)
	return query.Point(asked, err)
}

// hint is a field of the query language.
type hint struct{ Field, Means, Example string }

var hints = []hint{
	{"id", "the ID", "id starts_with 'report-'"},
	{"paused", "whether it is paused", "paused = true"},
	{"type, taskQueue, workflowId", "of the action", "type = 'http' and taskQueue in ('default', 'billing')"},
	{"nextTime", "when it is due next", "nextTime < '2027-01-01'"},
	{"lastStatus, lastTime", "how the last ended run ended, and when", "lastStatus = 'failed' and lastTime > '2026-11-01T08:00:00Z'"},
	{"running, waiting", "runs in progress, and starts that wait", "running > 0 or waiting > 10"},
	{"createTime, updateTime", "when it was made and changed", "updateTime is not null"},
	{"notes", "what somebody has noted", "notes is not null"},
	{"attr.NAME, memo.NAME", "of the action", "attr.customer = 'acme'"},
	{"scheduleAttr.NAME, scheduleMemo.NAME", "of the schedule itself", "scheduleMemo.team in ('ops', 'finance')"},
}

package pages

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/console/internal/readable"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
)

// isoTime is how a time is written for programs, with as much as there is of a second.
const isoTime = time.RFC3339Nano

// How much of a history one page has: events, and bytes of one detail.
const (
	historyShown = 100
	detailShown  = 500
)

// historyPart is a part of the history of an execution, as a timeline and as a list.
type historyPart struct {
	Rows []historyRow
	// First and Last are the IDs of the events that are shown.
	First, Last int64
	// IsOldest says that the oldest event comes first. Other is the address with the other order, Next that of the next part, Begin that of the first one.
	IsOldest           bool
	Other, Next, Begin string
	// Download is the address of the whole history as JSON.
	Download string
	// IsLive says that these are the newest events of an execution that is open. Newer is the address of what comes after them, and IsGap says that there are
	// more events between those here and the ones that somebody has seen.
	IsLive, IsGap bool
	Newer         string
	Timeline      *picture
	// IsTable says that the timeline is a table, and Turn is the address with the other form.
	IsTable bool
	Turn    string
}

// historyRow is an event in the list.
type historyRow struct {
	ID         int64
	At         moment
	Since      string
	Type, Main string
	Kind       string
	Details    []readable.Attribute
	// All is the address of the whole event; empty if all of it is shown.
	All string
}

// historyPart returns the part of the history for which a page asks.
func (p *Pages) historyPart(ctx context.Context, r *http.Request, asks *speaker.Speaker, one *executionOne) (*historyPart, error) {
	asked := r.URL.Query()
	token, err := placeOf(r)
	if err != nil {
		return nil, err
	}
	part := &historyPart{
		IsOldest: asked.Get("order") == "oldest", IsTable: asked.Get("timeline") == "table", Download: one.Address + "/history.json",
	}
	part.IsLive = one.IsOpen && len(token) == 0 && !part.IsOldest
	events, next, err := historyPage(ctx, r, asks, part.IsOldest, historyShown, token)
	if err != nil {
		return nil, err
	}
	part.lead(one.Address, asked, next)
	if !part.IsOldest {
		slices.Reverse(events)
	}
	if len(events) > 0 {
		part.First, part.Last = events[0].GetEventId(), events[len(events)-1].GetEventId()
	}
	part.Newer = one.Address + "?newer=" + whole(part.Last)
	if !asked.Has("newer") {
		part.Timeline = pictureOf(events, p.config.Now(), part.IsLive)
	}
	if asked.Has("newer") || r.Header.Get("HX-Request") == "" { // the list is outside of what a page asks for again
		p.addRows(part, one.Address, events, asked.Get("newer"))
	}
	return part, nil
}

// addRows adds the list of events to a part, or only of those that are newer than the ID of an event.
func (p *Pages) addRows(part *historyPart, base string, events []*history.HistoryEvent, newer string) {
	if seen, err := strconv.ParseInt(newer, 10, 64); err == nil {
		part.IsGap = part.First > seen+1
		events = slices.DeleteFunc(events, func(e *history.HistoryEvent) bool { return e.GetEventId() <= seen })
	}
	if !part.IsOldest {
		slices.Reverse(events)
	}
	part.Rows = p.historyRows(base, events)
}

// lead adds the addresses of the other parts.
func (h *historyPart) lead(base string, asked url.Values, next []byte) {
	to := func(name, value string) string { return base + "?" + turned(asked, name, value) }
	h.Other, h.Turn = to("order", "oldest"), to("timeline", "table")
	if h.IsOldest {
		h.Other = to("order", "")
	}
	if h.IsTable {
		h.Turn = to("timeline", "")
	}
	if asked.Get("after") != "" {
		h.Begin = to("after", "")
	}
	if len(next) > 0 {
		h.Next = to("after", placeText(next))
	}
}

// turned returns the parameters of a page with one of them changed; empty removes it. Only those that say how somebody looks at it stay.
func turned(asked url.Values, name, value string) string {
	there := url.Values{}
	for _, stays := range []string{"order", "timeline"} {
		if asked.Get(stays) != "" {
			there.Set(stays, asked.Get(stays))
		}
	}
	if there.Set(name, value); value == "" {
		there.Del(name)
	}
	return there.Encode()
}

// historyPage returns a page of a history: the oldest events first, or the newest ones. Size 0 is as large as the service makes them.
func historyPage(ctx context.Context, r *http.Request, asks *speaker.Speaker, oldest bool, size int32, token []byte) (events []*history.HistoryEvent, next []byte, err error) {
	if oldest {
		page, err := asks.Workflows.GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
			Namespace: asks.Namespace(), Execution: executionOf(r), MaximumPageSize: size, NextPageToken: token,
		})
		return page.GetHistory().GetEvents(), page.GetNextPageToken(), err
	}
	page, err := asks.Workflows.GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: asks.Namespace(), Execution: executionOf(r), MaximumPageSize: size, NextPageToken: token,
	})
	return page.GetHistory().GetEvents(), page.GetNextPageToken(), err
}

// historyRows returns the list of events. Their details share an allowance: when it is used up, the rest is behind a link.
func (p *Pages) historyRows(base string, events []*history.HistoryEvent) (rows []historyRow) {
	now, left, subjects := p.config.Now(), &allowance{historyAllowance}, readable.Subjects(events)
	for _, e := range events {
		event := readable.EventOf(e)
		row := historyRow{ID: event.ID, At: momentOf(event.Time, now, time.UTC), Type: event.Type, Kind: kindOfEvent(event.Type)}
		row.Main = left.short(withSubject(subjects[event.ID], event.Main))
		row.At.Text = event.Time.Format("2006-01-02 15:04:05.000")
		for _, a := range event.Attributes {
			name := left.short(a.Name)
			shown, isCut := left.cut(a.Text, detailShown)
			if isCut {
				row.All = base + "/events/" + whole(event.ID)
			}
			if left.left > 0 {
				row.Details = append(row.Details, readable.Attribute{Name: name, Text: shown})
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// withSubject puts before the main text of an event what it is about, unless it says that.
func withSubject(subject, main string) string {
	_, name, _ := strings.Cut(subject, " ")
	switch {
	case subject == "", name != "" && strings.Contains(main, name):
		return main
	case main == "":
		return subject
	}
	return subject + " · " + main
}

// kindOfEvent returns the colour of an event.
func kindOfEvent(name string) string {
	for _, of := range []struct{ suffix, kind string }{
		{"Failed", "bad"}, {"TimedOut", "bad"}, {"Terminated", "bad"}, {"Canceled", "warn"}, {"CancelRequested", "warn"}, {"Completed", "good"}, {"Fired", "good"},
	} {
		if strings.HasSuffix(name, of.suffix) && !strings.HasPrefix(name, "WorkflowTaskCompleted") {
			return of.kind
		}
	}
	return "quiet"
}

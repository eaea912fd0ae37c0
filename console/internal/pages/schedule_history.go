package pages

import (
	"net/http"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// pastEventsShown is how many events a page of the history has.
const pastEventsShown = 100

// pastEvents is the page with what happened to a schedule.
type pastEvents struct {
	scheduleHead
	// From and To bound when it happened, as that was written. Kind is the one that is looked for; empty means all. Kinds are those that there are.
	From, To, Kind string
	Kinds          []string
	Problem        *refusal.Refusal
	Events         []eventRow
	// IsNewest says that these are the newest events, the newest first. Others come in the order in which they happened.
	IsNewest bool
	// Next is the address of the following page; empty on the last one.
	Next string
}

// scheduleHistory shows the newest events of a schedule, or those of a range, the oldest first. The schedule may be gone.
func (p *Pages) scheduleHistory(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	values, id := r.URL.Query(), r.PathValue("id")
	zone := zoneOfID(r, asks, id)
	page := &pastEvents{
		scheduleHead: headOf(asks.Namespace(), id, zone.String(), "history"), From: values.Get("from"), To: values.Get("to"), Kind: values.Get("kind"),
	}
	for _, kind := range schedule.EventKinds() {
		page.Kinds = append(page.Kinds, string(kind))
	}
	a := &answer{view: "history", title: "History of " + id, data: page}
	from, to, err := rangeFields(page.From, page.To, zone)
	if err != nil {
		page.Problem = refusal.Of(err)
		return a, nil
	}
	page.IsNewest = from.IsZero()
	request := schedule.HistoryRequest{ID: id, From: from, To: to, Newest: page.IsNewest, PageSize: pastEventsShown, PageToken: values.Get("after")}
	if page.Kind != "" {
		request.Kinds = []schedule.EventKind{schedule.EventKind(page.Kind)}
	}
	reply, err := asks.History(r.Context(), request)
	if err != nil {
		return nil, err
	}
	page.show(&reply, p.config.Now(), zone)
	return a, nil
}

func (h *pastEvents) show(reply *schedule.HistoryReply, now time.Time, zone *time.Location) {
	if h.IsNewest {
		h.Events = reversed(reply.Events, now, zone)
		return
	}
	for i := range reply.Events {
		h.Events = append(h.Events, eventOf(&reply.Events[i], now, zone))
	}
	if reply.NextPageToken != "" {
		h.Next = queryOf("from", h.From, "to", h.To, "kind", h.Kind, "after", reply.NextPageToken)
	}
}

package pages

import (
	"net/http"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// calendarsShown is how many calendars one page of the list has, and entriesShown how many dates and windows the page of one has.
const calendarsShown, entriesShown = 100, 250

// calendarList is the page with the named calendars of a namespace.
type calendarList struct {
	Rows []calendarRow
	// Next is the address of the next page; empty on the last one.
	Next    string
	IsFirst bool
}

// calendarRow is a calendar in the list.
type calendarRow struct {
	Name, Address   string
	Dates, Windows  int
	Created, Change moment
}

// calendarOne is the page of one calendar.
type calendarOne struct {
	Name, Address, Identity string
	Dates                   []string
	Windows                 []windowRow
	// More counts the entries that the page leaves out.
	More            int
	Created, Change moment
	// Replan is how far the newest version has reached the schedules that use it; nil if there is nothing to say.
	Replan *schedule.Replan
	// Problem is why it cannot be deleted; nil if nobody has asked.
	Problem *refusal.Refusal
}

// windowRow is a time that is left out.
type windowRow struct{ From, To moment }

func (p *Pages) addCalendars() {
	p.page("GET "+Base+"{namespace}/calendars", p.calendars)
	p.page("GET "+Base+"{namespace}/calendars/{name}", p.calendar)
	p.page("POST "+Base+"{namespace}/calendars/{name}/delete", p.removeCalendar)
	p.page("GET "+Base+"{namespace}/new-calendar", p.newCalendar)
	p.page("POST "+Base+"{namespace}/new-calendar", p.writeCalendar)
	p.page("GET "+Base+"{namespace}/calendars/{name}/edit", p.editCalendar)
	p.page("POST "+Base+"{namespace}/calendars/{name}/edit", p.writeCalendar)
}

// calendars lists the calendars.
func (p *Pages) calendars(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	after := r.URL.Query().Get("after")
	found, err := asks.ListCalendars(r.Context(), schedule.ListRequest{PageSize: calendarsShown, PageToken: after})
	if err != nil {
		return nil, err
	}
	list, now := &calendarList{IsFirst: after == ""}, p.config.Now()
	for i := range found.Calendars {
		c := &found.Calendars[i]
		list.Rows = append(list.Rows, calendarRow{
			c.Name, address(asks.Namespace(), "calendars", c.Name), c.Dates, c.Windows, momentOf(c.CreateTime, now, time.UTC), momentOf(c.UpdateTime, now, time.UTC),
		})
	}
	if found.NextPageToken != "" {
		list.Next = queryOf("after", found.NextPageToken)
	}
	return &answer{view: "calendars", title: "Calendars", data: list}, nil
}

// calendar shows one calendar.
func (p *Pages) calendar(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	one, err := p.calendarOne(r, asks)
	if err != nil {
		return nil, err
	}
	return one.page(), nil
}

func (c *calendarOne) page() *answer { return &answer{view: "named-calendar", title: c.Name, data: c} }

func (p *Pages) calendarOne(r *http.Request, asks *speaker.Speaker) (*calendarOne, error) {
	d, err := asks.DescribeCalendar(r.Context(), r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	now := p.config.Now()
	one := &calendarOne{
		Name: d.Name, Address: address(asks.Namespace(), "calendars", d.Name), Identity: d.Info.Identity, Replan: d.Info.Replan,
		Created: momentOf(d.Info.CreateTime, now, time.UTC), Change: momentOf(d.Info.UpdateTime, now, time.UTC),
		More: max(len(d.Dates)-entriesShown, 0) + max(len(d.Windows)-entriesShown, 0),
	}
	for _, dates := range d.Dates[:min(len(d.Dates), entriesShown)] {
		one.Dates = append(one.Dates, string(dates))
	}
	for _, w := range d.Windows[:min(len(d.Windows), entriesShown)] {
		one.Windows = append(one.Windows, windowRow{momentOf(w.From, now, time.UTC), momentOf(w.To, now, time.UTC)})
	}
	return one, nil
}

// removeCalendar deletes a calendar. If schedules use it, its page says so.
func (p *Pages) removeCalendar(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	err := asks.DeleteCalendar(r.Context(), r.PathValue("name"))
	if schedule.CodeOf(err) == schedule.CodeFailedPrecondition {
		one, gone := p.calendarOne(r, asks)
		if gone != nil {
			return nil, gone
		}
		one.Problem = refusal.Of(err)
		return one.page(), nil
	}
	if err != nil {
		return nil, err
	}
	return &answer{to: address(asks.Namespace(), "calendars") + "?said=calendar-deleted"}, nil
}

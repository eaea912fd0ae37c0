package pages

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// scheduleHead is what all pages about one schedule begin with.
type scheduleHead struct {
	ID, Address, Zone string
	// Tab is the page of Tabs that is shown.
	Tab  string
	Tabs []tab
}

// tab is a page about a schedule. Part is the last part of its address; that of the first page is empty.
type tab struct{ Part, Name string }

var tabsOfASchedule = []tab{
	{"", "Overview"}, {"calendar", "Calendar"}, {"runs", "Runs"}, {"history", "History"}, {"audit", "Audit"}, {"edit", "Edit"}, {"copy", "Copy"},
}

func headOf(namespace, id, zone, part string) scheduleHead {
	return scheduleHead{ID: id, Address: address(namespace, "schedules", id), Zone: zone, Tab: part, Tabs: tabsOfASchedule}
}

// addScheduleParts adds the pages of one schedule beside the first.
func (p *Pages) addScheduleParts() {
	const one = Base + "{namespace}/schedules/{id}/"
	p.page("GET "+one+"calendar", p.scheduleCalendar)
	p.page("GET "+one+"runs", p.runs)
	p.page("GET "+one+"history", p.scheduleHistory)
	p.page("GET "+one+"audit", p.scheduleAudit)
	p.page("GET "+one+"copy", p.scheduleCopy)
	p.page("GET "+one+"trigger", p.triggerForm)
	p.page("POST "+one+"trigger", p.trigger)
	p.page("GET "+one+"backfill", p.backfillForm)
	p.page("POST "+one+"backfill", p.backfill)
}

// localTime is the form of a time in a field for times.
const localTime = "2006-01-02T15:04"

// timeField reads a time as somebody has written it into a field, in a zone. No text is no time.
func timeField(field, text string, zone *time.Location) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{localTime, "2006-01-02T15:04:05", time.RFC3339Nano} {
		if at, err := time.ParseInLocation(form, text, zone); err == nil {
			return at, nil
		}
	}
	return time.Time{}, schedule.Invalid(field, "is %q: give a date and a time, such as %s", text, localTime)
}

// rangeFields reads the bounds of a range as somebody has written them into two fields.
func rangeFields(from, to string, zone *time.Location) (begin, end time.Time, err error) {
	begin, err1 := timeField("from", from, zone)
	end, err2 := timeField("to", to, zone)
	return begin, end, cmp.Or(err1, err2)
}

// neededTime is timeField for a field that must not be empty.
func neededTime(field, text string, zone *time.Location) (time.Time, error) {
	at, err := timeField(field, text, zone)
	if err == nil && at.IsZero() {
		err = schedule.Invalid(field, "is missing: give a date and a time, such as %s", localTime)
	}
	return at, err
}

// described returns a schedule and its zone.
func described(r *http.Request, asks *speaker.Speaker) (*schedule.Description, *time.Location, error) {
	d, err := asks.Describe(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, nil, err
	}
	return &d, zoneOf(&d), nil
}

// zoneOfID returns the zone of a schedule that may have been deleted, and then UTC.
func zoneOfID(r *http.Request, asks *speaker.Speaker, id string) *time.Location {
	if d, err := asks.Describe(r.Context(), id); err == nil {
		return zoneOf(&d)
	}
	return time.UTC
}

// queryOf returns the part of an address after the path. Values that are empty are left out.
func queryOf(pairs ...string) string {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

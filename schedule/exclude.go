package schedule

import (
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
)

// DateRange is a date such as "2026-12-25", or a range of dates such as "2026-12-24/2026-12-26" with both ends included. The years are 2000
// to 2100. It stands for whole local days in a time zone, even if they are not 24 hours long.
type DateRange string

// Bounds returns the first and the last date of r, as midnight in UTC. The error is an *Error without a path.
func (r DateRange) Bounds() (first, last time.Time, err error) {
	from, to, isRange := strings.Cut(string(r), "/")
	if first, err = parseDate(from); err != nil || !isRange {
		return first, first, err
	}
	if last, err = parseDate(to); err != nil {
		return time.Time{}, time.Time{}, err
	}
	if last.Before(first) {
		return time.Time{}, time.Time{}, Invalid("", "%q ends before it starts: write the earlier date first", string(r))
	}
	return first, last, nil
}

// Validate reports what is wrong with r, if anything: see [DateRange.Bounds].
func (r DateRange) Validate() error {
	_, _, err := r.Bounds()
	return err
}

func parseDate(text string) (time.Time, error) {
	date, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, Invalid("", "%q is not a date: use one such as 2026-12-25, or a range such as "+
			"2026-12-24/2026-12-26", jsontext.Shorten(text))
	}
	if date.Year() < MinYear || date.Year() > MaxYear {
		return time.Time{}, Invalid("", "%q is out of range: use the years %d to %d", text, MinYear, MaxYear)
	}
	return date, nil
}

// Blackout is a span of time: From ≤ t < To, so adjacent blackouts leave no gap and do not overlap. It applies to nominal times: jitter may
// move an action from before a blackout into it.
type Blackout struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Validate reports what is wrong with b, if anything, as an *Error about "from" or "to".
func (b Blackout) Validate() error {
	switch {
	case b.From.IsZero():
		return Invalid("from", "is missing: use a time in RFC 3339")
	case b.To.IsZero():
		return Invalid("to", "is missing: use a time in RFC 3339")
	case !b.From.Before(b.To):
		return Invalid("to", "%s is not after from (%s): use a later time, it is the first one that is not blacked out",
			b.To.Format(time.RFC3339Nano), b.From.Format(time.RFC3339Nano))
	}
	return nil
}

// Bounds of named calendars: the entries of one calendar (dates and windows together), the calendars that a spec names, and the calendars
// of a namespace. A stored definition contains the entries of the calendars that its spec names. With these bounds, they fit in a record
// together with the largest input.
const (
	MaxCalendarEntries = 1000
	MaxNamedCalendars  = 10
	MaxCalendars       = 1000
)

// NamedCalendar holds dates and windows that schedules of a namespace share, such as the holidays of a country. A spec names it in
// [Spec.ExcludeCalendarsNamed]; its dates are then days in the time zone of that spec.
type NamedCalendar struct {
	// Name is 1 to 255 bytes of text.
	Name string `json:"name"`
	// Dates and Windows hold at most [MaxCalendarEntries] entries together.
	Dates   []DateRange `json:"dates,omitempty"`
	Windows []Blackout  `json:"windows,omitempty"`
}

// Validate reports the first thing in c that can never work, as an *Error with a path such as "dates[2]".
func (c NamedCalendar) Validate() error {
	if err := ValidateID("name", c.Name); err != nil {
		return err
	}
	if entries := len(c.Dates) + len(c.Windows); entries > MaxCalendarEntries {
		return Invalid("", "has %d dates and windows: at most %d are accepted", entries, MaxCalendarEntries)
	}
	return validateExcluded("dates", c.Dates, "windows", c.Windows, MaxCalendarEntries)
}

// SameEntries reports whether two calendars have the same entries in the same order.
func (c NamedCalendar) SameEntries(other NamedCalendar) bool {
	return slices.Equal(c.Dates, other.Dates) && slices.EqualFunc(c.Windows, other.Windows, func(a, b Blackout) bool {
		return a.From.Equal(b.From) && a.To.Equal(b.To)
	})
}

func validateExcluded(datePath string, dates []DateRange, windowPath string, windows []Blackout, limit int) error {
	if err := validateEach(datePath, dates, limit, DateRange.Validate); err != nil {
		return err
	}
	return validateEach(windowPath, windows, limit, Blackout.Validate)
}

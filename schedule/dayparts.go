package schedule

import (
	"strings"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
)

// dayParts are the forms of an item that only a day field has. They depend on the month.
type dayParts struct {
	// parse reads an item into c. It returns false if the item has none of the forms.
	parse func(f *calendarField, item string, c *StructuredCalendar) (bool, error)
	// examples of the forms, for errors.
	examples string
}

var (
	dayOfMonthParts = dayParts{parse: parseDayOfMonthPart, examples: "L, L-3, LW, 15W"}
	dayOfWeekParts  = dayParts{parse: parseDayOfWeekPart, examples: "fri#2, friL"}
)

// Bounds of the parts of the day fields.
const (
	maxDaysBack = 30 // from the last day of the longest month to its first
	maxNth      = 5
)

// parseDayOfMonthPart reads "L", "L-3", "LW" and "15W", in any case.
func parseDayOfMonthPart(f *calendarField, item string, c *StructuredCalendar) (bool, error) {
	upper := strings.ToUpper(item)
	if upper == "LW" {
		c.LastWeekday = true
		return true, nil
	}
	if back, found := strings.CutPrefix(upper, "L"); found {
		days, err := f.parseDaysBack(item, back)
		c.LastDayOfMonth = append(c.LastDayOfMonth, Range{Start: days, End: days})
		return true, err
	}
	if day, found := strings.CutSuffix(upper, "W"); found {
		value, ok := parseNumber(day)
		if !ok || value < f.min || value > f.max {
			return true, Invalid(f.name, "%q is not accepted: write one day from %d to %d before W, or LW", jsontext.Shorten(item),
				f.min, f.max)
		}
		c.NearestWeekday = append(c.NearestWeekday, Range{Start: value, End: value})
		return true, nil
	}
	return false, nil
}

// parseDaysBack reads what follows L: nothing, or "-3".
func (f *calendarField) parseDaysBack(item, text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	number, found := strings.CutPrefix(text, "-")
	days, ok := parseNumber(number)
	if !found || !ok || days < 1 || days > maxDaysBack {
		return 0, Invalid(f.name, "%q is not accepted: write L, LW, or L-1 to L-%d", jsontext.Shorten(item), maxDaysBack)
	}
	return days, nil
}

// parseDayOfWeekPart reads "fri#2", "5#2", "friL" and "5L", in any case.
func parseDayOfWeekPart(f *calendarField, item string, c *StructuredCalendar) (bool, error) {
	if weekday, nth, found := strings.Cut(item, "#"); found {
		return true, f.parseNth(item, weekday, nth, c)
	}
	weekday, found := strings.CutSuffix(strings.ToUpper(item), "L")
	if !found {
		return false, nil
	}
	if weekday == "" {
		return true, Invalid(f.name, "%q is not accepted alone: name the day, such as friL or 5L for the last Friday", item)
	}
	day, err := f.parseWeekday(weekday)
	if err != nil {
		return true, err
	}
	c.LastDayOfWeek = append(c.LastDayOfWeek, Range{Start: day, End: day})
	return true, nil
}

// parseNth reads the two sides of "fri#2".
func (f *calendarField) parseNth(item, weekday, nth string, c *StructuredCalendar) error {
	day, err := f.parseWeekday(weekday)
	if err != nil {
		return err
	}
	n, ok := parseNumber(nth)
	if !ok || n < 1 || n > maxNth {
		return Invalid(f.name, "%q is not accepted: write a number from 1 to %d after #, or %sL for the last of the month",
			jsontext.Shorten(item), maxNth, weekday)
	}
	c.NthDayOfWeek = append(c.NthDayOfWeek, NthDayOfWeek{DayOfWeek: day, Nth: n})
	return nil
}

// parseWeekday reads one day of the week as 0 to 6, however Sunday is written.
func (f *calendarField) parseWeekday(text string) (int, error) {
	day, err := f.parseValue(text)
	if day > f.max {
		day = f.min
	}
	return day, err
}

// These fields exist only in a structured calendar; the string form writes them as items of a day field.
var (
	lastDayOfMonthField = calendarField{name: "lastDayOfMonth", min: 0, max: maxDaysBack}
	nearestWeekdayField = calendarField{name: "nearestWeekday", min: 1, max: 31}
	lastDayOfWeekField  = calendarField{name: "lastDayOfWeek", min: 0, max: 6}
)

func (c *StructuredCalendar) validateDayParts() error {
	for _, part := range []struct {
		field  *calendarField
		ranges []Range
	}{
		{&lastDayOfMonthField, c.LastDayOfMonth}, {&nearestWeekdayField, c.NearestWeekday}, {&lastDayOfWeekField, c.LastDayOfWeek},
	} {
		if err := validateEach(part.field.name, part.ranges, maxRanges, part.field.check); err != nil {
			return err
		}
	}
	return validateEach("nthDayOfWeek", c.NthDayOfWeek, maxRanges, NthDayOfWeek.Validate)
}

// Validate reports a value that is out of range, as an *Error about "dayOfWeek" or "nth".
func (n NthDayOfWeek) Validate() error {
	switch {
	case n.DayOfWeek < 0 || n.DayOfWeek > 6:
		return Invalid("dayOfWeek", "%d is out of range: use 0 (Sunday) to 6", n.DayOfWeek)
	case n.Nth < 1 || n.Nth > maxNth:
		return Invalid("nth", "%d is out of range: use 1 to %d", n.Nth, maxNth)
	}
	return nil
}

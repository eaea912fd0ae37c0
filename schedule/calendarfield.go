package schedule

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
)

// Bounds of fields that other packages need as well (docs/semantics.md §2).
const (
	// MinYear is the first year that a calendar can name. A calendar that names no year also matches earlier years.
	MinYear = 2000
	// MaxYear is the last year in which anything is due.
	MaxYear = 2100
	// MaxCommentBytes bounds the comment of a calendar or a cron expression.
	MaxCommentBytes = 200
)

// maxStep is the largest step of a range. A step above the span of a field selects only its start, so this bound exists only to prevent
// overflows.
const maxStep = math.MaxInt32

// maxItems bounds the list in a field. No field has that many values. One item gives at most two ranges.
const maxItems = maxRanges / 2

// calendarField describes one field of a calendar. The bounds are only in the table calendarFields.
type calendarField struct {
	name     string
	min, max int
	// absent is the text that an empty string stands for.
	absent string
	// names are the lower-case names of the values; names[0] is the name of min. shortest is how many letters select a name.
	names    []string
	shortest int
	// wraps says that max+1 also means min, as 7 means Sunday.
	wraps bool
	// parts are additional forms that an item can have, if any.
	parts *dayParts
}

// The fields of a calendar, as indices into calendarFields, Calendar.texts and StructuredCalendar.fields.
const (
	fieldSecond = iota
	fieldMinute
	fieldHour
	fieldDayOfMonth
	fieldMonth
	fieldYear
	fieldDayOfWeek
	fieldCount
)

var calendarFields = [fieldCount]calendarField{
	fieldSecond:     {name: "second", min: 0, max: 59, absent: "0"},
	fieldMinute:     {name: "minute", min: 0, max: 59, absent: "0"},
	fieldHour:       {name: "hour", min: 0, max: 23, absent: "0"},
	fieldDayOfMonth: {name: "dayOfMonth", min: 1, max: 31, absent: "*", parts: &dayOfMonthParts},
	fieldMonth:      {name: "month", min: 1, max: 12, absent: "*", names: monthNames, shortest: 3},
	fieldYear:       {name: "year", min: MinYear, max: MaxYear, absent: "*"},
	fieldDayOfWeek: {
		name: "dayOfWeek", min: 0, max: 6, absent: "*", names: weekdayNames, shortest: 2, wraps: true, parts: &dayOfWeekParts,
	},
}

var (
	monthNames = []string{
		"january", "february", "march", "april", "may", "june",
		"july", "august", "september", "october", "november", "december",
	}
	weekdayNames = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
)

// parse reads the text of a field: a comma-separated list of items, with optional blanks around the list. Items that are not ranges, such
// as L, go to c.
func (f *calendarField) parse(text string, c *StructuredCalendar) ([]Range, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		text = f.absent
	}
	if items := strings.Count(text, ",") + 1; items > maxItems {
		return nil, Invalid(f.name, "has %d items: at most %d are accepted", items, maxItems)
	}
	var ranges []Range
	for item := range strings.SplitSeq(text, ",") {
		if f.parts != nil {
			if taken, err := f.parts.parse(f, item, c); err != nil {
				return nil, err
			} else if taken {
				continue
			}
		}
		r, err := f.parseItem(item)
		if err != nil {
			return nil, err
		}
		ranges = append(ranges, f.unwrap(r)...)
	}
	return ranges, nil
}

// parseItem reads "*", "x", "x-z", each optionally followed by "/step". In a field that wraps, the result may end at
// max+1.
func (f *calendarField) parseItem(item string) (Range, error) {
	span, stepText, stepped := strings.Cut(item, "/")
	r, err := f.parseSpan(span, stepped)
	if err != nil {
		return Range{}, err
	}
	if !stepped {
		return r, nil
	}
	step, ok := parseNumber(stepText)
	if !ok || step < 1 {
		return Range{}, Invalid(f.name, "%q has no valid step: write a number from 1 to %d after the slash", jsontext.Shorten(item), maxStep)
	}
	r.Step = step
	return r, nil
}

// parseSpan reads the part of an item before the slash. If a step follows, a single value is the start of an open range; that range
// includes Sunday as 7.
func (f *calendarField) parseSpan(span string, stepped bool) (Range, error) {
	if span == "*" {
		return Range{Start: f.min, End: f.max}, nil
	}
	first, last, isRange := strings.Cut(span, "-")
	start, err := f.parseValue(first)
	if err != nil {
		return Range{}, err
	}
	if !isRange {
		if stepped {
			return Range{Start: start, End: f.top()}, nil
		}
		return Range{Start: start, End: start}, nil
	}
	end, err := f.parseValue(last)
	if err != nil {
		return Range{}, err
	}
	if end < start {
		return Range{}, Invalid(f.name, "%q ends before it starts: write the smaller value first, or two ranges", jsontext.Shorten(span))
	}
	return Range{Start: start, End: end}, nil
}

// parseValue reads a number within the bounds, or a name.
func (f *calendarField) parseValue(text string) (int, error) {
	if value, ok := f.lookup(text); ok {
		return value, nil
	}
	value, ok := parseNumber(text)
	if !ok {
		return 0, Invalid(f.name, "%q is not accepted: use %s", jsontext.Shorten(text), f.accepted())
	}
	if value < f.min || value > f.top() {
		return 0, Invalid(f.name, "%q is out of range: use %d to %d", jsontext.Shorten(text), f.min, f.top())
	}
	return value, nil
}

// lookup finds the value whose name begins with text, in any case.
func (f *calendarField) lookup(text string) (int, bool) {
	if f.names == nil || len(text) < f.shortest {
		return 0, false
	}
	lower := strings.ToLower(text)
	for i, name := range f.names {
		if strings.HasPrefix(name, lower) {
			return f.min + i, true
		}
	}
	return 0, false
}

// top is the largest number that may be written.
func (f *calendarField) top() int {
	if f.wraps {
		return f.max + 1
	}
	return f.max
}

// unwrap turns a range that reaches max+1 into ranges within the bounds.
func (f *calendarField) unwrap(r Range) []Range {
	if r.End <= f.max {
		return []Range{r}
	}
	sunday := Range{Start: f.min, End: f.min}
	if r.Start > f.max {
		return []Range{sunday}
	}
	within := Range{Start: r.Start, End: f.max, Step: r.Step}
	if (r.End-r.Start)%max(r.Step, 1) != 0 {
		return []Range{within}
	}
	return []Range{within, sunday}
}

// accepted says in a few words what the field takes.
func (f *calendarField) accepted() string {
	values := fmt.Sprintf("%d to %d", f.min, f.top())
	if f.names != nil {
		values += fmt.Sprintf(" or names such as %s", f.names[0][:f.shortest])
	}
	if f.parts != nil {
		values += ", " + f.parts.examples
	}
	return fmt.Sprintf("*, %s, ranges such as x-z, steps such as */y, and lists of those", values)
}

// check says whether r lies within the bounds of the field.
func (f *calendarField) check(r Range) error {
	switch {
	case r.Start < f.min || r.Start > f.max:
		return Invalid("start", "%d is out of range: use %d to %d", r.Start, f.min, f.max)
	case r.End < 0 || r.End > f.max:
		return Invalid("end", "%d is out of range: use %d to %d, or 0 for the start alone", r.End, f.min, f.max)
	case r.Step < 0 || r.Step > maxStep:
		return Invalid("step", "%d is out of range: use 1 to %d, or 0 for 1", r.Step, maxStep)
	}
	return nil
}

// parseNumber reads decimal digits without a sign, up to 2^31-1.
func parseNumber(text string) (int, bool) {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
	}
	value, err := strconv.ParseInt(text, 10, 32)
	return int(value), err == nil
}

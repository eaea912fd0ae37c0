package prose

import (
	"slices"
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// calendarRole is what a calendar is for in a spec.
type calendarRole bool

const (
	asSource  calendarRole = false
	asExclude calendarRole = true
)

// dateSet holds the days of a calendar, each part as a list of values.
type dateSet struct {
	ofMonth, fromEnd, nearest []int
	lastWeekday               bool
	months, years             []int
	// ofWeek has 1 for Monday to 7 for Sunday: in words the week begins on Monday, so that Saturday and Sunday stand together.
	// turns has, for each of those days, the numbers of its turns in the month; 6 is the last one.
	ofWeek []int
	turns  [8][]int
}

// lastTurn is the last turn of a weekday in a month. It follows the five turns that a weekday can have.
const lastTurn = 6

func newDateSet(c *schedule.StructuredCalendar) dateSet {
	d := dateSet{
		ofMonth: valuesOf(c.DayOfMonth), fromEnd: valuesOf(c.LastDayOfMonth), nearest: valuesOf(c.NearestWeekday),
		lastWeekday: c.LastWeekday, months: valuesOf(c.Month), years: valuesOf(c.Year),
	}
	for _, weekday := range valuesOf(c.DayOfWeek) {
		d.ofWeek = append(d.ofWeek, mondayFirst(weekday))
	}
	slices.Sort(d.ofWeek)
	for _, n := range c.NthDayOfWeek {
		weekday := mondayFirst(n.DayOfWeek)
		d.turns[weekday] = append(d.turns[weekday], n.Nth)
	}
	for _, weekday := range valuesOf(c.LastDayOfWeek) {
		weekday = mondayFirst(weekday)
		d.turns[weekday] = append(d.turns[weekday], lastTurn)
	}
	for weekday := range d.turns {
		slices.Sort(d.turns[weekday])
		d.turns[weekday] = slices.Compact(d.turns[weekday])
	}
	return d
}

// mondayFirst numbers the days of the week from 1 for Monday to 7 for Sunday.
func mondayFirst(weekday int) int { return (weekday+6)%7 + 1 }

// empty reports whether a field is empty, so that no day matches.
func (d *dateSet) empty() bool {
	return len(d.months) == 0 || len(d.ofMonth) == 0 && !d.byMonthParts() || len(d.ofWeek) == 0 && !d.byTurns()
}

// byMonthParts reports whether days count from the end of the month or move to a weekday.
func (d *dateSet) byMonthParts() bool {
	return len(d.fromEnd) > 0 || len(d.nearest) > 0 || d.lastWeekday
}

// byTurns reports whether there are days such as the second Friday.
func (d *dateSet) byTurns() bool {
	return slices.ContainsFunc(d.turns[:], func(turns []int) bool { return len(turns) > 0 })
}

func (d *dateSet) byDate() bool { return len(d.ofMonth) < 31 }

func (d *dateSet) byWeekday() bool { return len(d.ofWeek) < 7 }

func (d *dateSet) byMonth() bool { return len(d.months) < 12 }

func (d *dateSet) byYear() bool {
	return len(d.years) > 0 && len(d.years) <= schedule.MaxYear-schedule.MinYear
}

func (d *dateSet) restricted() bool { return d.byDate() || d.byWeekday() || d.byMonth() || d.byYear() }

// eitherDays returns how many of the first calendars to describe as one. It is two for calendars that differ only in their days,
// the first by day of month, the second by day of week: a cron expression with both fields is parsed into such calendars.
// Otherwise it is one.
func eitherDays(calendars []schedule.StructuredCalendar) int {
	if len(calendars) < 2 {
		return 1
	}
	a, b := newDateSet(&calendars[0]), newDateSet(&calendars[1])
	if !a.byDate() || a.byWeekday() || b.byDate() || !b.byWeekday() || a.empty() || b.empty() {
		return 1
	}
	same := slices.Equal(a.months, b.months) && slices.Equal(a.years, b.years)
	for _, field := range []func(*schedule.StructuredCalendar) []schedule.Range{
		func(c *schedule.StructuredCalendar) []schedule.Range { return c.Hour },
		func(c *schedule.StructuredCalendar) []schedule.Range { return c.Minute },
		func(c *schedule.StructuredCalendar) []schedule.Range { return c.Second },
	} {
		same = same && slices.Equal(valuesOf(field(&calendars[0])), valuesOf(field(&calendars[1])))
	}
	if !same {
		return 1
	}
	return 2
}

// calendarWords describes one calendar, or two that differ only in their days.
func calendarWords(calendars []schedule.StructuredCalendar, as calendarRole) string {
	k, ok := newClockSet(&calendars[0])
	d := newDateSet(&calendars[0])
	if !ok || d.empty() {
		return "never (a field is empty)"
	}
	var dates string
	if len(calendars) == 2 {
		second := newDateSet(&calendars[1])
		dates = d.eitherWords(&second) + d.spanWords(false)
	} else {
		dates = d.words()
	}
	if as == asExclude {
		return exclusionWords(&k, dates)
	}
	if everyDay := !k.cyclic() && !k.allHours() && len(calendars) == 1 && !d.byDate() && !d.byWeekday(); everyDay {
		dates = " every day" + dates
	}
	return k.words() + dates
}

// exclusionWords describes an exclude. If it excludes whole days it names only the days.
func exclusionWords(k *clockSet, dates string) string {
	clock := k.excludeWords()
	switch {
	case clock == "" && dates == "":
		return "always"
	case clock == "":
		return strings.TrimLeft(dates, ", ")
	}
	return clock + dates
}

const ofTheMonth = " of the month"

// eitherWords describes the days that d or other match.
func (d *dateSet) eitherWords(other *dateSet) string {
	return d.dateWords() + ofTheMonth + " or" + strings.TrimPrefix(other.weekdayWords(ofTheMonth), ",")
}

// words describes the days, beginning with a blank or a comma; "" for every day.
func (d *dateSet) words() string {
	of, named := d.ofMonths()
	switch {
	case d.byDate() && d.byWeekday():
		only := ", only" + strings.TrimPrefix(d.weekdayWords(ofTheMonth), ",")
		return d.dateWords() + of + d.spanWords(named) + only
	case d.byDate():
		return d.dateWords() + of + d.spanWords(named)
	case len(d.ofWeek) == 0:
		return d.weekdayWords(of) + d.spanWords(named)
	}
	return d.weekdayWords(ofTheMonth) + d.spanWords(false)
}

// ofMonths returns the words that follow days of a month: " of January and July" if the months are few; then named is true.
func (d *dateSet) ofMonths() (words string, named bool) {
	if months, joined := rangeWords(d.months, monthName); d.byMonth() && !joined {
		return " of " + months, true
	}
	return ofTheMonth, false
}

// dateWords describes the days of the month.
func (d *dateSet) dateWords() string {
	var parts []string
	if p, even := progressionOf(d.ofMonth); even && p.worthSaying() {
		parts = append(parts, "on every "+ordinal(p.step)+" day from the "+ordinal(p.first)+" to the "+ordinal(p.last()))
	} else if len(d.ofMonth) > 0 {
		listed, _ := rangeWords(d.ofMonth, ordinal)
		parts = append(parts, "on the "+listed)
	}
	if len(d.nearest) > 0 {
		listed, _ := rangeWords(d.nearest, ordinal)
		parts = append(parts, "on the "+pluralWords(len(d.nearest), "weekday")+" nearest the "+listed)
	}
	for _, back := range slices.Backward(d.fromEnd) {
		if back > 0 {
			parts = append(parts, "on the "+ordinal(back)+" day before the last")
			continue
		}
		parts = append(parts, "on the last day")
	}
	if d.lastWeekday {
		parts = append(parts, "on the last weekday")
	}
	return " " + listWords(parts, "and")
}

// weekdayWords describes the days of the week: " on Mondays", ", Monday to Friday" or " on the second Friday of the month".
func (d *dateSet) weekdayWords(of string) string {
	if !d.byWeekday() {
		return ""
	}
	words, joined := rangeWords(d.ofWeek, weekdayName)
	start := ", "
	if !joined {
		words, _ = rangeWords(d.ofWeek, func(weekday int) string { return weekdayName(weekday) + "s" })
		start = " on "
	}
	if d.byTurns() {
		if words != "" {
			words += " and "
		}
		words += d.turnWords() + of
	}
	return start + words
}

var turnNames = [...]string{1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", lastTurn: "last"}

// turnWords returns words such as "the first and third Monday and the last Friday".
func (d *dateSet) turnWords() string {
	var parts []string
	for weekday, turns := range d.turns {
		var names []string
		for _, turn := range turns {
			names = append(names, turnNames[turn])
		}
		if len(names) > 0 {
			parts = append(parts, "the "+listWords(names, "and")+" "+weekdayName(weekday))
		}
	}
	return listWords(parts, "and")
}

// spanWords describes months and years. named is set if the months have been named already.
func (d *dateSet) spanWords(named bool) string {
	months, joined := rangeWords(d.months, monthName)
	switch {
	case !d.byMonth():
		return d.yearWords(" in ")
	case joined:
		return ", " + months + d.yearWords(" in ")
	case named:
		return d.yearWords(" ")
	}
	return " in " + months + d.yearWords(" ")
}

// yearWords describes years. A single year follows before, which is " " after the name of a month.
func (d *dateSet) yearWords(before string) string {
	if !d.byYear() {
		return ""
	}
	if len(d.years) == 1 {
		return before + strconv.Itoa(d.years[0])
	}
	if p, even := progressionOf(d.years); even && p.worthSaying() {
		return " in every " + ordinal(p.step) + " year from " + strconv.Itoa(p.first) + " to " + strconv.Itoa(p.last())
	}
	words, joined := rangeWords(d.years, strconv.Itoa)
	if joined {
		return ", " + words
	}
	return " in " + words
}

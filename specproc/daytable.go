package specproc

import "github.com/carillon-scheduler/carillon/schedule"

// shortestMonth is the length of February.
const shortestMonth = 28

// dayTable has the matching days of a month as bits 1 to 31, by its length less shortestMonth and by the weekday of its first
// day. The day fields depend on nothing else of a month, not even "L", "15W" and "fri#2", so that such fields cost a search no
// more than others.
type dayTable [4][7]uint32

// of returns the matching days of a month. length is the length of the month, first the day number of its first day.
func (d *dayTable) of(length int, first int64) uint64 {
	return uint64(d[length-shortestMonth][weekday(first)])
}

// newDayTable combines both day fields of c. It is zero if no day can match.
func newDayTable(c *schedule.StructuredCalendar) (table dayTable) {
	daysOfMonth, daysOfWeek, last := mask(c.DayOfMonth), mask(c.DayOfWeek), mask(c.LastDayOfWeek)
	for i := range table {
		for first := range table[i] {
			m := monthShape{length: shortestMonth + i, first: first}
			byMonth := daysOfMonth | m.daysOfMonth(c)
			byWeek := m.onWeekdays(daysOfWeek) | m.onWeekdays(last)&m.fromTo(m.length-6, m.length) | m.nthDays(c)
			table[i][first] = uint32(byMonth & byWeek & m.fromTo(1, m.length))
		}
	}
	return table
}

// monthShape is all of a month that decides which of its days match.
type monthShape struct {
	length int
	first  int // weekday of the first day
}

func (m monthShape) weekday(day int) int { return (m.first + day - 1) % 7 }

// fromTo has a bit for each day from first to last.
func (m monthShape) fromTo(first, last int) uint64 { return 1<<(last+1) - 1<<first }

// daysOfMonth returns the days that the day of month field matches through its parts that depend on the month.
func (m monthShape) daysOfMonth(c *schedule.StructuredCalendar) (days uint64) {
	eachValue(c.LastDayOfMonth, func(back int) {
		if back < m.length {
			days |= 1 << (m.length - back)
		}
	})
	eachValue(c.NearestWeekday, func(day int) {
		if day <= m.length {
			days |= 1 << m.nearest(day)
		}
	})
	if c.LastWeekday {
		days |= 1 << m.nearest(m.length)
	}
	return days
}

// onWeekdays returns the days that fall on the given weekdays, of which bit 0 is Sunday. It sets bits after the end of the month
// as well.
func (m monthShape) onWeekdays(weekdays uint64) uint64 {
	week := (weekdays>>m.first | weekdays<<(7-m.first)) & (1<<7 - 1)
	return (week | week<<7 | week<<14 | week<<21 | week<<28) << 1
}

// nthDays returns the days that NthDayOfWeek of c matches.
func (m monthShape) nthDays(c *schedule.StructuredCalendar) (days uint64) {
	for _, nth := range c.NthDayOfWeek {
		days |= m.onWeekdays(1<<nth.DayOfWeek) & m.fromTo(7*nth.Nth-6, 7*nth.Nth)
	}
	return days
}

// nearest returns the day from Monday to Friday that is nearest to a day and lies in the same month.
func (m monthShape) nearest(day int) int {
	switch weekday := m.weekday(day); {
	case weekday == saturday && day == 1:
		return day + 2
	case weekday == saturday:
		return day - 1
	case weekday == sunday && day == m.length:
		return day - 2
	case weekday == sunday:
		return day + 1
	}
	return day
}

// The days of the weekend, as numbers of weekdays.
const (
	sunday   = 0
	saturday = 6
)

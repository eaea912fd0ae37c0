package specproc

import "github.com/carillon-scheduler/carillon/schedule"

// calendar is a structured calendar as bit masks. Every mask has at least one bit: a calendar with an empty field
// matches nothing and is left out when a spec is compiled.
type calendar struct {
	dateFields
	clockFields
	// first is the first matching second of a matching day.
	first int
	// wholeDay is set if every second of a matching day matches.
	wholeDay bool
}

// clockFields are the fields of a calendar that a second of a day must match. Bit n stands for the value n.
type clockFields struct{ seconds, minutes, hours uint64 }

// dateFields are the fields of a calendar that a day must match.
type dateFields struct {
	months uint64 // bits 1 to 12
	// years has a bit for each year from 2000 on. anyYear is set if no year was named; then earlier years match as well.
	years   [2]uint64
	anyYear bool
	// days has the days of a month that match both the day of month and the day of week.
	days dayTable
}

const (
	allSixty = 1<<60 - 1
	allHours = 1<<24 - 1
)

// newCalendar compiles c, which is valid. It returns false if c can never match because a field is empty.
func newCalendar(c *schedule.StructuredCalendar) (calendar, bool) {
	compiled := calendar{
		dateFields:  dateFields{months: mask(c.Month), years: yearMask(c.Year), anyYear: len(c.Year) == 0},
		clockFields: clockFields{seconds: mask(c.Second), minutes: mask(c.Minute), hours: mask(c.Hour)},
	}
	for _, field := range []uint64{compiled.seconds, compiled.minutes, compiled.hours, compiled.months} {
		if field == 0 {
			return calendar{}, false
		}
	}
	if compiled.days = newDayTable(c); compiled.days == (dayTable{}) {
		return calendar{}, false
	}
	compiled.first, _ = compiled.nextClock(0)
	compiled.wholeDay = compiled.seconds == allSixty && compiled.minutes == allSixty && compiled.hours == allHours
	return compiled, true
}

// mask sets a bit for each value of ranges, which are below 64.
func mask(ranges []schedule.Range) uint64 {
	var m uint64
	eachValue(ranges, func(value int) { m |= 1 << value })
	return m
}

// yearMask sets a bit for each year of ranges, bit 0 being 2000.
func yearMask(ranges []schedule.Range) [2]uint64 {
	var m [2]uint64
	eachValue(ranges, func(year int) {
		n := year - schedule.MinYear
		m[n/64] |= 1 << (n % 64)
	})
	return m
}

func eachValue(ranges []schedule.Range, yield func(int)) {
	for _, r := range ranges {
		end, step := max(r.Start, r.End), max(r.Step, 1)
		for value := r.Start; value <= end; value += step {
			yield(value)
		}
	}
}

// next returns the first matching second in after < t < limit, or never. It applies the zone's rules for changes of the clock.
func (c *calendar) next(z *zone, after, limit int64) int64 {
	for i, t := z.index(after+1), after+1; t < limit; i++ {
		seg := &z.segments[i]
		if t == seg.start && seg.gap > 0 && c.matchesGap(seg) {
			return t
		}
		if from, to := max(t, seg.from), min(seg.to, limit); from < to {
			if local := c.nextLocal(from+seg.offset, to+seg.offset); local < to+seg.offset {
				return local - seg.offset
			}
		}
		t = seg.until
	}
	return never
}

// matchesGap reports whether the calendar matches a wall time that the clock change at the start of a segment has skipped.
func (c *calendar) matchesGap(seg *segment) bool {
	end := seg.start + seg.offset
	return c.nextLocal(end-seg.gap, end) < end
}

// nextLocal returns the first matching second from ≤ t < until on a clock that runs evenly. If there is none, it returns a number
// that is not below until.
func (c *calendar) nextLocal(from, until int64) int64 {
	lastDay := floorDiv(until-1, daySeconds)
	today, clock := splitDay(from)
	day := c.nextDay(today, lastDay)
	if day == today {
		if second, ok := c.nextClock(clock); ok {
			return day*daySeconds + int64(second)
		}
		day = c.nextDay(today+1, lastDay)
	}
	if day == never {
		return never
	}
	return day*daySeconds + int64(c.first)
}

// nextDay returns the first matching day, as a day number, in from ≤ day ≤ last, or never.
func (c *dateFields) nextDay(from, last int64) int64 {
	if from > last {
		return never
	}
	year, month, dayOfMonth := civil(from)
	first := from - int64(dayOfMonth-1)
	for {
		y, m := c.nextMonth(year, month)
		if y > schedule.MaxYear {
			return never
		}
		if y != year || m != month {
			year, month, dayOfMonth = y, m, 1
			first = firstOfMonth(year, month)
		}
		if first > last {
			return never
		}
		length := monthLength(year, month)
		if day := nextBit(c.days.of(length, first), dayOfMonth); day <= length {
			if found := first + int64(day-1); found <= last {
				return found
			}
			return never
		}
		first += int64(length)
		month, dayOfMonth = month+1, 1
		if month > 12 {
			year, month = year+1, 1
		}
	}
}

// nextMonth returns the first matching month that is not before the given one. If there is none, the year is after MaxYear.
func (c *dateFields) nextMonth(year, month int) (int, int) {
	if c.matchesYear(year) {
		if m := nextBit(c.months, month); m <= 12 {
			return year, m
		}
	}
	return c.nextYear(year + 1), nextBit(c.months, 1)
}

func (c *dateFields) matchesYear(year int) bool {
	n := year - schedule.MinYear
	return c.anyYear || n >= 0 && n < 128 && c.years[n/64]>>(n%64)&1 == 1
}

// nextYear returns the first matching year that is not before the given one. If there is none, it is after MaxYear.
func (c *dateFields) nextYear(year int) int {
	if c.anyYear {
		return year
	}
	for year = max(year, schedule.MinYear); year <= schedule.MaxYear && !c.matchesYear(year); {
		year++
	}
	return year
}

// nextClock returns the first matching second of a day that is not before clock, if there is one.
func (c *clockFields) nextClock(clock int) (int, bool) {
	hour, minute, second := clock/hourSeconds, clock/60%60, clock%60
	if c.hours>>hour&1 == 1 {
		if c.minutes>>minute&1 == 1 {
			if s := nextBit(c.seconds, second); s < 60 {
				return hour*hourSeconds + minute*60 + s, true
			}
		}
		if m := nextBit(c.minutes, minute+1); m < 60 {
			return hour*hourSeconds + m*60 + nextBit(c.seconds, 0), true
		}
	}
	if h := nextBit(c.hours, hour+1); h < 24 {
		return h*hourSeconds + nextBit(c.minutes, 0)*60 + nextBit(c.seconds, 0), true
	}
	return 0, false
}

// matchesDay reports whether the day of month, month, year and day of week of a day match.
func (c *dateFields) matchesDay(day int64) bool { return c.nextDay(day, day) == day }

// daysOf returns the matching days of a month as bits 1 to 31. length is the length of the month, first the day number of its
// first day.
func (c *dateFields) daysOf(year, month, length int, first int64) uint64 {
	if c.months>>month&1 == 0 || !c.matchesYear(year) {
		return 0
	}
	return c.days.of(length, first)
}

// matchesClock reports whether the second, minute and hour match at a second of the day.
func (c *clockFields) matchesClock(clock int) bool {
	return c.hours>>(clock/hourSeconds)&1 == 1 && c.minutes>>(clock/60%60)&1 == 1 && c.seconds>>(clock%60)&1 == 1
}

package specproc

import (
	"math/bits"
	"time"
)

const (
	hourSeconds = 3600
	daySeconds  = 24 * hourSeconds
)

// floorDiv divides rounding down, also for negative a. b is positive.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// splitDay splits local seconds since the epoch into the day number and the second of that day.
func splitDay(local int64) (day int64, clock int) {
	day = floorDiv(local, daySeconds)
	return day, int(local - day*daySeconds)
}

// civil returns the date of a day number, which counts days since 1970-01-01.
func civil(day int64) (year, month, dayOfMonth int) {
	y, m, d := time.Unix(day*daySeconds, 0).UTC().Date()
	return y, int(m), d
}

// firstOfMonth returns the day number of the first day of a month.
func firstOfMonth(year, month int) int64 {
	return floorDiv(time.Date(year, time.Month(month), 1, 0, 0, 0, 0, time.UTC).Unix(), daySeconds)
}

// weekday returns 0 for a Sunday to 6 for a Saturday. Day 0 was a Thursday.
func weekday(day int64) int { return int(day + 4 - floorDiv(day+4, 7)*7) }

// monthLength returns the number of days of a month in the Gregorian calendar.
func monthLength(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// nextBit returns the lowest bit set in mask that is not below from; 64 if there is none.
func nextBit(mask uint64, from int) int {
	return bits.TrailingZeros64(mask >> from << from)
}

package specproc

import (
	"math"
	"sort"
	"sync"
	"time"
)

// never stands for "no such time". It is later than any time.
const never = math.MaxInt64

// The times, in Unix seconds, for which zones are worked out: the years 1 to 2100, with a margin.
var (
	zoneStart = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	zoneEnd   = time.Date(2101, 1, 3, 0, 0, 0, 0, time.UTC).Unix()
)

// segment is a stretch of time with one offset from UTC, in seconds east. It ends before until.
type segment struct {
	until  int64
	offset int64
}

// zone is a time zone as a table of segments in order. The first reaches back for ever, the last one on for ever.
type zone struct {
	segments []segment
	// horizon is the last second that lies in the year 2100 or before, both in UTC and on the clock on the wall.
	horizon int64
}

// knownZones holds the tables of the zones that package schedule loaded by name. Entries never change.
var knownZones sync.Map // *time.Location → *zone

// zoneOf returns the table of a location that was loaded by name, and so is one of a bounded number.
func zoneOf(loc *time.Location) *zone {
	if z, ok := knownZones.Load(loc); ok {
		return z.(*zone)
	}
	z, _ := knownZones.LoadOrStore(loc, newZone(loc))
	return z.(*zone)
}

func newZone(loc *time.Location) *zone {
	z := &zone{}
	for t := zoneStart; t < zoneEnd; {
		until := offsetChange(loc, t)
		z.segments = append(z.segments, segment{until: until, offset: offsetAt(loc, t)})
		t = until
	}
	last := &z.segments[len(z.segments)-1]
	last.until = never
	endOf2100 := time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC).Unix() - 1
	z.horizon = min(endOf2100, endOf2100-last.offset)
	return z
}

func offsetAt(loc *time.Location, t int64) int64 {
	_, offset := time.Unix(t, 0).In(loc).Zone()
	return int64(offset)
}

// offsetChange returns the first second after t at which loc has another offset than at t, or zoneEnd.
func offsetChange(loc *time.Location, t int64) int64 {
	offset := offsetAt(loc, t)
	for t < zoneEnd {
		_, end := time.Unix(t, 0).In(loc).ZoneBounds()
		if end.IsZero() {
			return zoneEnd
		}
		next := min(end.Unix(), zoneEnd)
		if next <= t {
			// ZoneBounds is not to be trusted on 31 December of leap years; a day later it is again.
			next = t + daySeconds
		}
		if offsetAt(loc, next) != offset {
			return firstChange(loc, t, next)
		}
		t = next
	}
	return zoneEnd
}

// firstChange returns the first second in t < s ≤ next at which loc has another offset than at t, as it has at next.
func firstChange(loc *time.Location, t, next int64) int64 {
	offset := offsetAt(loc, t)
	if offsetAt(loc, next-1) == offset {
		return next // ZoneBounds was right, as nearly always
	}
	return t + 1 + int64(sort.Search(int(next-t-1), func(i int) bool { return offsetAt(loc, t+1+int64(i)) != offset }))
}

// index returns the position of the segment that holds t.
func (z *zone) index(t int64) int {
	low, high := 0, len(z.segments)-1
	for low < high {
		middle := (low + high) / 2
		if t < z.segments[middle].until {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// piece is the part of one local day that lies in one segment: the seconds from ≤ t < until. Most days are one piece of
// 24 hours; the clock changes within the others, or they come twice.
type piece struct {
	day         int64 // number of the local day
	from, until int64
	offset      int64
}

// piece returns the piece that holds t.
func (z *zone) piece(t int64) piece {
	i := z.index(t)
	offset := z.segments[i].offset
	day, _ := splitDay(t + offset)
	p := piece{day: day, from: day*daySeconds - offset, offset: offset}
	p.until = min(p.from+daySeconds, z.segments[i].until)
	if i > 0 {
		p.from = max(p.from, z.segments[i-1].until)
	}
	return p
}

// clock returns the second of the local day at t, which lies in p.
func (p *piece) clock(t int64) int { return int(t + p.offset - p.day*daySeconds) }

// at is the reverse of clock.
func (p *piece) at(clock int) int64 { return p.day*daySeconds + int64(clock) - p.offset }

package specproc

import (
	"math"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// never stands for "no such time". It is later than any time.
const never = math.MaxInt64

// Zones are computed for these times, in Unix seconds: the years 1 to 2100, with a margin.
var (
	zoneStart = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	zoneEnd   = time.Date(2101, 1, 3, 0, 0, 0, 0, time.UTC).Unix()
)

// segment is a stretch of time with one offset from UTC, in seconds east: start ≤ t < until.
type segment struct {
	start, until int64
	offset       int64
	// from ≤ t < to is the part of the segment in which calendars can match. It is the whole segment, unless the zone leaves out
	// the first or the last of wall times that come twice.
	from, to int64
	// gap is the length of the gap in front of the segment if the times in the gap are shifted to its start, else 0.
	gap int64
}

// zone is a time zone, with a policy for changes of the clock, as a table of segments in order. The first segment reaches back
// forever, and the last one never ends.
type zone struct {
	segments []segment
	// horizon is the last second that lies in the year 2100 or before, both in UTC and on the wall clock.
	horizon int64
}

// knownZones holds the tables of the zones that package schedule loaded by name. Entries never change.
var knownZones sync.Map // zoneKey → *zone

type zoneKey struct {
	location *time.Location
	dst      schedule.DST
}

// zoneOf returns the table of a location that was loaded by name. Such locations are bounded in number.
func zoneOf(loc *time.Location, dst schedule.DST) *zone {
	key := zoneKey{loc, normalDST(dst)}
	if z, ok := knownZones.Load(key); ok {
		return z.(*zone)
	}
	var z *zone
	if key.dst == (schedule.DST{}) {
		z = newZone(loc)
	} else {
		z = zoneOf(loc, schedule.DST{}).with(key.dst)
	}
	known, _ := knownZones.LoadOrStore(key, z)
	return known.(*zone)
}

// normalDST returns dst with the default policies empty.
func normalDST(dst schedule.DST) schedule.DST {
	if dst.Gap == schedule.GapSkip {
		dst.Gap = ""
	}
	if dst.Repeat == schedule.RepeatBoth {
		dst.Repeat = ""
	}
	return dst
}

// with returns a copy of z, which has the default policies, with other policies.
func (z *zone) with(dst schedule.DST) *zone {
	changed := &zone{segments: slices.Clone(z.segments), horizon: z.horizon}
	if dst.Gap == schedule.GapShift {
		changed.shiftGaps()
	}
	switch dst.Repeat {
	case schedule.RepeatFirst:
		changed.keepFirst()
	case schedule.RepeatLast:
		changed.keepLast()
	}
	return changed
}

func (z *zone) shiftGaps() {
	for i := 1; i < len(z.segments); i++ {
		z.segments[i].gap = max(0, z.segments[i].offset-z.segments[i-1].offset)
	}
}

// keepFirst excludes from each segment the wall times that have come before.
func (z *zone) keepFirst() {
	for i, shown := 1, int64(math.MinInt64); i < len(z.segments); i++ {
		seg := &z.segments[i]
		shown = max(shown, seg.start+z.segments[i-1].offset) // wall clocks have shown only earlier times so far
		seg.from = max(seg.from, shown-seg.offset)
	}
}

// keepLast excludes from each segment the wall times that will come again.
func (z *zone) keepLast() {
	for i, shown := len(z.segments)-2, int64(math.MaxInt64); i >= 0; i-- {
		seg := &z.segments[i]
		shown = min(shown, seg.until+z.segments[i+1].offset) // wall clocks will show no earlier time
		seg.to = min(seg.to, shown-seg.offset)
	}
}

func newZone(loc *time.Location) *zone {
	z := &zone{}
	for t := zoneStart; t < zoneEnd; {
		until := offsetChange(loc, t)
		z.segments = append(z.segments, segment{start: t, until: until, offset: offsetAt(loc, t), from: t, to: until})
		t = until
	}
	first, last := &z.segments[0], &z.segments[len(z.segments)-1]
	first.start, first.from = math.MinInt64, math.MinInt64
	last.until, last.to = never, never
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
			// ZoneBounds is wrong on 31 December of leap years; a day later it is right again.
			next = t + daySeconds
		}
		if offsetAt(loc, next) != offset {
			return firstChange(loc, t, next)
		}
		t = next
	}
	return zoneEnd
}

// firstChange returns the first second in t < s ≤ next at which loc has another offset than at t. At next it has another one.
func firstChange(loc *time.Location, t, next int64) int64 {
	offset := offsetAt(loc, t)
	if offsetAt(loc, next-1) == offset {
		return next // ZoneBounds was right, as it nearly always is
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

// piece is the part of one local day that lies in one segment: the seconds from ≤ t < until. Most days are one piece of 24 hours.
// On the others the clock changes within the day, or the day comes twice.
type piece struct {
	day         int64 // number of the local day
	from, until int64
	offset      int64
	segment     *segment
}

// piece returns the piece that holds t.
func (z *zone) piece(t int64) piece {
	i := z.index(t)
	seg := &z.segments[i]
	day, _ := splitDay(t + seg.offset)
	p := piece{day: day, from: day*daySeconds - seg.offset, offset: seg.offset, segment: seg}
	p.until = min(p.from+daySeconds, seg.until)
	p.from = max(p.from, seg.start)
	return p
}

// afterGap reports whether p begins with the instant to which times of a gap are shifted.
func (p *piece) afterGap() bool { return p.segment.gap > 0 && p.from == p.segment.start }

// clock returns the second of the local day at t, which lies in p.
func (p *piece) clock(t int64) int { return int(t + p.offset - p.day*daySeconds) }

// at is the inverse of clock.
func (p *piece) at(clock int) int64 { return p.day*daySeconds + int64(clock) - p.offset }

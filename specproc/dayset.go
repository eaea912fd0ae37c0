package specproc

import "math/bits"

// daySet is a set of seconds of one local day: a word for each minute, with bits 0 to 59 for its seconds.
type daySet [24 * 60]uint64

// add adds every second whose clock c matches.
func (d *daySet) add(c *calendar) {
	for hour := nextBit(c.hours, 0); hour < 24; hour = nextBit(c.hours, hour+1) {
		words := d.hour(hour)
		if c.minutes == allSixty {
			for minute := range words {
				words[minute] |= c.seconds
			}
			continue
		}
		for minute := nextBit(c.minutes, 0); minute < 60; minute = nextBit(c.minutes, minute+1) {
			words[minute] |= c.seconds
		}
	}
}

// remove removes every second whose clock one of the calendars matches.
func (d *daySet) remove(calendars []*calendar) {
	const few = 4
	if len(calendars) > few {
		d.removeMany(calendars)
		return
	}
	for _, c := range calendars {
		for hour := nextBit(c.hours, 0); hour < 24; hour = nextBit(c.hours, hour+1) {
			for minute, words := 0, d.hour(hour); minute < 60; minute++ {
				words[minute] &^= c.seconds & -(c.minutes >> minute & 1)
			}
		}
	}
}

// removeMany visits only the minutes that have seconds, and tries calendars for each only until no second is left. That is faster
// because most days have few times, or calendars that match many of them.
func (d *daySet) removeMany(calendars []*calendar) {
	for i, seconds := range d {
		for n := 0; seconds != 0 && n < len(calendars); n++ {
			c := calendars[n]
			matches := (c.hours >> (i / 60)) & (c.minutes >> (i % 60)) & 1
			seconds &^= c.seconds & -matches
		}
		d[i] = seconds
	}
}

// hour returns the words of one hour.
func (d *daySet) hour(hour int) *[60]uint64 { return (*[60]uint64)(d[hour*60:]) }

// addEvery adds first, first+every, … up to the end of the day.
func (d *daySet) addEvery(first, every int64) {
	if every >= 60 {
		for second := first; second < daySeconds; second += every {
			d.addSecond(int(second))
		}
		return
	}
	var pattern uint64
	for second := int64(0); second < 60; second += every {
		pattern |= 1 << second
	}
	for second := first; second < daySeconds; {
		minute, within := second/60, second%60
		d[minute] |= pattern << within & allSixty
		// Go to the first one in the following minute.
		second += (60 - within + every - 1) / every * every
	}
}

func (d *daySet) addSecond(second int) { d[second/60] |= 1 << (second % 60) }

// clip removes every second outside from ≤ second < until.
func (d *daySet) clip(from, until int) {
	clear(d[:from/60])
	if from < daySeconds {
		d[from/60] &= allSixty << (from % 60)
	}
	if until < daySeconds {
		d[until/60] &= 1<<(until%60) - 1
		clear(d[until/60+1:])
	}
}

// erase removes every second in from ≤ second < until.
func (d *daySet) erase(from, until int) {
	for minute := from / 60; minute*60 < until; minute++ {
		keep := uint64(1)<<max(from-minute*60, 0) - 1
		if until < minute*60+60 {
			keep |= allSixty &^ (1<<(until-minute*60) - 1)
		}
		d[minute] &= keep
	}
}

// next returns the first second in d that is not before from, if there is one.
func (d *daySet) next(from int) (int, bool) {
	minute := from / 60
	if second := nextBit(d[minute], from%60); second < 60 {
		return minute*60 + second, true
	}
	for minute++; minute < len(d); minute++ {
		if d[minute] != 0 {
			return minute*60 + bits.TrailingZeros64(d[minute]), true
		}
	}
	return 0, false
}

// last returns the last second in d, which is not empty.
func (d *daySet) last() int {
	minute := len(d) - 1
	for d[minute] == 0 {
		minute--
	}
	return minute*60 + bits.Len64(d[minute]) - 1
}

// count returns how many seconds are in d.
func (d *daySet) count() int {
	n := 0
	for _, seconds := range d {
		n += bits.OnesCount64(seconds)
	}
	return n
}

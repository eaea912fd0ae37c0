package prose

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

const oneDay = 24 * time.Hour

// valuesOf returns the values that ranges select, in order.
func valuesOf(ranges []schedule.Range) []int {
	var values []int
	eachRangeValue(ranges, func(value int) { values = append(values, value) })
	slices.Sort(values)
	return slices.Compact(values)
}

func eachRangeValue(ranges []schedule.Range, yield func(int)) {
	for _, r := range ranges {
		for value := r.Start; value <= max(r.Start, r.End); value += max(r.Step, 1) {
			yield(value)
		}
	}
}

// progression is first, first+step, … with count members. A single value has step 0.
type progression struct{ first, step, count int }

// progressionOf returns values as a progression, if they are one.
func progressionOf(values []int) (progression, bool) {
	if len(values) == 0 {
		return progression{}, false
	}
	p := progression{first: values[0], count: len(values)}
	if p.count == 1 {
		return p, true
	}
	p.step = values[1] - values[0]
	for i, value := range values {
		if value != p.first+i*p.step {
			return progression{}, false
		}
	}
	return p, true
}

func (p progression) last() int { return p.first + (p.count-1)*p.step }

// fills reports whether p continues at the same pace when the span that it lies in, such as an hour, is repeated.
func (p progression) fills(span int) bool { return p.count == 1 || p.count*p.step == span }

// worthSaying reports whether "every 2nd" is easier to read than the list: it has at least four members, with gaps.
func (p progression) worthSaying() bool { return p.count >= 4 && p.step > 1 }

// runsOf splits values where a value is missing.
func runsOf(values []int) [][]int {
	var runs [][]int
	begin := 0
	for i := range values {
		if i+1 == len(values) || values[i+1] != values[i]+1 {
			runs = append(runs, values[begin:i+1])
			begin = i + 1
		}
	}
	return runs
}

// rangeWords lists values, and writes three or more in a row as "x to y". joined reports whether there were such rows.
func rangeWords(values []int, name func(int) string) (words string, joined bool) {
	var items []string
	for _, run := range runsOf(values) {
		if len(run) >= 3 {
			items = append(items, name(run[0])+" to "+name(run[len(run)-1]))
			joined = true
			continue
		}
		for _, value := range run {
			items = append(items, name(value))
		}
	}
	return listWords(items, "and"), joined
}

// listWords joins items with commas, and the last one with a word.
func listWords(items []string, last string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	end := len(items) - 1
	return strings.Join(items[:end], ", ") + " " + last + " " + items[end]
}

// ordinal returns "1st", "2nd", "3rd", "4th", …
func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

func pluralWords(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// everyWords returns "every 15 minutes", or "every hour" for a single unit.
func everyWords(d time.Duration) string {
	words := durationWords(d)
	if one, ok := strings.CutPrefix(words, "1 "); ok && !strings.Contains(one, " ") {
		words = one
	}
	return "every " + words
}

// durationUnits are the units of durations in words, with the largest count that reads well: "90 minutes" is fine, but 157
// minutes are "2 hours 37 minutes".
var durationUnits = []struct {
	size time.Duration
	name string
	most time.Duration
}{
	{oneDay, "day", 1 << 62}, {time.Hour, "hour", 1 << 62}, {time.Minute, "minute", 120}, {time.Second, "second", 120},
	{time.Millisecond, "millisecond", 1000},
}

// durationWords writes a positive duration in one unit if that gives a whole number of reasonable size, otherwise in several
// units. One day is 24 hours: a day in a calendar may have 23 or 25.
func durationWords(d time.Duration) string {
	for _, unit := range durationUnits {
		if n := d / unit.size; d%unit.size == 0 && n <= unit.most && (unit.size < oneDay || n > 1) {
			return countWords(n, unit.name)
		}
	}
	var parts []string
	for _, unit := range durationUnits {
		if n := d / unit.size; n > 0 {
			parts = append(parts, countWords(n, unit.name))
			d -= n * unit.size
		}
	}
	return strings.Join(parts, " ")
}

func countWords(n time.Duration, noun string) string {
	return strconv.FormatInt(int64(n), 10) + " " + pluralWords(int(n), noun)
}

func monthName(month int) string { return time.Month(month).String() }

func weekdayName(weekday int) string { return time.Weekday(weekday % 7).String() }

const (
	hourSeconds = 3600
	daySeconds  = 24 * hourSeconds
)

// longestOf returns how many days a month has in a leap year.
func longestOf(month int) int {
	return time.Date(2000, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

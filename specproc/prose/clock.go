package prose

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// clockSet is the time of day of a calendar: all combinations of its hours, minutes and seconds, none of which is empty.
type clockSet struct {
	hours, minutes, seconds []int
	// hour is the times within each hour, in seconds, if they are a progression; day is the times within a day. hourEven and
	// dayEven are set if there is such a progression.
	hour, day         progression
	hourEven, dayEven bool
}

// newClockSet returns false when a field of c is empty, because c matches nothing then.
func newClockSet(c *schedule.StructuredCalendar) (clockSet, bool) {
	k := clockSet{hours: valuesOf(c.Hour), minutes: valuesOf(c.Minute), seconds: valuesOf(c.Second)}
	if len(k.hours) == 0 || len(k.minutes) == 0 || len(k.seconds) == 0 {
		return k, false
	}
	minute, even := progressionOf(k.seconds)
	if even {
		k.hour, k.hourEven = spread(k.minutes, 60, minute)
	}
	if k.hourEven {
		k.day, k.dayEven = spread(k.hours, hourSeconds, k.hour)
	}
	return k, true
}

// spread repeats inner, which lies within span seconds, at each value times span. It returns false if the result is no
// progression.
func spread(values []int, span int, inner progression) (progression, bool) {
	at := func(value int) int { return value*span + inner.first }
	outer, even := progressionOf(values)
	switch {
	case len(values) == 1:
		return progression{at(values[0]), inner.step, inner.count}, true
	case !even:
	case inner.count == 1:
		return progression{at(outer.first), outer.step * span, outer.count}, true
	case inner.fills(span) && outer.step == 1:
		return progression{at(outer.first), inner.step, inner.count * outer.count}, true
	}
	return progression{}, false
}

// allHours reports whether all hours of the day are the same.
func (k *clockSet) allHours() bool { return len(k.hours) == 24 }

// allDay reports whether every second of the day matches.
func (k *clockSet) allDay() bool { return k.dayEven && k.day.step == 1 && k.day.count == daySeconds }

// cyclic reports whether the times go round the clock at one pace, so that a day has no beginning, and are too many to list.
func (k *clockSet) cyclic() bool {
	return k.dayEven && k.day.count > maxEvenListed && k.day.fills(daySeconds)
}

// count returns the number of times in a day.
func (k *clockSet) count() int { return len(k.hours) * len(k.minutes) * len(k.seconds) }

// The most times of day to list, and the most if there is a shorter way to describe them.
const (
	maxListed     = 6
	maxEvenListed = 3
)

// words describes the times of the day.
func (k *clockSet) words() string {
	switch runs := runsOf(k.hours); {
	case k.cyclic():
		return k.cycleWords()
	case k.count() <= maxEvenListed || k.count() <= maxListed && !k.dayEven:
		return "at " + k.listWords()
	case k.dayEven:
		return windowWords(k.day)
	case k.hourEven && k.hour.fills(hourSeconds) && len(runs) <= 3 && !k.allHours():
		return k.runWords(runs)
	case k.allHours() && len(k.minutes)*len(k.seconds) <= maxListed:
		return "every hour at " + k.withinHourList()
	}
	if k.allHours() && len(k.minutes) == 60 {
		return k.withinHour()
	}
	return k.withinHour() + " of " + hourWords(k.hours)
}

// cycleWords describes times that go round the clock.
func (k *clockSet) cycleWords() string {
	every := everyWords(wholeSeconds(k.day.step))
	switch {
	case k.day.first == 0:
		return every
	case k.day.step == 60:
		return every + " at second " + strconv.Itoa(k.day.first)
	case k.day.step == hourSeconds:
		return every + " at " + pastHour(k.day.first, k.day.first%60 != 0)
	}
	return every + " from " + clockText(k.day.first, k.day.first%60 != 0)
}

// windowWords describes times at one pace from the first to the last.
func windowWords(p progression) string {
	exact := p.first%60 != 0 || p.last()%60 != 0
	return everyWords(wholeSeconds(p.step)) + " from " + clockText(p.first, exact) + " to " + clockText(p.last(), exact)
}

// runWords describes times at the same pace in several stretches of hours.
func (k *clockSet) runWords(runs [][]int) string {
	exact := k.hour.first%60 != 0 || k.hour.last()%60 != 0
	pace := k.hour.step
	if k.hour.count == 1 {
		pace = hourSeconds
	}
	var stretches []string
	for _, run := range runs {
		first, last := run[0]*hourSeconds+k.hour.first, run[len(run)-1]*hourSeconds+k.hour.last()
		if first == last {
			stretches = append(stretches, "at "+clockText(first, exact))
			continue
		}
		stretches = append(stretches, "from "+clockText(first, exact)+" to "+clockText(last, exact))
	}
	return everyWords(wholeSeconds(pace)) + " " + listWords(stretches, "and")
}

// listWords lists every time of the day.
func (k *clockSet) listWords() string {
	var times []string
	for _, hour := range k.hours {
		for _, within := range k.withinHourValues() {
			times = append(times, clockText(hour*hourSeconds+within, k.exact()))
		}
	}
	return listWords(times, "and")
}

// exact reports whether seconds must be written.
func (k *clockSet) exact() bool { return !slices.Equal(k.seconds, []int{0}) }

func (k *clockSet) withinHourValues() []int {
	var values []int
	for _, minute := range k.minutes {
		for _, second := range k.seconds {
			values = append(values, minute*60+second)
		}
	}
	return values
}

func (k *clockSet) withinHourList() string {
	var times []string
	for _, within := range k.withinHourValues() {
		times = append(times, pastHour(within, k.exact()))
	}
	return listWords(times, "and")
}

// withinHour describes the times within an hour.
func (k *clockSet) withinHour() string {
	n := len(k.minutes) * len(k.seconds)
	switch {
	case k.hourEven && k.hour.first == 0 && n > 1 && k.hour.fills(hourSeconds):
		return everyWords(wholeSeconds(k.hour.step))
	case n <= maxEvenListed || n <= maxListed && !k.hourEven:
		return "at " + k.withinHourList()
	case k.hourEven:
		return everyWords(wholeSeconds(k.hour.step)) + " from " + pastHour(k.hour.first, k.exact()) + " to " +
			pastHour(k.hour.last(), k.exact())
	case !k.exact():
		return "at the " + numberWords("minute", k.minutes)
	case len(k.minutes) == 60:
		return secondWords(k.seconds) + " of every minute"
	}
	return secondWords(k.seconds) + " of the " + numberWords("minute", k.minutes)
}

func secondWords(values []int) string {
	p, even := progressionOf(values)
	switch {
	case even && len(values) > 1 && p.first == 0 && p.fills(60):
		return everyWords(wholeSeconds(p.step))
	case even && p.worthSaying():
		return fmt.Sprintf("%s from second %d to %d", everyWords(wholeSeconds(p.step)), p.first, p.last())
	}
	return "at the " + numberWords("second", values)
}

// hourWords describes hours of a day.
func hourWords(hours []int) string {
	p, even := progressionOf(hours)
	switch {
	case len(hours) == 24:
		return "every hour"
	case even && p.first == 0 && p.worthSaying() && p.fills(24):
		return "every " + ordinal(p.step) + " hour"
	case even && p.worthSaying():
		return fmt.Sprintf("every %s hour from %d to %d", ordinal(p.step), p.first, p.last())
	}
	return "the " + numberWords("hour", hours)
}

// numberWords returns "hour 8" or "hours 8 to 10 and 14".
func numberWords(noun string, values []int) string {
	words, _ := rangeWords(values, strconv.Itoa)
	return pluralWords(len(values), noun) + " " + words
}

// excludeWords describes the times of the day that an exclude takes out, as stretches of time if it covers whole ones. It returns
// "" if the exclude covers the day.
func (k *clockSet) excludeWords() string {
	switch {
	case k.allDay():
		return ""
	case k.dayEven && k.day.step == 1:
		return betweenWords(k.day.first, k.day.last())
	case k.hourEven && k.hour.step == 1 && k.hour.count == hourSeconds && len(runsOf(k.hours)) <= 3:
		var stretches []string
		for _, run := range runsOf(k.hours) {
			stretches = append(stretches, betweenWords(run[0]*hourSeconds, (run[len(run)-1]+1)*hourSeconds-1))
		}
		return listWords(stretches, "and")
	}
	return k.words()
}

// betweenWords describes a stretch of seconds by its first second and the one after its last.
func betweenWords(first, last int) string {
	exact := first%60 != 0 || (last+1)%60 != 0
	return "between " + clockText(first, exact) + " and " + clockText(last+1, exact)
}

func wholeSeconds(n int) time.Duration { return time.Duration(n) * time.Second }

// clockText writes a second of the day: "09:00", or "09:00:30" if exact.
func clockText(second int, exact bool) string {
	return fmt.Sprintf("%02d", second/hourSeconds) + pastHour(second%hourSeconds, exact)
}

// pastHour writes a second of the hour: ":05".
func pastHour(second int, exact bool) string {
	text := fmt.Sprintf(":%02d", second/60)
	if exact {
		text += fmt.Sprintf(":%02d", second%60)
	}
	return text
}

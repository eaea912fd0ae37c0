package prose

import (
	"slices"
	"strconv"

	"github.com/carillon-scheduler/carillon/schedule"
)

// shortMonths warns of a day of the month that some months lack.
func (w *warner) shortMonths(source *warnSource) {
	for i := range source.calendars {
		d := newDateSet(&source.calendars[i])
		for _, text := range []string{
			shortMonthWords(d.ofMonth, d.months), shortMonthWords(d.nearest, d.months), d.fifthWords(),
		} {
			if text != "" {
				w.warn(WarnShortMonth, source.field, text)
			}
		}
	}
}

// fifthWords describes days such as the fifth Friday, unless the days of the month limit the calendar further.
func (d *dateSet) fifthWords() string {
	for weekday, turns := range d.turns {
		if slices.Contains(turns, 5) && !slices.Contains(turns, 4) && !d.byDate() {
			return "the fifth " + weekdayName(weekday) + " will not run in months that have four"
		}
	}
	return ""
}

// shortMonthWords returns "" if there is nothing to warn of. Days 29 to 31 at the end of a longer run, or of steps through the
// month, are not meant one by one.
func shortMonthWords(daysOfMonth, months []int) string {
	if p, even := progressionOf(daysOfMonth); even && p.worthSaying() {
		return ""
	}
	late, _ := slices.BinarySearch(daysOfMonth, 29)
	if late == len(daysOfMonth) || late > 0 && daysOfMonth[late-1] == 28 {
		return ""
	}
	return missingWords(daysOfMonth[late], months)
}

// missingWords names those months that have no such day.
func missingWords(dayOfMonth int, months []int) string {
	var missing []string
	leap := false
	for _, month := range months {
		switch {
		case month == 2 && dayOfMonth == 29:
			leap = true
		case dayOfMonth > longestOf(month):
			missing = append(missing, monthName(month))
		}
	}
	text := "day " + strconv.Itoa(dayOfMonth) + " will not run in "
	switch {
	case leap && len(months) == 1:
		return "29 February will run in leap years only"
	case leap:
		return text + "February, except in leap years"
	case len(missing) == 0:
		return ""
	}
	return text + listWords(missing, "and")
}

// dayFields warns of a cron expression with both day fields restricted, because users expect either rule.
func (w *warner) dayFields(source *warnSource) {
	if !source.cron {
		return
	}
	switch d := source.calendars; {
	case len(d) == 2:
		first, second := newDateSet(&d[0]), newDateSet(&d[1])
		w.warn(WarnDayFields, source.field, "both day fields are set, so a day matches if either does:"+
			first.eitherWords(&second)+"; a calendar runs only on days that match both")
	case len(d) == 1:
		if dates := newDateSet(&d[0]); dates.byDate() && dates.byWeekday() {
			w.warn(WarnDayFields, source.field, "one day field begins with *, so a day must match both:"+dates.words())
		}
	}
}

// excludes warns of excludes that take out only single seconds. Second, minute and hour of an exclude are "0" by default.
func (w *warner) excludes() {
	for i := range w.spec.ExcludeCalendars {
		calendars := allStructured(w.spec.ExcludeCalendars[i:i+1], nil)
		w.exclude("excludeCalendars", i, &calendars[0])
	}
	for i := range w.spec.ExcludeStructuredCalendars {
		w.exclude("excludeStructuredCalendars", i, &w.spec.ExcludeStructuredCalendars[i])
	}
}

func (w *warner) exclude(list string, i int, c *schedule.StructuredCalendar) {
	k, ok := newClockSet(c)
	if !ok || len(k.minutes) != 1 || len(k.seconds) != 1 || !w.anySource(k.misses) {
		return
	}
	times := clockText(k.hours[0]*hourSeconds+k.hour.first, true)
	if len(k.hours) > 1 {
		times = "single seconds such as " + times
	}
	fix := "let second, minute and hour be * to take out whole days"
	if k.namesHour() {
		fix = "let second and minute be * to take out whole hours"
	}
	w.warn(WarnExcludeInstant, list+"["+strconv.Itoa(i)+"]", "takes out only "+times+" of its days: "+fix)
}

// namesHour reports whether an hour was given. The hour 0 alone counts as not given.
func (k *clockSet) namesHour() bool { return !slices.Equal(k.hours, []int{0}) }

// misses reports whether a source has times other than the seconds of k, in the hours or on the days that k seems to mean.
func (k *clockSet) misses(source *warnSource) bool {
	if source.interval != nil {
		every, phase := int(source.interval.Every.Std().Seconds()), int(source.interval.Phase.Std().Seconds())
		return !k.namesHour() || every%hourSeconds != 0 || phase%hourSeconds != k.hour.first
	}
	for i := range source.calendars {
		other, ok := newClockSet(&source.calendars[i])
		if ok && (!slices.Equal(other.minutes, k.minutes) || !slices.Equal(other.seconds, k.seconds) ||
			!k.namesHour() && !slices.Equal(other.hours, k.hours)) {
			return true
		}
	}
	return false
}

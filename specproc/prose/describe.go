package prose

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Describe describes in words when a spec is due, such as "at 09:00, Monday to Friday, Europe/Berlin". The words depend on what
// the spec matches and not on how it is written: a cron expression, a calendar and a structured calendar of the same times have
// the same words. The words are never empty. Long lists are cut, so the words are for reading; they do not identify a spec.
//
// A spec that is not valid is described as "invalid: " and the error of [schedule.Spec.Validate]. Whether the calendars that the
// spec names exist makes no difference.
func Describe(spec schedule.Spec) string {
	if err := withoutNamed(spec).Validate(); err != nil {
		return "invalid: " + err.Error()
	}
	sources := sourceWords(&spec)
	if len(sources) == 0 {
		return "only when triggered"
	}
	separator := ", "
	if len(sources) > 1 {
		separator = "; "
	}
	parts := append([]string{strings.Join(sources, "; also ")}, exceptWords(&spec)...)
	parts = append(parts, limitWords(&spec)...)
	return strings.Join(parts, separator)
}

// withoutNamed returns a spec without the names of calendars, because only their namespace knows these calendars.
func withoutNamed(spec schedule.Spec) schedule.Spec {
	spec.ExcludeCalendarsNamed = nil
	return spec
}

// sourceWords has one entry for each source of times.
func sourceWords(spec *schedule.Spec) []string {
	calendars, intervals := parsedSources(spec)
	var words []string
	for len(calendars) > 0 {
		n := eitherDays(calendars)
		words = append(words, calendarWords(calendars[:n], asSource))
		calendars = calendars[n:]
	}
	for _, i := range intervals {
		words = append(words, intervalWords(i))
	}
	if len(spec.At) > 0 {
		inOrder := slices.SortedFunc(slices.Values(spec.At), time.Time.Compare)
		words = append(words, "once at "+shortList(slices.Compact(inOrder), instantWords, "time"))
	}
	return words
}

// parsedSources converts the three written forms into one. The spec is valid.
func parsedSources(spec *schedule.Spec) ([]schedule.StructuredCalendar, []schedule.Interval) {
	calendars := allStructured(spec.Calendars, spec.StructuredCalendars)
	intervals := spec.Intervals[:len(spec.Intervals):len(spec.Intervals)]
	for _, text := range spec.Cron {
		cron, _ := schedule.ParseCron(text) // the spec is valid
		calendars = append(calendars, cron.Calendars...)
		if cron.Interval != nil {
			intervals = append(intervals, *cron.Interval)
		}
	}
	return calendars, intervals
}

// allStructured returns calendars of both forms, which are valid, as structured ones.
func allStructured(texts []schedule.Calendar, already []schedule.StructuredCalendar) []schedule.StructuredCalendar {
	var all []schedule.StructuredCalendar
	for _, text := range texts {
		c, _ := text.Structured()
		all = append(all, c)
	}
	return append(all, already...)
}

// exceptWords has one entry for each kind or calendar of excludes.
func exceptWords(spec *schedule.Spec) []string {
	calendars := allStructured(spec.ExcludeCalendars, spec.ExcludeStructuredCalendars)
	var words []string
	for i := range calendars {
		words = append(words, "except "+calendarWords(calendars[i:i+1], asExclude))
	}
	if len(spec.ExcludeDates) > 0 {
		words = append(words, "except on "+shortList(spec.ExcludeDates, datesWords, "date"))
	}
	if len(spec.Blackouts) > 0 {
		words = append(words, "except from "+shortList(spec.Blackouts, blackoutWords, "blackout"))
	}
	if len(spec.ExcludeCalendarsNamed) > 0 {
		words = append(words, "except the "+pluralWords(len(spec.ExcludeCalendarsNamed), "calendar")+" "+
			shortList(spec.ExcludeCalendarsNamed, strconv.Quote, "calendar"))
	}
	return words
}

func datesWords(r schedule.DateRange) string {
	first, last, _ := r.Bounds() // the spec is valid
	if first.Equal(last) {
		return first.Format(time.DateOnly)
	}
	return first.Format(time.DateOnly) + " to " + last.Format(time.DateOnly)
}

func blackoutWords(b schedule.Blackout) string {
	return instantWords(b.From) + " to " + instantWords(b.To)
}

// limitWords describes the zone, and what limits and moves the times.
func limitWords(spec *schedule.Spec) []string {
	var words []string
	if zone := zoneWords(spec); zone != "" {
		words = append(words, zone)
	}
	words = append(words, clockChangeWords(spec)...)
	if !spec.StartTime.IsZero() {
		words = append(words, "starting "+instantWords(spec.StartTime))
	}
	if !spec.EndTime.IsZero() {
		words = append(words, "ending "+instantWords(spec.EndTime))
	}
	if jitter := spec.Jitter.Std().Truncate(time.Millisecond); jitter > 0 {
		words = append(words, "delayed by up to "+durationWords(jitter))
	}
	return words
}

// clockChangeWords describes what happens to skipped and repeated times, if the spec has a rule other than the default.
func clockChangeWords(spec *schedule.Spec) []string {
	var words []string
	if calendars, _ := parsedSources(spec); len(calendars) == 0 {
		return nil
	}
	if spec.DST.Gap == schedule.GapShift {
		words = append(words, "after the gap if the clocks skip it")
	}
	if repeat := spec.DST.Repeat; repeat == schedule.RepeatFirst || repeat == schedule.RepeatLast {
		words = append(words, "only the "+string(repeat)+" time if the clocks repeat it")
	}
	return words
}

// zoneWords names the zone, if a part of the spec depends on the wall clock. It does not name UTC if only the minutes of the hour
// count.
func zoneWords(spec *schedule.Spec) string {
	onTheWall := wallCalendars(spec)
	loc, err := spec.Location()
	byDate := len(spec.ExcludeDates)+len(spec.ExcludeCalendarsNamed) > 0
	if err != nil || len(onTheWall) == 0 && !byDate {
		return ""
	}
	name := loc.String()
	switch {
	case len(spec.TimeZoneData) > 0:
		return strings.TrimSpace(name + " by its own zone data")
	case name == "UTC" && !byDate && !slices.ContainsFunc(onTheWall, needsZone):
		return ""
	}
	return name
}

// wallCalendars returns all calendars of a spec, because they are read on the wall clock.
func wallCalendars(spec *schedule.Spec) []schedule.StructuredCalendar {
	calendars, _ := parsedSources(spec)
	return append(calendars, allStructured(spec.ExcludeCalendars, spec.ExcludeStructuredCalendars)...)
}

// needsZone reports whether a calendar depends on the hour or the date.
func needsZone(c schedule.StructuredCalendar) bool {
	clock, ok := newClockSet(&c)
	dates := newDateSet(&c)
	return !ok || !clock.allHours() || dates.restricted()
}

// intervalWords describes an interval. For an interval of a day or a week it adds the time of the day or the day of the week.
func intervalWords(i schedule.Interval) string {
	every, phase := i.Every.Std(), i.Phase.Std()
	words := everyWords(every)
	clock := " at " + time.Unix(0, 0).UTC().Add(phase).Format("15:04:05") + " UTC"
	clock = strings.Replace(clock, ":00 UTC", " UTC", 1)
	switch {
	case every == oneDay:
		return words + clock
	case every == 7*oneDay:
		return words + " on " + weekdayName(int(time.Unix(0, 0).UTC().Add(phase).Weekday())) + "s" + clock
	case phase > 0:
		return words + " offset by " + durationWords(phase)
	}
	return words
}

// instantWords writes an instant in UTC, as short as possible.
func instantWords(t time.Time) string {
	layout := "2006-01-02 15:04"
	switch t = t.UTC(); {
	case t.Nanosecond() != 0:
		layout = "2006-01-02 15:04:05.999999999"
	case t.Second() != 0:
		layout = time.DateTime
	}
	return t.Format(layout) + " UTC"
}

// shortList lists the first three items and counts the others.
func shortList[T any](items []T, words func(T) string, noun string) string {
	const most = 3
	var texts []string
	for _, item := range items[:min(len(items), most)] {
		texts = append(texts, words(item))
	}
	if more := len(items) - most; more > 0 {
		texts = append(texts, strconv.Itoa(more)+" more "+pluralWords(more, noun))
	}
	return listWords(texts, "and")
}

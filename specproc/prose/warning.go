package prose

import (
	"slices"
	"strconv"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// WarningCode tells programs which trap a [Warning] is about.
type WarningCode string

// The codes of warnings.
const (
	// WarnNeverDue: no time matches at all, such as 30 February, or none between the start and the end.
	WarnNeverDue WarningCode = "never_due"
	// WarnAllExcluded: times match, but the excludes leave none in the future.
	WarnAllExcluded WarningCode = "all_excluded"
	// WarnNoTimeLeft: there were times, but none is left.
	WarnNoTimeLeft WarningCode = "no_time_left"
	// WarnSkippedByClock: the clocks skip a time when they go forward.
	WarnSkippedByClock WarningCode = "skipped_by_clock"
	// WarnRepeatedByClock: the clocks repeat a time when they go back.
	WarnRepeatedByClock WarningCode = "repeated_by_clock"
	// WarnShortMonth: a day of the month that some months do not have.
	WarnShortMonth WarningCode = "short_month"
	// WarnDayFields: a cron expression with both day fields restricted.
	WarnDayFields WarningCode = "day_fields"
	// WarnSixFields: a cron expression of six fields that means something else where the first of six fields is the second.
	WarnSixFields WarningCode = "six_fields"
	// WarnDayNumbers: a cron expression with "?" and numbers of days of the week. Quartz and EventBridge number these days
	// differently.
	WarnDayNumbers WarningCode = "day_numbers"
	// WarnComment: a stored cron expression with a "#" that an earlier release read as the beginning of a comment.
	WarnComment WarningCode = "comment"
	// WarnDrift: an interval whose times of day change from day to day.
	WarnDrift WarningCode = "drift"
	// WarnIntervalIgnoresZone: an interval of days in a zone whose clocks change.
	WarnIntervalIgnoresZone WarningCode = "interval_ignores_zone"
	// WarnJitter: the jitter is longer than the time between two times.
	WarnJitter WarningCode = "jitter"
	// WarnExcludeInstant: an exclude that takes out single seconds, where days or hours were probably meant.
	WarnExcludeInstant WarningCode = "exclude_instant"
	// WarnCoincide: two sources with a time in common.
	WarnCoincide WarningCode = "coincide"
)

// Warning describes a trap: the spec is valid and does what it says, which may not be what was meant.
type Warning struct {
	Code WarningCode `json:"code"`
	// Field is the path of the part of the spec that the warning is about, such as "cron[0]". It is empty for the whole spec.
	Field string `json:"field,omitempty"`
	// Text is one sentence for users.
	Text string `json:"text"`
}

// Notice returns the warning as a notice: its text with the field in front.
func (w Warning) Notice() schedule.Notice {
	message := w.Text
	if w.Field != "" {
		message = w.Field + ": " + w.Text
	}
	return schedule.Notice{Code: string(w.Code), Message: message}
}

// warnAhead is how many years ahead warnings look for clock changes.
const warnAhead = 2

// Warnings looks for traps in a spec at an instant: it considers the clock changes of the following two years, and whether any
// time is left. The order is stable. The cost is bounded: usually well under a millisecond, some milliseconds at most, and the
// time that [specproc.Spec.Next] takes to find that everything is excluded. A spec that is not valid, or empty, has no warnings.
// Warnings does not know the calendars that the spec names: see [WarningsWith].
func Warnings(spec schedule.Spec, from time.Time) []Warning {
	return WarningsWith(withoutNamed(spec), nil, from)
}

// WarningsWith is Warnings for a spec that may name calendars. The map gives the calendars by name, as for
// [specproc.CompileWith].
func WarningsWith(spec schedule.Spec, calendars map[string]schedule.NamedCalendar, from time.Time) []Warning {
	written := spec
	spec = spec.AsStored()
	w, ok := newWarner(spec, calendars, from)
	if !ok {
		return nil
	}
	if w.withoutTimes() {
		return w.found
	}
	w.comments(&written)
	for i := range w.sources {
		w.cronDialect(&w.sources[i])
		w.clockChanges(&w.sources[i])
		w.shortMonths(&w.sources[i])
		w.dayFields(&w.sources[i])
		w.interval(&w.sources[i])
	}
	w.jitter()
	w.excludes()
	w.coincidences()
	return w.found
}

// warner collects the warnings of one spec.
type warner struct {
	spec    schedule.Spec
	named   map[string]schedule.NamedCalendar
	from    time.Time
	loc     *time.Location
	sources []warnSource
	found   []Warning
}

// warnSource is one entry of a spec that makes times: calendars (two for a cron expression with both day fields), an interval, or
// the one-off times.
type warnSource struct {
	field string
	cron  bool
	// fields are the fields of a cron expression, as written.
	fields    []string
	calendars []schedule.StructuredCalendar
	interval  *schedule.Interval
	at        []time.Time
}

// newWarner returns false for a spec that is not valid or has no source.
func newWarner(spec schedule.Spec, named map[string]schedule.NamedCalendar, from time.Time) (*warner, bool) {
	if spec.ValidateWith(named) != nil {
		return nil, false
	}
	loc, err := spec.Location()
	if err != nil {
		return nil, false
	}
	w := &warner{spec: spec, named: named, from: from, loc: loc}
	for i := range spec.Calendars {
		w.add("calendars", i, warnSource{calendars: allStructured(spec.Calendars[i:i+1], nil)})
	}
	for i := range spec.StructuredCalendars {
		w.add("structuredCalendars", i, warnSource{calendars: spec.StructuredCalendars[i : i+1]})
	}
	for i, text := range spec.Cron {
		cron, _ := schedule.ParseCron(text) // the spec is valid
		w.add("cron", i, warnSource{
			cron: true, calendars: cron.Calendars, interval: cron.Interval, fields: schedule.CronFields(text),
		})
	}
	for i := range spec.Intervals {
		w.add("intervals", i, warnSource{interval: &spec.Intervals[i]})
	}
	if len(spec.At) > 0 {
		w.sources = append(w.sources, warnSource{field: "at", at: spec.At})
	}
	return w, len(w.sources) > 0
}

func (w *warner) add(list string, i int, source warnSource) {
	source.field = indexed(list, i)
	w.sources = append(w.sources, source)
}

func indexed(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

func (w *warner) warn(code WarningCode, field, text string) {
	w.found = append(w.found, Warning{Code: code, Field: field, Text: text})
}

// raw returns the spec without jitter and without anything that takes times away, except its start and end.
func (w *warner) raw() schedule.Spec {
	raw := w.spec
	raw.ExcludeCalendars, raw.ExcludeStructuredCalendars, raw.ExcludeDates, raw.Blackouts = nil, nil, nil, nil
	raw.ExcludeCalendarsNamed, raw.Jitter = nil, 0
	return raw
}

// alone returns the spec with only one of its sources, and without jitter.
func (w *warner) alone(source *warnSource) schedule.Spec {
	one := w.spec
	one.Calendars, one.Cron, one.Intervals, one.Jitter = nil, nil, nil, 0
	one.StructuredCalendars, one.At, one.TimeZone = source.calendars, source.at, w.loc.String()
	if source.interval != nil {
		one.Intervals = []schedule.Interval{*source.interval}
	}
	return one
}

// next returns the first time of a spec after an instant. The spec is derived from a valid one.
func (w *warner) next(spec schedule.Spec, after time.Time) (time.Time, bool) {
	s, err := specproc.CompileWith(spec, w.named)
	if err != nil {
		return time.Time{}, false
	}
	t, ok := s.Next(after, "")
	return t.Nominal, ok
}

// withoutTimes warns of a spec that has no time in the future, and reports whether it did. The other warnings are useless then.
func (w *warner) withoutTimes() bool {
	if _, ok := w.next(w.spec, w.from); ok {
		return false
	}
	raw := w.raw()
	if _, ok := w.next(raw, w.from); ok {
		w.warn(WarnAllExcluded, "", "will never run: the excludes take out every time")
		return true
	}
	if _, ok := w.next(raw, time.Time{}); ok {
		w.warn(WarnNoTimeLeft, "", "will not run any more: no time is left after "+instantWords(w.from.Truncate(time.Second)))
		return true
	}
	raw.StartTime, raw.EndTime = time.Time{}, time.Time{}
	text := "will never run: no date matches"
	if _, ok := w.next(raw, time.Time{}); ok {
		text = "will never run: no time lies between the start and the end"
	}
	w.warn(WarnNeverDue, "", text)
	return true
}

// maxGaps is how many times jitter examines to find the smallest gap between two of them.
const maxGaps = 100

// jitter warns of jitter that is cut short because the following time comes sooner.
func (w *warner) jitter() {
	jitter := w.spec.Jitter.Std()
	if jitter == 0 {
		return
	}
	s, err := specproc.Compile(w.raw())
	if err != nil {
		return
	}
	smallest := time.Duration(0)
	t, ok := s.Next(w.from, "")
	for range maxGaps {
		following, more := s.Next(t.Nominal, "")
		if !ok || !more {
			break
		}
		if gap := following.Nominal.Sub(t.Nominal); smallest == 0 || gap < smallest {
			smallest = gap
		}
		t = following
	}
	if smallest > 0 && jitter > smallest {
		w.warn(WarnJitter, "jitter", durationWords(jitter)+" is more than the "+durationWords(smallest)+
			" between two times: a time is never delayed past the following one")
	}
}

// The bounds of the search for coincidences.
const (
	maxPaired   = 8  // sources to compare with each other
	maxMeetings = 50 // steps towards a common time
)

// coincidences warns of sources that have a time in common, each pair once.
func (w *warner) coincidences() {
	var compiled []*specproc.Spec
	for i := range w.sources[:min(len(w.sources), maxPaired)] {
		s, err := specproc.CompileWith(w.alone(&w.sources[i]), w.named)
		if err != nil {
			return
		}
		compiled = append(compiled, s)
	}
	for i, a := range compiled {
		for j := range i {
			if t, ok := meeting(compiled[j], a, w.from); ok {
				w.warn(WarnCoincide, w.sources[i].field, "coincides with "+w.sources[j].field+", for example at "+
					w.local(t)+": such a time runs once")
			}
		}
	}
}

// meeting looks for the first time that two specs have in common. It goes from the next time of one to the next time of the
// other, and so on.
func meeting(a, b *specproc.Spec, after time.Time) (time.Time, bool) {
	t, ok := a.Next(after, "")
	for range maxMeetings {
		if !ok {
			return time.Time{}, false
		}
		following, more := b.Next(t.Nominal.Add(-time.Second), "")
		if more && following.Nominal.Equal(t.Nominal) {
			return t.Nominal, true
		}
		t, ok = following, more
		a, b = b, a
	}
	return time.Time{}, false
}

// local writes an instant in the zone of the spec.
func (w *warner) local(t time.Time) string {
	layout := "2006-01-02 15:04"
	if t.Second() != 0 {
		layout = time.DateTime
	}
	return t.In(w.loc).Format(layout) + " " + w.loc.String()
}

// anySource reports whether any source has a property.
func (w *warner) anySource(has func(*warnSource) bool) bool {
	return slices.ContainsFunc(w.sources, func(s warnSource) bool { return has(&s) })
}

package scheduleproto

import (
	"fmt"
	"slices"
	"strings"
	"time"

	schedulepb "go.temporal.io/api/schedule/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/schedule"
)

// marker begins the comment of a calendar that stands for something that Temporal cannot express.
const marker = "carillon: "

// specProto returns a spec as describe shows it.
func specProto(s *schedule.Spec) (*schedulepb.ScheduleSpec, error) {
	zone, err := s.ZoneName()
	if err != nil {
		return nil, err
	}
	p := &schedulepb.ScheduleSpec{
		StartTime: timeProto(s.StartTime), EndTime: timeProto(s.EndTime), Jitter: workflows.Duration(s.Jitter),
		TimezoneName: zone, TimezoneData: s.TimeZoneData,
	}
	if p.StructuredCalendar, err = calendarsProto(s.StructuredCalendars, s.Calendars); err != nil {
		return nil, schedule.Prefix("calendars", err)
	}
	if p.ExcludeStructuredCalendar, err = calendarsProto(s.ExcludeStructuredCalendars, s.ExcludeCalendars); err != nil {
		return nil, schedule.Prefix("excludeCalendars", err)
	}
	for _, interval := range s.Intervals {
		p.Interval = append(p.Interval, intervalProto(interval))
	}
	for i, text := range s.Cron {
		if err := showCron(p, text); err != nil {
			return nil, schedule.Prefix(jsontext.Indexed("cron", i), err)
		}
	}
	if hidden := hiddenFields(s); len(hidden) > 0 {
		p.StructuredCalendar = append(p.StructuredCalendar, never("this spec also has "+strings.Join(hidden, ", ")))
	}
	return p, nil
}

func showCron(p *schedulepb.ScheduleSpec, text string) error {
	cron, err := schedule.ParseCron(text)
	if err != nil {
		return err
	}
	if cron.Interval != nil {
		p.Interval = append(p.Interval, intervalProto(*cron.Interval))
	}
	for i := range cron.Calendars {
		p.StructuredCalendar = append(p.StructuredCalendar, calendarProto(&cron.Calendars[i]))
	}
	return nil
}

func intervalProto(i schedule.Interval) *schedulepb.IntervalSpec {
	return &schedulepb.IntervalSpec{Interval: durationpb.New(i.Every.Std()), Phase: workflows.Duration(i.Phase)}
}

// calendarsProto returns calendars of both forms.
func calendarsProto(structured []schedule.StructuredCalendar, texts []schedule.Calendar) (all []*schedulepb.StructuredCalendarSpec, err error) {
	for i := range structured {
		all = append(all, calendarProto(&structured[i]))
	}
	for i := range texts {
		parsed, err := texts[i].Structured()
		if err != nil {
			return nil, schedule.Prefix(jsontext.Indexed("", i), err)
		}
		all = append(all, calendarProto(&parsed))
	}
	return all, nil
}

func calendarProto(c *schedule.StructuredCalendar) *schedulepb.StructuredCalendarSpec {
	if isExtended(c) {
		return never(strings.TrimSpace("a calendar with days such as L, 15W or fri#2 " + c.Comment))
	}
	return &schedulepb.StructuredCalendarSpec{
		Second: rangesProto(c.Second), Minute: rangesProto(c.Minute), Hour: rangesProto(c.Hour), DayOfMonth: rangesProto(c.DayOfMonth),
		Month: rangesProto(c.Month), Year: rangesProto(c.Year), DayOfWeek: rangesProto(c.DayOfWeek), Comment: c.Comment,
	}
}

// rangesProto fills in the defaults of each range, as Temporal's answers do.
func rangesProto(ranges []schedule.Range) (all []*schedulepb.Range) {
	for _, r := range ranges {
		all = append(all, &schedulepb.Range{Start: int32(r.Start), End: int32(max(r.Start, r.End)), Step: int32(max(1, r.Step))})
	}
	return all
}

// isExtended reports whether a calendar has days that Temporal's calendars do not have.
func isExtended(c *schedule.StructuredCalendar) bool {
	return c.LastWeekday || len(c.LastDayOfMonth)+len(c.NearestWeekday)+len(c.NthDayOfWeek)+len(c.LastDayOfWeek) > 0
}

// never returns a calendar that matches nothing, the 30th of February, with a comment. All its fields are set, because some clients fill in
// those that are not.
func never(comment string) *schedulepb.StructuredCalendarSpec {
	one := func(n int32) []*schedulepb.Range { return []*schedulepb.Range{{Start: n, End: n, Step: 1}} }
	return &schedulepb.StructuredCalendarSpec{
		Second: one(0), Minute: one(0), Hour: one(0), DayOfMonth: one(30), Month: one(2),
		DayOfWeek: []*schedulepb.Range{{Start: 0, End: 6, Step: 1}}, Comment: marker + comment,
	}
}

// hiddenFields names the fields of a spec that Temporal does not have.
func hiddenFields(s *schedule.Spec) (hidden []string) {
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"at", len(s.At) > 0},
		{"excludeDates", len(s.ExcludeDates) > 0},
		{"blackouts", len(s.Blackouts) > 0},
		{"excludeCalendarsNamed", len(s.ExcludeCalendarsNamed) > 0},
		{"dst", s.DST != schedule.DST{}},
	} {
		if field.set {
			hidden = append(hidden, field.name)
		}
	}
	return hidden
}

// hiddenParts names all that Temporal's clients cannot see of a spec. shown is what they see.
func hiddenParts(s *schedule.Spec, shown *schedulepb.ScheduleSpec) []string {
	hidden := hiddenFields(s)
	for _, c := range slices.Concat(shown.StructuredCalendar, shown.ExcludeStructuredCalendar) {
		if strings.HasPrefix(c.Comment, marker+"a calendar") {
			return append(hidden, "days such as L, 15W or fri#2")
		}
	}
	return hidden
}

// checkSpec refuses calendars that stand for something that cannot be seen.
func checkSpec(s *schedule.Spec) error {
	for _, c := range slices.Concat(s.StructuredCalendars, s.ExcludeStructuredCalendars) {
		if strings.HasPrefix(c.Comment, marker) {
			return schedule.Invalid("structuredCalendar", "has the comment %q, which stands for what Temporal's clients cannot see: "+
				"use carillon schedule to carry the spec over", jsontext.Shorten(c.Comment))
		}
	}
	return nil
}

func parseSpec(p *schedulepb.ScheduleSpec) (s schedule.Spec, err error) {
	s = schedule.Spec{
		TimeZone: p.GetTimezoneName(), TimeZoneData: p.GetTimezoneData(),
		Calendars: parseCalendars(p.GetCalendar()), StructuredCalendars: parseStructured(p.GetStructuredCalendar()),
		ExcludeCalendars:           parseCalendars(p.GetExcludeCalendar()), //lint:ignore SA1019 clients may use it for long
		ExcludeStructuredCalendars: parseStructured(p.GetExcludeStructuredCalendar()),
	}
	if s.StartTime, err = parseTime("startTime", p.GetStartTime()); err != nil {
		return s, err
	}
	if s.EndTime, err = parseTime("endTime", p.GetEndTime()); err != nil {
		return s, err
	}
	if s.Jitter, err = parseDuration("jitter", p.GetJitter()); err != nil {
		return s, err
	}
	if s.Intervals, err = parseIntervals(p.GetInterval()); err != nil {
		return s, err
	}
	for i, text := range p.GetCronString() {
		if err := addCron(&s, text); err != nil {
			return s, schedule.Prefix(jsontext.Indexed("cronString", i), err)
		}
	}
	return s, nil
}

func parseIntervals(all []*schedulepb.IntervalSpec) (intervals []schedule.Interval, err error) {
	for i, interval := range all {
		var one schedule.Interval
		if one.Every, err = parseDuration(fmt.Sprintf("interval[%d].interval", i), interval.GetInterval()); err != nil {
			return nil, err
		}
		if one.Phase, err = parseDuration(fmt.Sprintf("interval[%d].phase", i), interval.GetPhase()); err != nil {
			return nil, err
		}
		intervals = append(intervals, one)
	}
	return intervals, nil
}

// addCron adds a cron expression with the meaning that it has for Temporal: any "#" begins a comment, and both day fields must match.
func addCron(s *schedule.Spec, text string) error {
	if body, comment, commented := strings.Cut(text, "#"); commented {
		text = strings.TrimSpace(body) + " # " + strings.TrimSpace(comment)
	}
	cron, err := schedule.ParseCron(text)
	if err != nil {
		return err
	}
	both, restricted := cron.BothDays()
	if !restricted {
		s.Cron = append(s.Cron, text)
		return nil
	}
	s.StructuredCalendars = append(s.StructuredCalendars, both)
	switch {
	case cron.TimeZone == "":
	case s.TimeZone != "" && s.TimeZone != cron.TimeZone:
		return schedule.Invalid("", "stands in time zone %q, but the spec or an earlier expression in %q: all must name the same zone",
			cron.TimeZone, s.TimeZone)
	default:
		s.TimeZone = cron.TimeZone
	}
	return nil
}

func parseCalendars(all []*schedulepb.CalendarSpec) (calendars []schedule.Calendar) {
	field := func(text string) schedule.CalendarField { return schedule.CalendarField(text) }
	for _, c := range all {
		calendars = append(calendars, schedule.Calendar{
			Second: field(c.GetSecond()), Minute: field(c.GetMinute()), Hour: field(c.GetHour()), DayOfMonth: field(c.GetDayOfMonth()),
			Month: field(c.GetMonth()), Year: field(c.GetYear()), DayOfWeek: field(c.GetDayOfWeek()), Comment: c.GetComment(),
		})
	}
	return calendars
}

func parseStructured(all []*schedulepb.StructuredCalendarSpec) (calendars []schedule.StructuredCalendar) {
	for _, c := range all {
		calendars = append(calendars, schedule.StructuredCalendar{
			Second: parseRanges(c.GetSecond()), Minute: parseRanges(c.GetMinute()), Hour: parseRanges(c.GetHour()),
			DayOfMonth: parseRanges(c.GetDayOfMonth()), Month: parseRanges(c.GetMonth()), Year: parseRanges(c.GetYear()),
			DayOfWeek: parseRanges(c.GetDayOfWeek()), Comment: c.GetComment(),
		})
	}
	return calendars
}

func parseRanges(all []*schedulepb.Range) (ranges []schedule.Range) {
	for _, r := range all {
		ranges = append(ranges, schedule.Range{Start: int(r.GetStart()), End: int(r.GetEnd()), Step: int(r.GetStep())})
	}
	return ranges
}

// timeProto returns nil for the zero time, which stands for none.
func timeProto(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func timesProto(times []time.Time) (all []*timestamppb.Timestamp) {
	for _, t := range times {
		all = append(all, timestamppb.New(t))
	}
	return all
}

func parseTime(field string, t *timestamppb.Timestamp) (time.Time, error) {
	if t == nil {
		return time.Time{}, nil
	}
	if t.CheckValid() != nil {
		return time.Time{}, schedule.Invalid(field, "is not a time between the years 1 and 9999")
	}
	return t.AsTime(), nil
}

func parseDuration(field string, d *durationpb.Duration) (schedule.Duration, error) {
	if d == nil {
		return 0, nil
	}
	parsed := d.AsDuration()
	if d.CheckValid() != nil || !isExact(d, parsed) {
		return 0, schedule.Invalid(field, "is not a duration of less than 292 years")
	}
	return schedule.Duration(parsed), nil
}

// isExact reports whether a duration has not been cut to what fits into a [time.Duration].
func isExact(d *durationpb.Duration, parsed time.Duration) bool {
	back := durationpb.New(parsed)
	return back.Seconds == d.Seconds && back.Nanos == d.Nanos
}

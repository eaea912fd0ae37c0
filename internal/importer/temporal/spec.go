package temporal

import (
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// scheduleSpec is a ScheduleSpec of Temporal's API. Both forms of its calendars have the same fields as Carillon's.
type scheduleSpec struct {
	StructuredCalendar        []schedule.StructuredCalendar `json:"structuredCalendar"`
	Calendar                  []schedule.Calendar           `json:"calendar"`
	CronString                []string                      `json:"cronString"`
	Interval                  []intervalSpec                `json:"interval"`
	ExcludeStructuredCalendar []schedule.StructuredCalendar `json:"excludeStructuredCalendar"`
	ExcludeCalendar           []schedule.Calendar           `json:"excludeCalendar"`
	StartTime                 time.Time                     `json:"startTime"`
	EndTime                   time.Time                     `json:"endTime"`
	Jitter                    duration                      `json:"jitter"`
	TimezoneName              string                        `json:"timezoneName"`
	TimezoneData              []byte                        `json:"timezoneData"`
}

type intervalSpec struct {
	Interval duration `json:"interval"`
	Phase    duration `json:"phase"`
}

// duration is text such as "3600s" or "0.500s". Null and the empty text mean that there is none.
type duration string

// of returns the duration; field names it in an error.
func (d duration) of(field string) (schedule.Duration, error) {
	if d == "" {
		return 0, nil
	}
	parsed, err := schedule.ParseDuration(string(d))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", field, err)
	}
	return parsed, nil
}

func (t *scheduleSpec) spec(notes *[]string) (s schedule.Spec, err error) {
	s = schedule.Spec{
		Calendars: t.Calendar, StructuredCalendars: t.StructuredCalendar,
		ExcludeCalendars: t.ExcludeCalendar, ExcludeStructuredCalendars: t.ExcludeStructuredCalendar,
		StartTime: t.StartTime, EndTime: t.EndTime, TimeZone: t.TimezoneName, TimeZoneData: t.TimezoneData,
	}
	if s.Jitter, err = t.Jitter.of("spec.jitter"); err != nil {
		return s, err
	}
	for i, interval := range t.Interval {
		var one schedule.Interval
		if one.Every, err = interval.Interval.of(fmt.Sprintf("spec.interval[%d].interval", i)); err != nil {
			return s, err
		}
		if one.Phase, err = interval.Phase.of(fmt.Sprintf("spec.interval[%d].phase", i)); err != nil {
			return s, err
		}
		s.Intervals = append(s.Intervals, one)
	}
	for i, text := range t.CronString {
		if err := addCron(&s, text, notes); err != nil {
			return s, schedule.Prefix(fmt.Sprintf("spec.cronString[%d]", i), err)
		}
	}
	return s, nil
}

// addCron adds a cron expression. If it restricts both day fields, a day needs to match only one of them in Carillon, but both in
// Temporal. So addCron joins its two calendars into one.
func addCron(s *schedule.Spec, text string, notes *[]string) error {
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
	if cron.TimeZone != "" {
		s.TimeZone = cron.TimeZone
	}
	*notes = append(*notes, fmt.Sprintf("the cron expression %q is written as a calendar: both of its day fields have to match, "+
		"as they do for Temporal", text))
	return nil
}

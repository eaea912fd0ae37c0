package ical

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"
	"github.com/teambition/rrule-go"
)

// repeat returns when an event begins: once, or by its rules and further times. It returns only starts that may lie within the
// bounds, without those that are excepted or replaced.
func (r *reader) repeat(e *ics.VEvent, start moment, l length, replaced []moment) ([]time.Time, error) {
	if e.GetProperty(ics.ComponentPropertyExrule) != nil {
		return nil, errors.New("EXRULE is not supported: use EXDATE")
	}
	starts := []time.Time{start.Time}
	for _, property := range e.GetProperties(ics.ComponentPropertyRrule) {
		more, err := r.rule(property.Value, start, l)
		if err != nil {
			return nil, fmt.Errorf("RRULE: %w", err)
		}
		starts = append(starts, more...)
	}
	further, err := r.listed(e, ics.ComponentPropertyRdate, start.days)
	if err != nil {
		return nil, err
	}
	except, err := r.listed(e, ics.ComponentPropertyExdate, start.days)
	if err != nil {
		return nil, err
	}
	starts = append(starts, further...)
	for _, m := range replaced {
		if m.days != start.days {
			return nil, errors.New("one of DTSTART and RECURRENCE-ID is a day, the other a time")
		}
		except = append(except, m.Time)
	}
	excepted := map[int64]bool{} // by second, the finest that a file can say
	for _, t := range except {
		excepted[t.Unix()] = true
	}
	starts = slices.DeleteFunc(starts, func(t time.Time) bool { return excepted[t.Unix()] })
	slices.SortFunc(starts, time.Time.Compare)
	return slices.CompactFunc(starts, time.Time.Equal), nil
}

// listed reads properties that list times of an event. Each property may occur several times.
func (r *reader) listed(e *ics.VEvent, name ics.ComponentProperty, days bool) ([]time.Time, error) {
	var all []time.Time
	for _, property := range e.GetProperties(name) {
		if kinds := property.ICalParameters["VALUE"]; len(kinds) > 0 && kinds[0] == "PERIOD" {
			return nil, fmt.Errorf("%s with VALUE=PERIOD is not supported: write its times as events", name)
		}
		moments, err := r.times(property)
		if err != nil {
			return nil, err
		}
		for _, m := range moments {
			if m.days != days {
				return nil, fmt.Errorf("one of DTSTART and %s is a day, the other a time", name)
			}
			all = append(all, m.Time)
		}
	}
	return all, nil
}

// Bounds that the library does not set. It counts up to the year 9999, and beyond if the interval overflows, and it looks for the
// days around Easter only within the year.
const (
	maxInterval = 1000
	maxEaster   = 80
	// maxTimes is how many times a rule may give for a day. The library makes all times of a year at once.
	maxTimes = 100
	// maxSteps bounds the times of all rules of a file, counted from the beginning of each. One rule with daily times since the first year takes a
	// twentieth of that. A rule costs stepsOfRule besides, and stepsOfNothing if it never gives a time: then the library has gone through all years.
	maxSteps       = 2_000_000
	stepsOfRule    = 1000
	stepsOfNothing = 50_000
)

// until matches the end of a rule.
var until = regexp.MustCompile(`(?:^|;)UNTIL=([^;]*)`)

// maxOffset is more than the distance of any zone from UTC.
const maxOffset = 26 * time.Hour

// onWall turns the end of a rule into a wall time of its event, and refuses an end of another type.
func onWall(option *rrule.ROption, text string, start moment) error {
	found := until.FindStringSubmatch(text)
	if found == nil {
		return nil
	}
	switch days := len(found[1]) == len(dateForm); {
	case days && !start.days:
		return fmt.Errorf("UNTIL=%s is a day, and DTSTART a time", found[1])
	case !days && start.days:
		return fmt.Errorf("UNTIL=%s is a time, and DTSTART a day", found[1])
	case strings.HasSuffix(found[1], "Z"):
		option.Until = wallOf(option.Until.In(start.Location()))
	}
	return nil
}

// rule returns the times of a rule up to the later bound.
func (r *reader) rule(text string, start moment, l length) ([]time.Time, error) {
	if r.steps += stepsOfRule; r.steps > maxSteps {
		return nil, errTooLong
	}
	// The library computes wall times. The zone is applied afterwards.
	option, err := rrule.StrToROptionInLocation(text, time.UTC)
	if err != nil {
		return nil, errors.New(oneLine(err.Error()))
	}
	if err := onWall(option, text, start); err != nil {
		return nil, err
	}
	if option.Freq > rrule.DAILY {
		return nil, fmt.Errorf("FREQ=%s repeats more often than a day: it is for schedules, not for calendars", option.Freq)
	}
	if option.Interval < 0 || option.Interval > maxInterval {
		return nil, fmt.Errorf("INTERVAL=%d is out of range: use 1 to %d", option.Interval, maxInterval)
	}
	if slices.ContainsFunc(option.Byeaster, func(days int) bool { return days < -maxEaster || days > maxEaster }) {
		return nil, fmt.Errorf("BYEASTER is out of range: use %d to %d days", -maxEaster, maxEaster)
	}
	if times := max(1, len(option.Byhour)) * max(1, len(option.Byminute)) * max(1, len(option.Bysecond)); times > maxTimes {
		return nil, fmt.Errorf("BYHOUR, BYMINUTE and BYSECOND give %d times a day: use %d at most", times, maxTimes)
	}
	option.Dtstart = start.wall
	if end := r.To.Add(maxOffset); option.Until.IsZero() || option.Until.After(end) {
		option.Until = end
	}
	rule, err := rrule.NewRRule(*option)
	if err != nil {
		return nil, errors.New(oneLine(err.Error()))
	}
	var starts []time.Time
	next, before := rule.Iterator(), r.steps
	for wall, ok := next(); ok; wall, ok = next() {
		if r.steps++; r.steps > maxSteps {
			return nil, errTooLong
		}
		t := at(wall, start.Location())
		if !t.Before(r.To) || !l.after(t).After(r.From) {
			continue
		}
		if starts = append(starts, t); len(starts) > maxOccurrences {
			return nil, errTooMany
		}
	}
	if r.steps == before {
		r.steps += stepsOfNothing
	}
	return starts, nil
}

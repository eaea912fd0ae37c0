package ical

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"
)

// moment is a time in a file, or a day, which is midnight in UTC. wall is what the file says, as if it were UTC.
type moment struct {
	time.Time
	days bool
	wall time.Time
}

// The forms of a time in a file.
const (
	dateForm  = "20060102"
	localForm = "20060102T150405"
	utcForm   = "20060102T150405Z"
)

// times reads the times of a property, such as DTSTART or EXDATE.
func (r *reader) times(property *ics.IANAProperty) ([]moment, error) {
	zone, name := r.Zone, property.IANAToken
	if ids := property.ICalParameters["TZID"]; len(ids) > 0 {
		var err error
		if zone, err = r.zones.location(ids[0]); err != nil {
			return nil, err
		}
	}
	var all []moment
	for text := range strings.SplitSeq(property.Value, ",") {
		t, err := parseTime(text, zone)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, t)
	}
	return all, nil
}

func parseTime(text string, zone *time.Location) (moment, error) {
	switch len(text) {
	case len(dateForm):
		t, err := time.Parse(dateForm, text)
		return moment{t, true, t}, asDate(text, err)
	case len(utcForm):
		t, err := time.Parse(utcForm, text)
		return moment{t, false, t}, asDate(text, err)
	case len(localForm):
		if zone == nil {
			return moment{}, fmt.Errorf("%s has no time zone: say which one is meant (--zone)", text)
		}
		wall, err := time.Parse(localForm, text)
		return moment{at(wall, zone), false, wall}, asDate(text, err)
	}
	return moment{}, asDate(text, errors.New("of another length"))
}

func asDate(text string, err error) error {
	if err == nil {
		return nil
	}
	const longest = 40
	if len(text) > longest {
		text = text[:longest] + "…"
	}
	return fmt.Errorf("%q is not a date or time", text)
}

// length is how long an event lasts. days are calendar days, however many hours they have.
type length struct {
	days int
	time time.Duration
}

func (l length) after(t time.Time) time.Time {
	if l.days != 0 {
		t = at(wallOf(t).AddDate(0, 0, l.days), t.Location())
	}
	return t.Add(l.time)
}

// firstYear is the first year in which an event may begin: no event that still takes place is older, and a rule is followed from
// its beginning.
const firstYear = 1800

// extent returns when an event begins and how long it lasts: by its end, by its duration, or by the defaults for an event with
// neither.
func (r *reader) extent(e *ics.VEvent) (start moment, l length, err error) {
	if start, err = r.one(e, ics.ComponentPropertyDtStart); err != nil {
		return start, l, err
	}
	end, duration := e.GetProperty(ics.ComponentPropertyDtEnd), e.GetProperty(ics.ComponentPropertyDuration)
	switch {
	case end != nil:
		l, err = r.upTo(e, start)
	case duration != nil:
		l, err = parseDuration(duration.Value)
	case start.days:
		l.days = 1
	}
	switch {
	case err != nil:
		return start, l, err
	case start.days && l.time != 0:
		return start, l, errors.New("begins on a day, and ends at a time")
	case start.days && l.days == 0:
		l.days = 1 // some programs repeat the first day here
	}
	if l.after(start.Time).Before(start.Time) {
		return start, l, errors.New("ends before it begins")
	}
	if start.Year() < firstYear {
		return start, l, fmt.Errorf("begins in the year %d: use %d or later", start.Year(), firstYear)
	}
	return start, l, nil
}

// one reads a property that must have exactly one time.
func (r *reader) one(e *ics.VEvent, name ics.ComponentProperty) (moment, error) {
	property := e.GetProperty(name)
	if property == nil {
		return moment{}, fmt.Errorf("has no %s", name)
	}
	all, err := r.times(property)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("%s has %d times", name, len(all))
	}
	if err != nil {
		return moment{}, err
	}
	return all[0], nil
}

// upTo returns the length of an event from its end.
func (r *reader) upTo(e *ics.VEvent, start moment) (length, error) {
	end, err := r.one(e, ics.ComponentPropertyDtEnd)
	switch {
	case err != nil:
		return length{}, err
	case end.days != start.days:
		return length{}, errors.New("one of DTSTART and DTEND is a day, the other a time")
	case end.days:
		return length{days: int(end.Sub(start.Time).Hours() / 24)}, nil
	}
	return length{time: end.Sub(start.Time)}, nil
}

// durations matches texts such as P1D, PT1H30M or P2W.
var durations = regexp.MustCompile(`^\+?P(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,8})M)?(?:(\d{1,9})S)?)?$`)

func parseDuration(text string) (length, error) {
	match := durations.FindStringSubmatch(text)
	if match == nil || strings.HasSuffix(text, "P") || strings.HasSuffix(text, "T") {
		return length{}, fmt.Errorf("%q is not a duration", text)
	}
	var n [5]int
	for i := range n {
		n[i], _ = strconv.Atoi("0" + match[i+1]) // digits, or nothing
	}
	return length{
		days: 7*n[0] + n[1],
		time: time.Duration(n[2])*time.Hour + time.Duration(n[3])*time.Minute + time.Duration(n[4])*time.Second,
	}, nil
}

package ical

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"

	"github.com/carillon-scheduler/carillon/schedule"
)

// MaxBytes is the maximum size of a file.
const MaxBytes = 8 << 20

// Options say what to read from a file.
type Options struct {
	// From and To bound what is read: From ≤ t < To, both midnight in UTC. Of an event that crosses a bound, only the part
	// between them counts.
	From, To time.Time
	// Zone is the zone of times that have none. Nil means that such times are refused.
	Zone *time.Location
}

// Contents are the contents of a file.
type Contents struct {
	// Dates and Windows are in order and do not touch each other. Together they are at most [schedule.MaxCalendarEntries].
	Dates   []schedule.DateRange
	Windows []schedule.Blackout
	// Events counts the events that they come from. Each time of a repeating event counts separately.
	Events int
}

// Read reads a file. The error is one line for people. It says which event cannot be read, and why.
func Read(r io.Reader, o Options) (Contents, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return Contents{}, err
	}
	if len(text) > MaxBytes {
		return Contents{}, fmt.Errorf("is larger than %d MiB", MaxBytes>>20)
	}
	calendars, err := calendarsOf(string(text))
	if err != nil {
		return Contents{}, fmt.Errorf("is not an iCalendar file: %w", err)
	}
	reader := reader{Options: o}
	var all []entry
	for _, calendar := range calendars {
		file, err := ics.ParseCalendar(strings.NewReader(calendar))
		if err != nil {
			return Contents{}, fmt.Errorf("is not an iCalendar file: %s", oneLine(err.Error()))
		}
		entries, err := entriesOf(file)
		if err != nil {
			return Contents{}, err
		}
		all = append(all, entries...)
	}
	if err := reader.events(current(all)); err != nil {
		return Contents{}, err
	}
	return reader.contents()
}

// reader reads the events of one file. zones are those of the calendar that is being read.
type reader struct {
	Options
	zones zones
	found []occurrence
	// steps are what the rules of the file have cost: see maxSteps.
	steps int
}

// occurrence is one time of an event.
type occurrence struct {
	// days means that from and to are whole days: midnight in UTC.
	days     bool
	from, to time.Time // to is exclusive
}

// errTooMany stops a rule that gives more than a calendar holds, even if its times would be joined.
var errTooMany = fmt.Errorf("more than %d times within these years: read fewer years", maxOccurrences)

// errTooLong stops a file whose rules take too long.
var errTooLong = errors.New("the rules of this file give too many times since they began: leave events of the past out, or read a part of the file")

// maxOccurrences bounds the times of a file. Times that touch, such as the days of a week, are one entry of a calendar.
const maxOccurrences = 50 * schedule.MaxCalendarEntries

// events reads all events. A single time of a repeating event may have an entry of its own, which replaces the time that the rule
// gives.
func (r *reader) events(entries []entry) error {
	replaced, err := r.replacements(entries)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.canceled {
			continue
		}
		r.zones = e.zones
		if err := r.event(e.VEvent, replaced[e.Id()]); err != nil {
			return fmt.Errorf("event %s: %w", nameOf(e.VEvent), err)
		}
	}
	return nil
}

// replacements returns the times of repeating events that have an entry of their own, by the ID of the event.
func (r *reader) replacements(entries []entry) (map[string][]moment, error) {
	replaced := map[string][]moment{}
	for _, e := range entries {
		property := e.GetProperty(ics.ComponentPropertyRecurrenceId)
		if property == nil {
			continue
		}
		r.zones = e.zones
		at, err := r.times(property)
		if err == nil && len(property.ICalParameters["RANGE"]) > 0 {
			err = errors.New("RECURRENCE-ID with RANGE, which changes all later times, is not supported")
		}
		if err != nil {
			return nil, fmt.Errorf("event %s: %w", nameOf(e.VEvent), err)
		}
		replaced[e.Id()] = append(replaced[e.Id()], at...)
	}
	return replaced, nil
}

// event reads the times of one event, without those that other entries replace.
func (r *reader) event(e *ics.VEvent, replaced []moment) error {
	start, length, err := r.extent(e)
	if err != nil {
		return err
	}
	starts := []time.Time{start.Time}
	if e.GetProperty(ics.ComponentPropertyRecurrenceId) == nil {
		if starts, err = r.repeat(e, start, length, replaced); err != nil {
			return err
		}
	}
	for _, at := range starts {
		r.add(start.days, at, length.after(at))
	}
	if len(r.found) > maxOccurrences {
		return errTooMany
	}
	return nil
}

// add notes a time of an event, as far as it lies within the bounds. A time without a length excludes nothing and is left out.
func (r *reader) add(days bool, from, to time.Time) {
	if from.Before(r.From) {
		from = r.From
	}
	if to.After(r.To) {
		to = r.To
	}
	if from.Before(to) {
		r.found = append(r.found, occurrence{days, from, to})
	}
}

// nameOf names an event for people.
func nameOf(e *ics.VEvent) string {
	const longest = 60
	name := e.Id()
	if summary := e.GetProperty(ics.ComponentPropertySummary); summary != nil && summary.Value != "" {
		name = summary.Value
	}
	if runes := []rune(name); len(runes) > longest {
		name = string(runes[:longest]) + "…"
	}
	return fmt.Sprintf("%q", name)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

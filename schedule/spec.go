package schedule

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/internal/suggest"
)

// MaxSpecEntries bounds each list of a spec (docs/semantics.md §10).
const MaxSpecEntries = 100

// Validate reports the first thing in s that can never work, as an *Error with a path relative to the spec, such as "calendars[2].hour".
// The caller adds its own part with [Prefix]. It checks every rule for specs in docs/semantics.md §2 and §10: if it succeeds, s compiles.
// An end before the start is not an error: such a spec is never due.
//
// Validate does not check that the named calendars exist: see [Spec.ValidateWith].
func (s Spec) Validate() error { return s.validate(s.validateNames) }

// ValidateWith is Validate with the named calendars that exist, by name. A name that is not among them is an error, and so is an invalid
// calendar.
func (s Spec) ValidateWith(calendars map[string]NamedCalendar) error {
	return s.validate(func() error { return s.validateNamed(calendars) })
}

func (s Spec) validate(named func() error) error {
	for _, check := range []func() error{
		s.validateCalendars, s.validateIntervals, s.validateCron, s.validateAt, s.validateExcluded, s.validateJitter, named,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	if err := s.DST.Validate(); err != nil {
		return Prefix("dst", err)
	}
	_, err := s.Location()
	return err
}

func (s Spec) validateCalendars() error {
	parse := func(c Calendar) error {
		_, err := c.Structured()
		return err
	}
	for _, list := range []struct {
		path      string
		calendars []Calendar
	}{
		{"calendars", s.Calendars}, {"excludeCalendars", s.ExcludeCalendars},
	} {
		if err := validateEach(list.path, list.calendars, MaxSpecEntries, parse); err != nil {
			return err
		}
	}
	for _, list := range []struct {
		path      string
		calendars []StructuredCalendar
	}{
		{"structuredCalendars", s.StructuredCalendars}, {"excludeStructuredCalendars", s.ExcludeStructuredCalendars},
	} {
		if err := validateEach(list.path, list.calendars, MaxSpecEntries, StructuredCalendar.Validate); err != nil {
			return err
		}
	}
	return nil
}

func (s Spec) validateIntervals() error {
	return validateEach("intervals", s.Intervals, MaxSpecEntries, Interval.Validate)
}

func (s Spec) validateCron() error {
	return validateEach("cron", s.Cron, MaxSpecEntries, func(text string) error {
		_, err := ParseCron(text)
		return err
	})
}

func (s Spec) validateAt() error {
	return validateEach("at", s.At, MaxSpecEntries, func(t time.Time) error {
		switch {
		case t.Nanosecond() != 0:
			return Invalid("", "%s has a fraction of a second: use whole seconds", t.Format(time.RFC3339Nano))
		case t.UTC().Year() < MinYear || t.UTC().Year() > MaxYear:
			return Invalid("", "%s is out of range: use the years %d to %d", t.Format(time.RFC3339), MinYear, MaxYear)
		}
		return nil
	})
}

func (s Spec) validateExcluded() error {
	return validateExcluded("excludeDates", s.ExcludeDates, "blackouts", s.Blackouts, MaxSpecEntries)
}

func (s Spec) validateNames() error {
	return validateEach("excludeCalendarsNamed", s.ExcludeCalendarsNamed, MaxNamedCalendars, func(name string) error {
		return ValidateID("", name)
	})
}

func (s Spec) validateNamed(calendars map[string]NamedCalendar) error {
	return validateEach("excludeCalendarsNamed", s.ExcludeCalendarsNamed, MaxNamedCalendars, func(name string) error {
		calendar, known := calendars[name]
		switch {
		case known:
			return calendar.Validate()
		case len(calendars) == 0:
			return Invalid("", "named calendar %q does not exist: the namespace has none", jsontext.Shorten(name))
		}
		return Invalid("", "named calendar %q does not exist: %s", jsontext.Shorten(name), suggestNames(name, calendars))
	})
}

// suggestNames lists names for an error message: the most similar one, or the first few.
func suggestNames(name string, calendars map[string]NamedCalendar) string {
	const shown = 10
	known := slices.Sorted(maps.Keys(calendars))
	if meant := suggest.Nearest(name, known); meant != "" {
		return "did you mean " + meant + "?"
	}
	names := strings.Join(known[:min(shown, len(known))], ", ")
	if len(known) > shown {
		names += fmt.Sprintf(" or another of the %d", len(known))
	}
	return "use one of " + names
}

func (s Spec) validateJitter() error {
	if s.Jitter < 0 {
		return Invalid("jitter", "%s is negative: use 0 or more", s.Jitter)
	}
	return nil
}

// Validate reports what is wrong with i, if anything, as an *Error about "every" or "phase".
func (i Interval) Validate() error {
	every, phase := i.Every.Std(), i.Phase.Std()
	switch {
	case every < time.Second:
		return Invalid("every", "%s is too short: use 1s or more", i.Every)
	case every%time.Second != 0:
		return Invalid("every", "%s has a fraction of a second: use whole seconds", i.Every)
	case phase < 0 || phase >= every:
		return Invalid("phase", "%s is out of range: use 0s or more, and less than every (%s)", i.Phase, i.Every)
	case phase%time.Second != 0:
		return Invalid("phase", "%s has a fraction of a second: use whole seconds", i.Phase)
	}
	return nil
}

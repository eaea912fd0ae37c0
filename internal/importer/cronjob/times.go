package cronjob

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/carillon-scheduler/carillon/internal/importer"
	"github.com/carillon-scheduler/carillon/schedule"
)

// times sets the spec. An expression means what it means to the parser of Kubernetes, robfig/cron.
func (j *job) times(s *importer.Entry) error {
	zone, expression, err := cutKubernetesZone(j.Spec.Schedule)
	if err != nil {
		return fmt.Errorf("spec.schedule: %w", err)
	}
	switch named := j.Spec.TimeZone; {
	case named != nil && zone != "":
		return errors.New("spec.schedule: names a time zone, as spec.timeZone does: Kubernetes refuses that; remove one of them")
	case named != nil && *named == "":
		return errors.New("spec.timeZone: is empty: Kubernetes refuses that; name a zone, or remove the field")
	case named != nil:
		zone = *named
	case zone != "":
		s.Note("the time zone stands in the schedule, where Kubernetes no longer accepts it")
	}
	parsed, err := cron.ParseStandard(expression)
	if err != nil {
		return fmt.Errorf("spec.schedule: %q is not accepted by Kubernetes: %w", expression, err)
	}
	switch parsed := parsed.(type) {
	case cron.ConstantDelaySchedule:
		j.every(s, parsed.Delay)
	case *cron.SpecSchedule:
		text, err := sameExpression(expression, parsed)
		if err != nil {
			return fmt.Errorf("spec.schedule: %q %w", expression, err)
		}
		if text != strings.Join(strings.Fields(expression), " ") {
			s.Note("the schedule %q is written as %q, which is what it means to Kubernetes", expression, text)
		}
		s.Spec = schedule.Spec{Cron: []string{text}, TimeZone: zone}
		s.HostZone = zone == ""
	}
	return nil
}

// cutKubernetesZone cuts the zone off an expression like the parser of Kubernetes, which panics if no blank follows.
func cutKubernetesZone(text string) (zone, rest string, err error) {
	prefixed, found := strings.CutPrefix(text, "CRON_TZ=")
	if !found {
		prefixed, found = strings.CutPrefix(text, "TZ=")
	}
	if !found {
		return "", text, nil
	}
	zone, rest, found = strings.Cut(prefixed, " ")
	rest = strings.TrimSpace(rest)
	if !found || strings.HasPrefix(rest, "TZ=") || strings.HasPrefix(rest, "CRON_TZ=") {
		return "", "", fmt.Errorf("%q has no fields after the time zone", text)
	}
	if zone == "" {
		zone = "UTC"
	}
	return zone, rest, nil
}

// every adds an interval. Kubernetes counts from the creation of the CronJob, Carillon from 1970, with a phase.
func (j *job) every(s *importer.Entry, every time.Duration) {
	interval := schedule.Interval{Every: schedule.Duration(every)}
	if created := j.Metadata.CreationTimestamp; created.IsZero() {
		s.Note("@every counts from 1970-01-01T00:00:00Z: Kubernetes counts from the creation of the CronJob, which is not known here")
	} else {
		seconds := int64(every / time.Second)
		phase := (created.Unix()%seconds + seconds) % seconds
		interval.Phase = schedule.Duration(time.Duration(phase) * time.Second)
	}
	s.Spec = schedule.Spec{Intervals: []schedule.Interval{interval}}
}

// cronSets is the meaning of an expression: the values of each field as bits, and whether a day needs to match only one of the
// day fields. Two expressions with the same meaning are equal.
type cronSets struct {
	minute, hour, day, month, weekday uint64
	either                            bool
}

// Sets with all values.
const (
	allDays     = 1<<32 - 1<<1
	allWeekdays = 1<<7 - 1
)

// kubernetesSets returns the meaning of an expression to the parser of Kubernetes. The parser sets the highest bit of a field
// that has a star, unless a step follows.
func kubernetesSets(s *cron.SpecSchedule) cronSets {
	const star = 1 << 63
	sets := cronSets{
		minute: s.Minute &^ star, hour: s.Hour &^ star, day: s.Dom &^ star, month: s.Month &^ star, weekday: s.Dow &^ star,
		either: (s.Dom|s.Dow)&star == 0,
	}
	return sets.normal()
}

// normal returns the form that stands for all ways to say the same about the days.
func (c cronSets) normal() cronSets {
	switch {
	case !c.either:
		return c
	case c.day == allDays || c.weekday == allWeekdays:
		c.day, c.weekday = allDays, allWeekdays
	case c.day == 0:
		c.day = allDays
	case c.weekday == 0:
		c.weekday = allWeekdays
	default:
		return c
	}
	c.either = false
	return c
}

// ourSets returns the meaning of an expression to Carillon, and reports whether it has any.
func ourSets(text string) (cronSets, bool) {
	parsed, err := schedule.ParseCron(text)
	if err != nil || len(parsed.Calendars) == 0 {
		return cronSets{}, false
	}
	first := &parsed.Calendars[0]
	sets := cronSets{
		minute: bitsOf(first.Minute), hour: bitsOf(first.Hour), day: bitsOf(first.DayOfMonth), month: bitsOf(first.Month),
		weekday: bitsOf(first.DayOfWeek),
	}
	if len(parsed.Calendars) == 2 {
		sets.weekday, sets.either = bitsOf(parsed.Calendars[1].DayOfWeek), true
	}
	return sets.normal(), true
}

func bitsOf(ranges []schedule.Range) (set uint64) {
	for _, r := range ranges {
		for value := r.Start; value <= max(r.Start, r.End); value += max(r.Step, 1) {
			set |= 1 << value
		}
	}
	return set
}

// sameExpression returns the expression itself if it means the same to Carillon, otherwise one that does.
func sameExpression(text string, parsed *cron.SpecSchedule) (string, error) {
	theirs := kubernetesSets(parsed)
	text = strings.Join(strings.Fields(text), " ")
	if ours, ok := ourSets(text); ok && ours == theirs {
		return text, nil
	}
	if theirs.minute == 0 || theirs.hour == 0 || theirs.month == 0 || theirs.day == 0 || theirs.weekday == 0 {
		return "", errors.New("has a field without a value: it never comes")
	}
	return theirs.String(), nil
}

// String returns an expression with this meaning to Carillon. If a day needs to match only one field, no field begins with a
// star.
func (c cronSets) String() string {
	return strings.Join([]string{
		fieldText(c.minute, 0, 59), fieldText(c.hour, 0, 23), fieldText(c.day, 1, 31), fieldText(c.month, 1, 12), fieldText(c.weekday, 0, 6),
	}, " ")
}

// fieldText writes a set of values from low to high: a star for all; a range with a step for three or more values at equal
// distances; otherwise a list of values and ranges.
func fieldText(set uint64, low, high int) string {
	values := make([]int, 0, bits.OnesCount64(set))
	for value := low; value <= high; value++ {
		if set&(1<<value) != 0 {
			values = append(values, value)
		}
	}
	if len(values) == high-low+1 {
		return "*"
	}
	if step := stepOf(values); step > 1 {
		return fmt.Sprintf("%d-%d/%d", values[0], values[len(values)-1], step)
	}
	var terms []string
	for len(values) > 0 {
		n := 1
		for n < len(values) && values[n] == values[0]+n {
			n++
		}
		term := strconv.Itoa(values[0])
		if n > 1 {
			term += "-" + strconv.Itoa(values[n-1])
		}
		terms, values = append(terms, term), values[n:]
	}
	return strings.Join(terms, ",")
}

// stepOf returns the distance of values at equal distances; 0 if the distances differ or there are fewer than three values.
func stepOf(values []int) int {
	if len(values) < 3 {
		return 0
	}
	step := values[1] - values[0]
	for i := 2; i < len(values); i++ {
		if values[i]-values[i-1] != step {
			return 0
		}
	}
	return step
}

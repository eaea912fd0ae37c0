package cronjob

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/carillon-scheduler/carillon/internal/importer"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

const (
	// clockYears is how far ahead an import looks for changes of the clock.
	clockYears = 2
	// clockMargin is how long before and after a change to compare the times: the parser of Kubernetes can lose a whole day.
	clockMargin = 49 * time.Hour
	// clockTimes is how many times to compare after that margin: a weekly time can be lost a week later.
	clockTimes = 3
)

// clockNotes are the notes about changes of the clock by expression and zone, because many CronJobs have the same.
type clockNotes map[[2]string]string

// NoteClockChanges adds to each entry a note about the first change of the clock in the years after now at which Kubernetes
// and Carillon differ. The zone is for schedules that name none.
func NoteClockChanges(all []importer.Entry, zone string, now time.Time) {
	notes := clockNotes{}
	for i := range all {
		notes.add(&all[i], zone, now)
	}
}

// add adds the note to one entry.
func (notes clockNotes) add(s *importer.Entry, zone string, now time.Time) {
	if s.Problem != nil || len(s.Spec.Cron) == 0 {
		return
	}
	key := [2]string{s.Spec.Cron[0], cmp.Or(s.Spec.TimeZone, zone)}
	text, known := notes[key]
	if !known {
		text = clockNote(key[0], key[1], now)
		notes[key] = text
	}
	if text != "" {
		s.Note("%s", text)
	}
}

// clockNote returns the note about an expression in a zone; empty if there is no difference.
func clockNote(expression, zone string, now time.Time) string {
	spec := schedule.Spec{Cron: []string{expression}, TimeZone: zone}
	loc, err := spec.Location()
	if err != nil {
		return "" // an invalid expression is left out later
	}
	theirs, err := cron.ParseStandard(expression)
	if err != nil {
		return ""
	}
	theirs.(*cron.SpecSchedule).Location = loc
	ours, err := specproc.Compile(spec)
	if err != nil {
		return ""
	}
	for at := range clockChanges(loc, now) {
		from, to := at.Add(-clockMargin), at.Add(clockMargin)
		for range clockTimes {
			if next, ok := ours.Next(to, ""); ok {
				to = next.Nominal
			}
		}
		kubernetes, carillon := kubernetesTimes(theirs, from, to), ourTimes(ours, from, to)
		if !slices.Equal(kubernetes, carillon) {
			return fmt.Sprintf("when the clocks change at %s, Kubernetes does something else: %s", at.In(loc).Format(time.RFC3339),
				clockDifference(kubernetes, carillon, loc))
		}
	}
	return ""
}

// clockChanges yields the clock changes of a zone in the years after now.
func clockChanges(loc *time.Location, now time.Time) func(yield func(time.Time) bool) {
	return func(yield func(time.Time) bool) {
		last := now.AddDate(clockYears, 0, 0)
		_, next := now.In(loc).ZoneBounds()
		for !next.IsZero() && next.Before(last) && yield(next) {
			_, next = next.In(loc).ZoneBounds()
		}
	}
}

// kubernetesTimes returns the times after from, up to and including to, in Unix seconds.
func kubernetesTimes(s cron.Schedule, from, to time.Time) (times []int64) {
	for t := s.Next(from); !t.IsZero() && !t.After(to); {
		times = append(times, t.Unix())
		next := s.Next(t)
		if !next.After(t) {
			break
		}
		t = next
	}
	return times
}

func ourTimes(s *specproc.Spec, from, to time.Time) (times []int64) {
	for t := range s.Between(from, to, "") {
		times = append(times, t.Nominal.Unix())
	}
	return times
}

// clockDifference names the times that only Kubernetes or only Carillon has.
func clockDifference(kubernetes, carillon []int64, loc *time.Location) string {
	var parts []string
	for _, side := range []struct {
		who         string
		mine, other []int64
	}{{"only Kubernetes", kubernetes, carillon}, {"only Carillon", carillon, kubernetes}} {
		missing := slices.DeleteFunc(slices.Clone(side.mine), func(t int64) bool {
			_, both := slices.BinarySearch(side.other, t)
			return both
		})
		if len(missing) == 0 {
			continue
		}
		text := fmt.Sprintf("%s starts at %s", side.who, time.Unix(missing[0], 0).In(loc).Format(time.RFC3339))
		if more := len(missing) - 1; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

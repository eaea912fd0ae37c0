package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Times writes the times of a schedule in its zone, and the due times if jitter moves them. It marks the future times that will start
// nothing.
func Times(w io.Writer, d *schedule.Description, times []schedule.DueTime, view View) error {
	if len(times) == 0 {
		_, err := io.WriteString(w, "no times\n")
		return err
	}
	zone, err := d.Spec.Location()
	if err != nil { // this binary does not know the zone
		zone = time.UTC
	}
	moved := slices.ContainsFunc(times, func(t schedule.DueTime) bool { return !t.DueTime.Equal(t.NominalTime) })
	row := func(nominal, due, distance, remark string) []string {
		if !moved {
			return []string{nominal, distance, remark}
		}
		return []string{nominal, due, distance, remark}
	}
	rows := [][]string{row(zone.String(), "DUE WITH JITTER", "", "")}
	for _, t := range times {
		rows = append(rows, row(moment(t.NominalTime, zone), t.DueTime.In(zone).Format(EventMoment),
			Relative(t.DueTime, view.Now), view.fate(d, t)))
	}
	var out strings.Builder
	_ = Table(&out, rows) // a strings.Builder does not fail
	_, err = io.WriteString(w, out.String())
	return err
}

// fate says what will keep a future time from starting anything, as far as that is known now.
func (v View) fate(d *schedule.Description, t schedule.DueTime) string {
	switch {
	case !t.DueTime.After(v.Now):
		return ""
	case slices.ContainsFunc(d.Info.Skips, t.NominalTime.Equal):
		return v.paint(Yellow, "to be skipped")
	case d.State.Paused:
		return v.paint(Yellow, "paused")
	case state(d.State) != stateActive:
		return v.paint(Yellow, "no action left")
	}
	return ""
}

// Skips writes, in the schedule's zone, which times it will skip.
func Skips(w io.Writer, id string, skips []time.Time, zone *time.Location, now time.Time) error {
	if len(skips) == 0 {
		_, err := fmt.Fprintf(w, "%s skips no times\n", id)
		return err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s skips (%s)\n", id, zone)
	rows := make([][]string, len(skips))
	for i, t := range skips {
		rows[i] = []string{"", moment(t, zone), Relative(t, now)}
	}
	_ = Table(&out, rows) // a strings.Builder does not fail
	_, err := io.WriteString(w, out.String())
	return err
}

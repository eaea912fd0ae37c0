package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// selectionWidth is how many characters of a selection fit beside the other columns.
	selectionWidth = 40
	// meterWidth is how many characters a bar has.
	meterWidth = 30
)

// BulkTask says in a few words what happens to each schedule: "pause", "set the label team of".
func BulkTask(task *schedule.BulkTask) string {
	if task.Operation != schedule.BulkSetLabel || task.Label == nil {
		return string(task.Operation)
	}
	if task.Label.Value == nil {
		return "remove the label " + Printable(task.Label.Name) + " of"
	}
	return "set the label " + Printable(task.Label.Name) + " of"
}

// BulkProgress counts what a bulk operation has dealt with: "300 done, 2 skipped, 1 failed".
func BulkProgress(d *schedule.BulkDescription) string {
	text := fmt.Sprintf("%d done", d.Done)
	if d.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", d.Skipped)
	}
	if d.Failed > 0 {
		text += fmt.Sprintf(", %d failed", d.Failed)
	}
	return text
}

// BulkMeter writes the progress of a bulk operation in one line, with a bar. The total is the number of schedules when the operation was
// started.
func BulkMeter(d *schedule.BulkDescription) string {
	settled := d.Done + d.Skipped + d.Failed
	filled := meterWidth
	if settled < d.Total {
		filled = settled * meterWidth / d.Total
	}
	bar := strings.Repeat("#", filled) + strings.Repeat(".", meterWidth-filled)
	return fmt.Sprintf("[%s] %d/%d%s%s", bar, settled, d.Total, columnGap, BulkProgress(d))
}

// BulkList writes one line for each bulk operation.
func BulkList(w io.Writer, operations []schedule.BulkDescription, view View) error {
	if len(operations) == 0 {
		_, err := io.WriteString(w, "no bulk operations\n")
		return err
	}
	rows := [][]string{{"JOB", "OPERATION", "SCHEDULES", "STATUS", "PROGRESS", "BY", "STARTED"}}
	for i := range operations {
		d := &operations[i]
		rows = append(rows, []string{
			d.JobID, string(d.Operation), Shorten(selectionText(&d.Selection), selectionWidth), string(d.Status),
			fmt.Sprintf("%d/%d", d.Done+d.Skipped+d.Failed, d.Total), orDash(Printable(d.Identity)),
			Relative(d.CreateTime, view.Now),
		})
	}
	return view.Table(w, rows)
}

// Bulk writes everything known about a bulk operation.
func Bulk(w io.Writer, d *schedule.BulkDescription, view View) error {
	var out strings.Builder
	rows := filled([][]string{
		{"Job", view.paint(Bold, d.JobID)},
		{"Operation", string(d.Operation)},
		{"Label", labelText(d.Label)},
		{"Schedules", selectionText(&d.Selection)},
		{"Note", oneLine(d.Note)},
		{"Overlap", string(d.Overlap)},
		{"Rate", fmt.Sprintf("%d a second", d.Rate)},
		{"Asked by", Printable(d.Identity)},
		{"Status", bulkStatus(d)},
		{"Progress", BulkMeter(d)},
		{"Created", view.instant(d.CreateTime, time.UTC)},
		{"Begun", view.instant(d.StartTime, time.UTC)},
		{"Ended", view.instant(d.EndTime, time.UTC)},
	})
	_ = Table(&out, rows) // a strings.Builder does not fail
	var failures [][]string
	for _, failure := range d.Failures {
		failures = append(failures, []string{Printable(failure.ID), oneLine(failure.Reason)})
	}
	title := "Failures"
	if d.Failed > len(d.Failures) {
		title = fmt.Sprintf("Failures, the newest %d", len(d.Failures))
	}
	view.section(&out, title, failures)
	_, err := io.WriteString(w, out.String())
	return err
}

// BulkFailures writes one line for each failure.
func BulkFailures(w io.Writer, failures []schedule.BulkFailure) error {
	for _, failure := range failures {
		if _, err := fmt.Fprintf(w, "failed %s: %s\n", Printable(failure.ID), oneLine(failure.Reason)); err != nil {
			return err
		}
	}
	return nil
}

// BulkPreview writes what a bulk operation would deal with.
func BulkPreview(w io.Writer, task *schedule.BulkTask, selected *schedule.StartBulkReply) error {
	if selected.Count == 0 {
		_, err := io.WriteString(w, "no schedule is selected: nothing to do\n")
		return err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "would %s %s:\n", BulkTask(task), counted(selected.Count, "schedule"))
	for _, id := range selected.IDs {
		fmt.Fprintf(&out, "  %s\n", Printable(id))
	}
	if rest := selected.Count - len(selected.IDs); rest > 0 {
		fmt.Fprintf(&out, "  and %d more\n", rest)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func bulkStatus(d *schedule.BulkDescription) string {
	switch {
	case d.Status == schedule.BulkCanceled && d.CanceledBy != "":
		return "canceled by " + Printable(d.CanceledBy)
	case d.Error != "":
		return string(d.Status) + ": " + oneLine(d.Error)
	}
	return string(d.Status)
}

// selectionText says which schedules are meant.
func selectionText(s *schedule.Selection) string {
	switch {
	case s.Query != "":
		return oneLine(s.Query)
	case s.Prefix != "":
		return Printable(s.Prefix) + "…"
	case s.All:
		return "all"
	case len(s.IDs) == 0:
		return "named ones" // a list does not include them
	}
	return Printable(strings.Join(s.IDs, " "))
}

func labelText(label *schedule.Label) string {
	switch {
	case label == nil:
		return ""
	case label.Value == nil:
		return Printable(label.Name) + " removed"
	}
	return Printable(label.Name) + "=" + oneLine(*label.Value)
}

// instant writes a time in a zone, and how long ago it was; it is empty for the zero time.
func (v View) instant(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return moment(t, zone) + ", " + Relative(t, v.Now)
}

package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Runs writes one line for each run. If the runs may be of several schedules, each line names its schedule. Times are in the given zone.
func Runs(w io.Writer, runs []schedule.Run, several bool, zone *time.Location, view View) error {
	if len(runs) == 0 {
		_, err := io.WriteString(w, "no runs\n")
		return err
	}
	titles := []string{nominalTitle(zone, view.Now), "STATUS", "LATE", "TOOK", "ATTEMPTS", "WORKER", "RUN", "WORKFLOW", "OUTCOME"}
	rows := [][]string{titles}
	for i := range runs {
		run := &runs[i]
		rows = append(rows, []string{
			nominalText(run, zone), runStatus(run), late(run), tookText(run), orDash(numberText(run.Attempt)),
			orDash(oneLine(run.Worker)), run.RunID, oneLine(run.WorkflowID), outcomeText(&run.Outcome),
		})
	}
	if several {
		rows[0] = append([]string{"SCHEDULE"}, rows[0]...)
		for i := range runs {
			rows[i+1] = append([]string{oneLine(runs[i].ScheduleID)}, rows[i+1]...)
		}
	}
	return view.Table(w, rows)
}

func nominalTitle(zone *time.Location, at time.Time) string {
	return "NOMINAL (" + at.In(zone).Format("MST") + ")"
}

func nominalText(run *schedule.Run, zone *time.Location) string {
	text := run.NominalTime.In(zone).Format(time.DateTime)
	if run.Manual {
		text += " manual"
	}
	return text
}

func tookText(run *schedule.Run) string {
	if began(run).IsZero() || run.CloseTime.IsZero() {
		return "-"
	}
	return Millis(run.CloseTime.Sub(began(run)))
}

// began returns when a run began to take time: nobody reports when the code of a workflow began.
func began(run *schedule.Run) time.Time {
	if run.CodeTime.IsZero() && run.ActionKind.IsWorkflow() {
		return run.StartTime
	}
	return run.CodeTime
}

// runStatus says how a run ended, or that it is running. The status is unknown if the schedule of the run was deleted in the meantime.
func runStatus(run *schedule.Run) string {
	switch {
	case run.Status != "":
		return strings.ReplaceAll(string(run.Status), "_", " ")
	case run.Failure != nil:
		return "unknown"
	}
	return "running"
}

// late is the time from the due time until the code ran. If that is not known, it ends when the run was started.
func late(run *schedule.Run) string {
	began := run.CodeTime
	if began.IsZero() {
		began = run.StartTime
	}
	if began.IsZero() {
		return "-"
	}
	return Millis(began.Sub(run.DueTime))
}

// Run writes everything known about a run, and what happened to it.
func Run(w io.Writer, run *schedule.RunReply, zone *time.Location, view View) error {
	var out strings.Builder
	for _, row := range filled(view.runRows(&run.Run, zone)) {
		fmt.Fprintf(&out, "%s%s%s\n", Pad(row[0], len("Task queue")), columnGap, row[1])
	}
	view.section(&out, "Failure", failureRows(run.Failure))
	view.runResult(&out, &run.Outcome)
	if len(run.Events) > 0 {
		lines := EventLines{Layout: EventMoment, Zone: zone, Color: view.Color}
		fmt.Fprintf(&out, "\n%s\n%s%s\n", view.paint(Bold, "What happened"), columnGap, lines.Header(view.Now))
		for i := range run.Events {
			fmt.Fprintf(&out, "%s%s\n", columnGap, lines.Line(&run.Events[i]))
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (v View) runRows(run *schedule.Run, zone *time.Location) [][]string {
	source := run.Source
	if source == schedule.SourceAuto {
		source = "" // an action of the schedule itself needs no source
	}
	started := v.when(run.StartTime, zone)
	if !run.StartTime.IsZero() {
		started += ", " + Millis(run.StartTime.Sub(run.DueTime)) + " late"
	}
	code := ""
	if !run.CodeTime.IsZero() {
		code = precise(run.CodeTime, zone) + ", " + late(run) + " late"
	}
	ended := v.when(run.CloseTime, zone)
	if text := took(began(run), run.CloseTime); text != "" {
		ended += ", " + text
	}
	return [][]string{
		{"Run", v.paint(Bold, run.RunID)},
		{"Kind", oneLine(string(run.ActionKind))},
		{"Workflow", oneLine(run.WorkflowID)},
		{"Schedule", oneLine(run.ScheduleID)},
		{"Status", v.paint(statusColor(run.Status), runStatus(run))},
		{"Nominal", moment(run.NominalTime, zone)},
		{"Due", precise(run.DueTime, zone)},
		{"Started", started},
		{"Code began", code},
		{"Ended", ended},
		{"Attempts", numberText(run.Attempt)},
		{"Task queue", oneLine(run.TaskQueue)},
		{"Worker", oneLine(run.Worker)},
		{"Asked by", oneLine(run.Identity)},
		{"Source", oneLine(source)},
		{"Request", run.RequestID},
	}
}

// when writes a time and how long ago it was; it is empty for the zero time.
func (v View) when(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return precise(t, zone) + ", " + Relative(t, v.Now)
}

func numberText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func failureRows(f *schedule.Failure) [][]string {
	if f == nil {
		return nil
	}
	return filled([][]string{
		{"message", oneLine(f.Message)}, {"type", oneLine(f.Type)}, {"details", oneLine(string(f.Details))},
	})
}

// runResult writes the whole result, as far as it is known.
func (v View) runResult(out *strings.Builder, o *schedule.Outcome) {
	var indented bytes.Buffer
	switch {
	case len(o.Result) > 0:
		if json.Indent(&indented, o.Result, "", "  ") != nil {
			indented.Write(o.Result)
		}
	case o.ResultBytes > 0:
		fmt.Fprintf(&indented, "%d bytes, which are not kept in the history", o.ResultBytes)
	default:
		return
	}
	fmt.Fprintf(out, "\n%s\n", v.paint(Bold, "Result"))
	for line := range strings.Lines(indented.String()) {
		out.WriteString(columnGap + Printable(strings.TrimRight(line, "\n")) + "\n")
	}
}

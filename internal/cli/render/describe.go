package render

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// View is how to show things.
type View struct {
	// Now is what relative times refer to.
	Now time.Time
	// Color says that the output may be coloured.
	Color bool
}

func (v View) paint(color Color, text string) string {
	if !v.Color {
		return text
	}
	return color.Paint(text)
}

// Describe writes all there is to know about a schedule, in sections. Times are in its own zone.
func Describe(w io.Writer, d *schedule.Description, view View) error {
	zone, err := d.Spec.Location()
	if err != nil { // a zone that this binary does not know
		zone = time.UTC
	}
	var out strings.Builder
	view.head(&out, d)
	view.section(&out, "When", whenRows(d.Spec))
	view.section(&out, "Action", actionRows(d.Action))
	view.section(&out, "Policies", policyRows(d.Policies))
	view.section(&out, "Counts", countRows(d.Info))
	view.section(&out, fmt.Sprintf("Next times (%s)", zone), futureRows(d.Info.FutureActionTimes, zone, view.Now))
	view.section(&out, fmt.Sprintf("Recent actions (%s)", zone), runRows(d.Info.RecentActions, zone))
	_, err = io.WriteString(w, out.String())
	return err
}

func (v View) head(out *strings.Builder, d *schedule.Description) {
	when := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return moment(t, time.UTC) + ", " + Relative(t, v.Now)
	}
	for _, row := range filled([][]string{
		{"Schedule", v.paint(Bold, d.ID)},
		{"Namespace", d.Namespace},
		{"State", stateText(d.State)},
		{"Notes", d.State.Notes},
		{"Created", when(d.Info.CreateTime)},
		{"Updated", when(d.Info.UpdateTime)},
	}) {
		fmt.Fprintf(out, "%s%s%s\n", Pad(row[0], len("Namespace")), columnGap, row[1])
	}
}

func stateText(s schedule.State) string {
	text := state(s)
	if s.LimitedActions {
		text += fmt.Sprintf(", %d actions remaining", s.RemainingActions)
	}
	return text
}

// section writes a heading and rows under it, and nothing when there are none.
func (v View) section(out *strings.Builder, title string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	for i, row := range rows {
		rows[i] = append([]string{""}, row...)
	}
	fmt.Fprintf(out, "\n%s\n", v.paint(Bold, title))
	_ = Table(out, rows) // a strings.Builder does not fail
}

func whenRows(spec schedule.Spec) [][]string {
	rows := specRows(spec)
	if len(rows) == 0 {
		rows = [][]string{{"only when triggered"}}
	}
	return append(rows, limitRows(spec)...)
}

func actionRows(a schedule.Action) [][]string {
	rows := [][]string{
		{"type", a.Type},
		{"task queue", a.TaskQueue},
		{"workflow ID", a.WorkflowID},
		{"input", Shorten(string(a.Input), 100)},
		{"run timeout", durationText(a.RunTimeout)},
		{"execution timeout", durationText(a.ExecutionTimeout)},
		{"task timeout", durationText(a.TaskTimeout)},
		{"retries", retryText(a.RetryPolicy)},
	}
	return filled(rows)
}

// filled returns the rows that have a value.
func filled(rows [][]string) [][]string {
	var kept [][]string
	for _, row := range rows {
		if row[1] != "" {
			kept = append(kept, row)
		}
	}
	return kept
}

func durationText(d schedule.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func retryText(p *schedule.RetryPolicy) string {
	if p == nil {
		return ""
	}
	attempts := "any number of attempts"
	if p.MaximumAttempts > 0 {
		attempts = strconv.Itoa(p.MaximumAttempts) + " attempts at most"
	}
	text := fmt.Sprintf("%s, %s apart, times %g", attempts,
		cmp.Or(p.InitialInterval, schedule.Duration(time.Second)), cmp.Or(p.BackoffCoefficient, 2))
	if p.MaximumInterval > 0 {
		text += ", up to " + p.MaximumInterval.String()
	}
	return text
}

func policyRows(p schedule.Policies) [][]string {
	rows := [][]string{{"overlap", string(p.Overlap.Or(schedule.OverlapSkip))}}
	if p.ConcurrencyLimit > 1 {
		rows = append(rows, []string{"concurrency", strconv.Itoa(p.ConcurrencyLimit)})
	}
	window := "365 days"
	if p.CatchupWindow > 0 {
		window = p.CatchupWindow.String()
	}
	rows = append(rows, []string{"catch-up window", window})
	if p.CatchupMode == schedule.CatchupLatest {
		rows = append(rows, []string{"catch-up mode", "latest: of several late ones the newest alone"})
	}
	if p.PauseOnFailure {
		rows = append(rows, []string{"on failure", "pause"})
	}
	if p.KeepOriginalWorkflowID {
		rows = append(rows, []string{"workflow ID", "kept as it is"})
	}
	return rows
}

func countRows(info schedule.Info) [][]string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return [][]string{
		{"started", number(info.ActionCount)},
		{"running", strconv.Itoa(len(info.RunningWorkflows))},
		{"waiting", strconv.Itoa(info.BufferSize)},
		{"skipped by overlap", number(info.OverlapSkipped)},
		{"missed, too late", number(info.MissedCatchupWindow)},
		{"dropped", number(info.BufferDropped)},
	}
}

func futureRows(times []time.Time, zone *time.Location, now time.Time) [][]string {
	var rows [][]string
	for _, t := range times {
		rows = append(rows, []string{moment(t, zone), Relative(t, now)})
	}
	return rows
}

func runRows(runs []schedule.Run, zone *time.Location) [][]string {
	if len(runs) == 0 {
		return nil
	}
	rows := [][]string{{"NOMINAL", "STATUS", "LATE", "TOOK", "WORKFLOW"}}
	for _, run := range runs {
		nominal := run.NominalTime.In(zone).Format(time.DateTime)
		if run.Manual {
			nominal += " manual"
		}
		rows = append(rows, []string{nominal, runStatus(run), late(run), took(run), run.WorkflowID})
	}
	return rows
}

// late is the time from due to code running, or to started while that is not known.
func late(run schedule.Run) string {
	began := run.CodeTime
	if began.IsZero() {
		began = run.StartTime
	}
	return Millis(began.Sub(run.DueTime))
}

func took(run schedule.Run) string {
	if run.CodeTime.IsZero() || run.CloseTime.IsZero() {
		return "-"
	}
	return Millis(run.CloseTime.Sub(run.CodeTime))
}

package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/payload"
	"github.com/carillon-scheduler/carillon/schedule"
)

// View says how to show things.
type View struct {
	// Now is the time to which relative times refer.
	Now time.Time
	// Zone is the zone of the times in a list, since its schedules may have different zones; nil means UTC.
	Zone *time.Location
	// Color says that the output may have colours.
	Color bool
	// Width is how many columns the terminal has. It is 0 without a terminal, and then nothing is cut.
	Width int
}

func (v View) paint(color Color, text string) string {
	if !v.Color {
		return text
	}
	return color.Paint(text)
}

// Describe writes everything known about a schedule, in sections:
//
//  1. its state, and what keeps it from running
//  2. what is to come, what is happening and what has happened
//  3. its settings
//
// Times are in the schedule's own zone.
func Describe(w io.Writer, d *schedule.Description, view View) error {
	zone, err := d.Spec.Location()
	if err != nil { // this binary does not know the zone
		zone = time.UTC
	}
	info := &d.Info
	inZone := func(title string) string { return fmt.Sprintf("%s (%s)", title, zone) }
	var out strings.Builder
	view.head(&out, d, zone)
	view.section(&out, "What holds it up", noticeRows(heldUp(info), view.painter(Red)))
	view.section(&out, "Warnings", noticeRows(info.Warnings, view.painter(Yellow)))
	view.section(&out, "When", append(whenRows(d.Spec), zoneDataRows(info)...))
	view.section(&out, inZone(nextTitle(d)), futureRows(info.FutureActionTimes, zone, view.Now))
	view.section(&out, inZone("Times to skip"), futureRows(info.Skips, zone, view.Now))
	view.section(&out, inZone("Running"), view.runningRows(info.RunningWorkflows, zone))
	view.section(&out, inZone(waitingTitle(info)), view.waitingRows(info, &d.Policies, zone))
	view.section(&out, inZone("Triggers and backfills"), view.backfillRows(info.Backfills, zone))
	view.section(&out, inZone("Ended"), endedRows(info.RecentActions, zone))
	view.section(&out, "Counts", countRows(d.Info))
	view.section(&out, "Action", actionRows(d.Action))
	view.section(&out, "Policies", policyRows(d.Policies))
	view.section(&out, "Memo of the schedule", memoRows(d.Memo))
	view.section(&out, "Search attributes of the schedule", memoRows(d.SearchAttributes))
	_, err = io.WriteString(w, out.String())
	return err
}

func (v View) head(out *strings.Builder, d *schedule.Description, zone *time.Location) {
	when := func(t time.Time) string { return v.instant(t, zone) }
	for _, row := range filled([][]string{
		{"Schedule", v.paint(Bold, Printable(d.ID))},
		{"Namespace", d.Namespace},
		{"State", v.stateText(d)},
		{"Notes", oneLine(d.State.Notes)},
		{"Created", when(d.Info.CreateTime)},
		{"Updated", when(d.Info.UpdateTime)},
		{"Replanned", when(d.Info.ReplanTime)},
		{"Closes", when(d.Info.IdleDeadline)},
		{"Version", versionText(d.ConflictToken)},
	}) {
		fmt.Fprintf(out, "%s%s%s\n", Pad(row[0], len("Namespace")), columnGap, row[1])
	}
}

// versionText writes the conflict token, which identifies a version of the definition.
func versionText(token uint64) string {
	if token == 0 {
		return ""
	}
	return strconv.FormatUint(token, 10) + " (conflict token)"
}

// stateText says whether the schedule starts anything by itself, and who paused it when. The notes say why.
func (v View) stateText(d *schedule.Description) string {
	text, color := state(d.State), Green
	switch {
	case d.State.Paused:
		color = Yellow
	case hasNotice(&d.Info, schedule.NoticeExhausted):
		text, color = "exhausted", Dim
	case text != stateActive:
		color = Dim
	}
	text = v.paint(color, text)
	if d.Info.PausedBy != "" {
		text += " by " + oneLine(d.Info.PausedBy)
	}
	if !d.Info.PauseTime.IsZero() {
		text += ", " + Relative(d.Info.PauseTime, v.Now)
	}
	if d.State.LimitedActions {
		text += fmt.Sprintf(", %s remaining", counted(d.State.RemainingActions, "action"))
	}
	return text
}

func hasNotice(info *schedule.Info, code string) bool {
	return slices.ContainsFunc(info.Reasons, func(n schedule.Notice) bool { return n.Code == code })
}

// heldUp returns the reasons why nothing runs, except for those that the head already shows.
func heldUp(info *schedule.Info) []schedule.Notice {
	return slices.DeleteFunc(slices.Clone(info.Reasons), func(n schedule.Notice) bool {
		return n.Code == schedule.NoticePaused && !info.PauseTime.IsZero()
	})
}

func (v View) painter(color Color) func(string) string {
	return func(text string) string { return v.paint(color, text) }
}

func noticeRows(notices []schedule.Notice, paint func(string) string) [][]string {
	var rows [][]string
	for _, notice := range notices {
		rows = append(rows, []string{paint(oneLine(notice.Message))})
	}
	return rows
}

// section writes a heading and the rows below it. Without rows it writes nothing. Rows with few columns, such as a name and a value, are
// never cut. Rows with more columns are a table with titles.
func (v View) section(out *strings.Builder, title string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	for i, row := range rows {
		rows[i] = append([]string{""}, row...)
	}
	fmt.Fprintf(out, "\n%s\n", v.paint(Bold, title))
	table := Table
	if len(rows[0]) > 3 {
		table = v.Table
	}
	_ = table(out, rows) // a strings.Builder does not fail
}

func whenRows(spec schedule.Spec) [][]string {
	rows := specRows(spec)
	if len(rows) == 0 {
		rows = [][]string{{"only when triggered"}}
	}
	return append(rows, limitRows(spec)...)
}

// zoneDataRows says with which time zone data the next times were computed. If the frontend has other data, it names that too.
func zoneDataRows(info *schedule.Info) [][]string {
	here, there := oneLine(info.ZoneData), oneLine(info.FrontendZoneData)
	switch {
	case here == "" && there == "":
		return nil
	case here == "":
		return [][]string{{"zone data", "not known of the next times; the frontend has " + there}}
	case there != "" && there != here:
		return [][]string{{"zone data", here + "; the frontend has " + there}}
	}
	return [][]string{{"zone data", here}}
}

func actionRows(a schedule.Action) [][]string {
	kind, task := "type", "task timeout"
	if a.Kind.IsWorkflow() {
		kind, task = "workflow", "workflow task timeout"
	}
	rows := [][]string{
		{kind, a.Type},
		{"task queue", a.TaskQueue},
		{"workflow ID", a.WorkflowID},
		{"input", Shorten(string(a.Input), 100)},
		{"run timeout", durationText(a.RunTimeout)},
		{"execution timeout", durationText(a.ExecutionTimeout)},
		{task, durationText(a.TaskTimeout)},
		{"heartbeat timeout", durationText(a.HeartbeatTimeout)},
		{"retries", retryText(a.RetryPolicy)},
	}
	return filled(rows)
}

// memoRows returns the entries of a memo or of search attributes, by name. A value that says only that it is JSON, and of which type, is
// shown without these words.
func memoRows(entries map[string]json.RawMessage) (rows [][]string) {
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		text := entries[name]
		if p, problem := payload.Parse(text); problem == nil {
			if value, plain := p.Plain(); plain {
				text = value
			}
		}
		rows = append(rows, []string{oneLine(name), Shorten(oneLine(string(text)), 100)})
	}
	return rows
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
		attempts = counted(p.MaximumAttempts, "attempt") + " at most"
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
		{"skipped on request", number(info.SkippedOnRequest)},
		{"missed, too late", number(info.MissedCatchupWindow)},
		{"dropped", number(info.BufferDropped)},
	}
}

// nextTitle is the title of the next times. Those of a paused schedule pass without an action.
func nextTitle(d *schedule.Description) string {
	if d.State.Paused {
		return "Next times, if it were not paused"
	}
	return "Next times"
}

func futureRows(times []time.Time, zone *time.Location, now time.Time) [][]string {
	var rows [][]string
	for _, t := range times {
		rows = append(rows, []string{moment(t, zone), Relative(t, now)})
	}
	return rows
}

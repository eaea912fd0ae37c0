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

// NamespaceList writes one line for each namespace.
func NamespaceList(w io.Writer, namespaces []schedule.NamespaceDescription, view View) error {
	rows := [][]string{{"NAME", "STATE", "REQUESTS/S", "ACTIONS/S", "SCHEDULES", "RUNS", "EVENTS", "DESCRIPTION"}}
	for i := range namespaces {
		d := &namespaces[i]
		limits := &d.Limits
		rows = append(rows, []string{
			d.Name, namespaceState(d), orDash(rateText(limits.RequestsPerSecond)), orDash(rateText(limits.ActionsPerSecond)),
			orDash(limitText(limits.MaxSchedules)), orDash(limitText(limits.MaxPendingRuns)),
			orDash(retentionText(limits.EventRetention)), oneLine(d.Description),
		})
	}
	return view.Table(w, rows)
}

// Namespace writes everything known about a namespace.
func Namespace(w io.Writer, d *schedule.NamespaceDescription, view View) error {
	var out strings.Builder
	rows := filled([][]string{
		{"Namespace", view.paint(Bold, d.Name)},
		{"State", view.namespaceStateText(d)},
		{"Frozen", view.freezeText(d.Freeze)},
		{"Description", oneLine(d.Description)},
		{"Created", view.doneBy(d.Info.CreateTime, d.Info.CreatedBy)},
		{"Updated", view.doneBy(d.Info.UpdateTime, d.Info.UpdatedBy)},
		{"Version", versionText(d.ConflictToken)},
	})
	_ = Table(&out, rows) // a strings.Builder does not fail
	view.section(&out, "Limits", namespaceLimitRows(&d.Limits, d.Info.Usage))
	_, err := io.WriteString(w, out.String())
	return err
}

func namespaceState(d *schedule.NamespaceDescription) string {
	switch {
	case d.Deleting:
		return "deleting"
	case d.Freeze != nil:
		return "frozen"
	}
	return stateActive
}

func (v View) namespaceStateText(d *schedule.NamespaceDescription) string {
	text := v.paint(stateColors[namespaceState(d)], namespaceState(d))
	if d.Deleting && d.Info.Usage != nil {
		text += ": " + counted(d.Info.Usage.Schedules, "schedule") + " left"
	}
	return text
}

func (v View) freezeText(freeze *schedule.Freeze) string {
	if freeze == nil {
		return ""
	}
	text := v.doneBy(freeze.From, freeze.By)
	if !freeze.Until.IsZero() {
		text += ", until " + v.instant(freeze.Until, time.UTC)
	}
	return text + ": " + oneLine(freeze.Reason)
}

// doneBy says when something was done, and by whom if that is known. It is empty for the zero time.
func (v View) doneBy(t time.Time, by string) string {
	text := v.instant(t, time.UTC)
	if text != "" && by != "" {
		text += ", by " + Printable(by)
	}
	return text
}

// atEach says of a limit that it is not shared.
const atEach = "at each gateway"

// namespaceLimitRows lists the limits with their current use, if that is known.
func namespaceLimitRows(limits *schedule.NamespaceLimits, usage *schedule.NamespaceUsage) [][]string {
	requests := rateText(limits.RequestsPerSecond)
	if requests != "" {
		requests += " a second"
	}
	if limits.RequestBurst > 0 {
		requests += fmt.Sprintf(", %d at once", limits.RequestBurst)
	}
	actions := rateText(limits.ActionsPerSecond)
	if actions != "" {
		actions += " a second"
	}
	maxSchedules := limitText(limits.MaxSchedules)
	if maxSchedules == "" {
		maxSchedules = strconv.Itoa(schedule.DefaultMaxSchedules)
	}
	if limits.MaxScheduleBytes > 0 {
		maxSchedules += fmt.Sprintf(", of at most %d bytes each", limits.MaxScheduleBytes)
	}
	retention := retentionText(limits.EventRetention)
	if retention == "" {
		retention = retentionText(schedule.Duration(schedule.MaxEventRetention))
	}
	rows := [][]string{
		{"Requests", orNone(requests)}, {"Actions", orNone(actions)}, {"Schedules", maxSchedules},
		{"Pending runs", orNone(limitText(limits.MaxPendingRuns))}, {"Events", "kept " + retention},
		{"Ended runs", "of workflows kept " + retentionText(schedule.Duration(limits.KeepsRuns()))},
		{"Workflow requests", rateText(cmp.Or(limits.WorkflowRequestsPerSecond, schedule.DefaultWorkflowRequestsPerSecond)) + " a second", atEach},
		{"Workflow lists", rateText(cmp.Or(limits.WorkflowListsPerSecond, schedule.DefaultWorkflowListsPerSecond)) + " a second", atEach},
		{"Workflow polls", strconv.Itoa(cmp.Or(limits.MaxWorkflowPolls, schedule.DefaultMaxWorkflowPolls)), atEach},
	}
	if usage != nil {
		rows[0] = append(rows[0], requestsText(usage))
		rows[2] = append(rows[2], fmt.Sprintf("%d now", usage.Schedules))
		rows[3] = append(rows[3], fmt.Sprintf("%d now", usage.PendingRuns))
	}
	if limits.Archive != "" {
		rows[5] = append(rows[5], "archived to "+limits.Archive)
	}
	return rows
}

func requestsText(usage *schedule.NamespaceUsage) string {
	text := rateOrZero(usage.RequestsPerSecond) + " a second now"
	if usage.RequestsRefused > 0 {
		text += fmt.Sprintf(", %d refused since the %s started", usage.RequestsRefused, frontendsText(usage.Frontends))
	}
	return text
}

func frontendsText(n int) string {
	if n == 1 {
		return "frontend was"
	}
	return fmt.Sprintf("%d frontends were", n)
}

// rateText and limitText return an empty text if there is no limit.
func rateText(perSecond float64) string {
	if perSecond == 0 {
		return ""
	}
	return strconv.FormatFloat(perSecond, 'g', -1, 64)
}

func rateOrZero(perSecond float64) string {
	if perSecond == 0 {
		return "0"
	}
	return rateText(perSecond)
}

func limitText(limit int) string {
	if limit == 0 {
		return ""
	}
	return strconv.Itoa(limit)
}

// retentionText writes whole days as days: 720h are 30 days.
func retentionText(d schedule.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == 0:
		return ""
	case d.Std()%day == 0:
		return counted(int(d.Std()/day), "day")
	}
	return d.String()
}

func orNone(text string) string {
	if text == "" {
		return "no limit"
	}
	return text
}

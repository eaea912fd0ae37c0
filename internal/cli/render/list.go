package render

import (
	"cmp"
	"io"
	"strconv"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// List writes one line for each schedule.
func List(w io.Writer, schedules []schedule.Description, view View) error {
	if len(schedules) == 0 {
		_, err := io.WriteString(w, "no schedules\n")
		return err
	}
	zone := cmp.Or(view.Zone, time.UTC)
	rows := [][]string{{"ID", "WHEN", "TYPE", "STATE", "NEXT (" + view.Now.In(zone).Format("MST") + ")", "ACTIONS", "LAST"}}
	for i := range schedules {
		d := &schedules[i]
		rows = append(rows, []string{
			d.ID, Shorten(Spec(d.Spec), 40), actionType(&d.Action), state(d.State),
			view.next(d, zone), strconv.FormatInt(d.Info.ActionCount, 10), last(d.Info),
		})
	}
	return view.Table(w, rows)
}

// actionType names what a schedule starts. The types of workflows and of other actions may have the same names.
func actionType(a *schedule.Action) string {
	if a.Kind.IsWorkflow() {
		return "workflow " + a.Type
	}
	return a.Type
}

// stateActive is the state of a schedule that nothing prevents from acting.
const stateActive = "active"

func state(s schedule.State) string {
	switch {
	case s.Paused:
		return "paused"
	case s.LimitedActions && s.RemainingActions == 0:
		return "used up"
	}
	return stateActive
}

// next says when the next automatic action is due. A paused schedule has none.
func (v View) next(d *schedule.Description, zone *time.Location) string {
	if d.State.Paused || len(d.Info.FutureActionTimes) == 0 {
		return "-"
	}
	next := d.Info.FutureActionTimes[0]
	return next.In(zone).Format(time.DateTime) + ", " + Relative(next, v.Now)
}

// last says how the newest run ended, or that it is running.
func last(info schedule.Info) string {
	if len(info.RecentActions) == 0 {
		return "-"
	}
	return runStatus(&info.RecentActions[len(info.RecentActions)-1])
}

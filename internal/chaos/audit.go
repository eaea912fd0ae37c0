package chaos

import (
	"context"

	"github.com/carillon-scheduler/carillon/internal/audit"
	"github.com/carillon-scheduler/carillon/schedule"
)

// auditAll does what `carillon schedule audit --all` does: it asks for each schedule whether its own history explains it. This
// is a second opinion, which knows neither the ledger nor the requests. Its findings are problems like any other, with one
// exception: it believes the recorded time of a pause or an update, so its findings about uncertain times next to one do not
// count.
func auditAll(e *evidence, uncertain map[dueTime]bool) []Problem {
	events := map[string][]schedule.Event{}
	for i := range e.Events {
		id := e.Events[i].ScheduleID
		events[id] = append(events[id], e.Events[i])
	}
	var problems []Problem
	for _, id := range scheduleIDs(e.Requests) {
		d, ok := e.Schedules[id]
		if !ok {
			continue
		}
		report, err := audit.Run(context.Background(), audit.Input{Description: &d, Events: events[id], To: e.Now, Now: e.Now})
		if err != nil {
			problems = append(problems, Problem{Kind: kindUnexplained, ScheduleID: id, What: err.Error()})
		}
		for _, f := range report.Findings {
			if (f.Kind == audit.KindMissed || f.Kind == audit.KindUnexpected) && uncertain[dueTime{id, f.Nominal.Unix()}] {
				continue
			}
			problems = append(problems, Problem{
				Kind: kindUnexplained, ScheduleID: id, Nominal: f.Nominal, What: string(f.Kind) + ": " + f.Text,
			})
		}
	}
	return problems
}

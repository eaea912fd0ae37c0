package simulation

import (
	"context"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/audit"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// audit: the schedule's own history explains every time of its spec and every started action, as it does for the command
// `carillon schedule audit`.
func (c *checker) audit() {
	now, slack := time.Now(), c.auditSlack()
	report, err := audit.Run(context.Background(), audit.Input{
		Description: c.description(), Calendars: c.definition.NamedCalendars(), Events: c.history(c.id), To: now, Now: now.Add(slack), Slack: slack,
	})
	if err != nil {
		c.find("audit", "%v", err)
	}
	for _, f := range report.Findings {
		if f.Kind == audit.KindMissed && len(c.spaceOf(c.id).freezes) > 1 && c.wasPaused() {
			// The generator knows the newest freeze only. No event tells of what was due in the freeze before it and was
			// overtaken by a pause.
			continue
		}
		if f.Kind == audit.KindMissed && f.Source == schedule.SourceAuto && c.overtaken(f.Nominal) {
			continue // the history cannot know
		}
		c.find("audit", "%s: %s: %s", f.Kind, f.Source, f.Text)
	}
}

// wasPaused reports whether the history tells of a pause.
func (c *checker) wasPaused() bool {
	return slices.ContainsFunc(c.events, func(e schedule.Event) bool { return e.Kind == schedule.EventPaused })
}

// auditSlack is how far clocks may differ, plus how long a change may take between the time recorded for it and the moment it
// is made: the longest that a caller has waited for one, a standstill of a process and the delay of a message.
func (c *checker) auditSlack() time.Duration {
	slack := 2*c.plan.Skew + time.Second
	if c.plan.Slow {
		slack += slowest
	}
	if c.plan.Suspensions > 0 {
		slack += longestSuspension
	}
	if c.plan.Standstills > 0 {
		slack += longestStandstill
	}
	longest := time.Duration(0)
	for _, r := range c.replies {
		if r.id == c.id && (r.verb == "pause" || r.verb == "update") {
			longest = max(longest, r.to.Sub(r.from))
		}
	}
	for i := range c.books.versions[c.id] {
		v := &c.books.versions[c.id][i]
		if d := &v.definition; d.CalendarsVersion > 0 && d.CalendarsVersion == d.Version {
			longest = max(longest, v.at.Sub(d.ReplanTime))
		}
	}
	return slack + longest
}

// description is as much of a description as an audit needs.
func (c *checker) description() *schedule.Description {
	d := c.definition
	state, _ := record(c.world, c.key, kv.Invoker(c.key))
	if state.Incarnation != d.Incarnation {
		state = wire.InvokerState{}
	}
	description := &schedule.Description{Namespace: d.Namespace, ID: d.ID, Schedule: d.Schedule}
	description.State.RemainingActions = state.RemainingActions(d)
	info := &description.Info
	info.CreateTime, info.UpdateTime, info.ReplanTime, info.Skips = d.CreateTime, d.UpdateTime, d.ReplanTime, d.Skips
	for i := range state.Starts {
		switch s := &state.Starts[i]; {
		case s.Waiting():
			info.BufferSize++
		case s.Running():
			info.RunningWorkflows = append(info.RunningWorkflows, schedule.Run{RequestID: s.RequestID})
		}
	}
	for _, subject := range c.backfills(c.key) {
		info.Backfills = append(info.Backfills, schedule.BackfillProgress{BackfillID: idIn(subject)})
	}
	return description
}

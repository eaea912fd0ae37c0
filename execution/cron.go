package execution

import (
	"time"

	"github.com/robfig/cron/v3"
	"go.temporal.io/api/serviceerror"
)

// checkCron refuses a cron schedule that cannot be read, or that never comes.
func checkCron(text string, now time.Time) error {
	if text == "" {
		return nil
	}
	schedule, err := cron.ParseStandard(text)
	if err != nil {
		return serviceerror.NewInvalidArgument("CronSchedule " + text + " is invalid: " + err.Error())
	}
	if schedule.Next(now.UTC()).IsZero() {
		return serviceerror.NewInvalidArgument("CronSchedule " + text + " never comes")
	}
	return nil
}

// cronPause returns the pause until the next time of a cron schedule, in whole seconds; false if there is none. since is the time that the run
// before was for: times that passed while it was in progress are left out.
func cronPause(text string, since, now time.Time) (time.Duration, bool) {
	if text == "" {
		return 0, false
	}
	schedule, err := cron.ParseStandard(text)
	if err != nil {
		return 0, false // it was checked, so only another release can read it
	}
	next := since.UTC()
	if every, ok := schedule.(cron.ConstantDelaySchedule); ok && !next.After(now) {
		next = next.Add((now.Sub(next)/every.Delay + 1) * every.Delay)
	} else if !next.After(now) {
		next = schedule.Next(now.UTC())
	}
	if next.IsZero() {
		return 0, false
	}
	return (next.Sub(now) + time.Second - 1).Truncate(time.Second), true
}

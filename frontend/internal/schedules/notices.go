package schedules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc/prose"
)

// warnings turns the warnings about a spec into notices, under their own codes.
func warnings(all []prose.Warning) []schedule.Notice {
	var notices []schedule.Notice
	for _, w := range all {
		notices = append(notices, w.Notice())
	}
	return notices
}

// reasons says why nothing runs, or why it is not what one might expect. The plainest reason comes first.
func reasons(def *wire.Definition, all *records, around *surroundings) []schedule.Notice {
	var notices []schedule.Notice
	for _, reason := range []func() (code, message string){
		func() (string, string) { return schedule.NoticePaused, whyPaused(def) },
		func() (string, string) { return schedule.NoticeFrozen, whyFrozen(around.freeze) },
		func() (string, string) { return schedule.NoticeNoTimes, whyNoTimes(def, around) },
		func() (string, string) { return schedule.NoticeExhausted, whyExhausted(&all.generator, around) },
		func() (string, string) { return schedule.NoticeNoActionsLeft, whyNoActions(def, all) },
		func() (string, string) { return schedule.NoticeWaitingForOverlap, whyWaiting(def, &all.invoker) },
		func() (string, string) { return schedule.NoticeDelayed, whyDelayed(&all.invoker) },
		func() (string, string) { return schedule.NoticeRetrying, whyRetrying(&all.invoker) },
		func() (string, string) { return schedule.NoticeNoWorker, whyNoWorker(around) },
		func() (string, string) { return schedule.NoticeDeadLetter, whyDeadLetter(around) },
	} {
		if code, message := reason(); message != "" {
			notices = append(notices, schedule.Notice{Code: code, Message: request.OneLine(message)})
		}
	}
	return notices
}

func whyPaused(def *wire.Definition) string {
	if !def.Schedule.State.Paused {
		return ""
	}
	message := "paused"
	if def.PausedBy != "" {
		message += " by " + def.PausedBy
	}
	if !def.PauseTime.IsZero() {
		message += " at " + format(def.PauseTime)
	}
	if notes := def.Schedule.State.Notes; notes != "" {
		message += ": " + notes
	}
	return message
}

func whyFrozen(freeze *schedule.Freeze) string {
	if freeze == nil {
		return ""
	}
	message := "the namespace is frozen"
	if freeze.By != "" {
		message += " by " + freeze.By
	}
	message += " since " + format(freeze.From)
	if !freeze.Until.IsZero() {
		message += " until " + format(freeze.Until)
	}
	return message + ": " + freeze.Reason
}

func whyNoTimes(def *wire.Definition, around *surroundings) string {
	if hasNoSource(&def.Schedule.Spec) {
		return "the spec has no times: the schedule runs only when triggered"
	}
	for _, w := range around.warnings {
		if w.Code == prose.WarnNeverDue || w.Code == prose.WarnAllExcluded {
			return "the schedule runs only when triggered: " + w.Text
		}
	}
	return ""
}

func hasNoSource(s *schedule.Spec) bool {
	return len(s.Calendars)+len(s.StructuredCalendars)+len(s.Intervals)+len(s.Cron)+len(s.At) == 0
}

func whyExhausted(generator *wire.GeneratorState, around *surroundings) string {
	exhausted := slices.ContainsFunc(around.warnings, func(w prose.Warning) bool {
		return w.Code == prose.WarnNoTimeLeft
	})
	if !exhausted {
		return ""
	}
	message := "no time is to come"
	if !generator.LastNominal.IsZero() {
		message += ", the last was " + format(generator.LastNominal)
	}
	return message + closing(generator)
}

// closing says when a schedule with nothing left to do closes.
func closing(generator *wire.GeneratorState) string {
	if generator.IdleDeadline.IsZero() {
		return ""
	}
	return "; the schedule closes at " + format(generator.IdleDeadline) + " unless it is changed"
}

func whyNoActions(def *wire.Definition, all *records) string {
	if !def.Schedule.State.LimitedActions || all.invoker.RemainingActions(def) > 0 {
		return ""
	}
	return "actions are limited, and none is left" + closing(&all.generator)
}

func whyWaiting(def *wire.Definition, invoker *wire.InvokerState) string {
	current := running(invoker.Starts)
	waiting := filter(invoker.Starts, func(s *wire.BufferedStart) bool {
		return s.Phase == schedule.PhaseDeferred || s.Phase == schedule.PhasePending && !s.Delayed()
	})
	if len(current) == 0 || len(waiting) == 0 {
		return ""
	}
	oldest := slices.MinFunc(current, func(a, b wire.BufferedStart) int { return a.StartTime.Compare(b.StartTime) })
	message := fmt.Sprintf("%s for run %s of %s, in progress since %s", counted(len(waiting), "start waits", "starts wait"),
		oldest.RunID, oldest.WorkflowID, format(oldest.StartTime))
	if oldest.Ending != "" {
		message += ", which has been asked to end"
	}
	return message + ": overlap policy " + strings.Join(policiesOf(def, waiting), ", ")
}

// policiesOf returns the overlap policies under which starts wait, each once.
func policiesOf(def *wire.Definition, waiting []wire.BufferedStart) []string {
	var policies []string
	for i := range waiting {
		policy := waiting[i].Overlap.Or(def.Schedule.Policies.Overlap).Or(schedule.OverlapSkip)
		if !slices.Contains(policies, string(policy)) {
			policies = append(policies, string(policy))
		}
	}
	return policies
}

// whyDelayed says which limit of the namespace keeps starts waiting. It looks at the first one.
func whyDelayed(invoker *wire.InvokerState) string {
	delayed := filter(invoker.Starts, (*wire.BufferedStart).Delayed)
	if len(delayed) == 0 {
		return ""
	}
	message := counted(len(delayed), "start waits", "starts wait")
	if delayed[0].Delay.By == schedule.DelayPendingRuns {
		return message + " for other runs to end: the namespace has as many queued or in progress as its limit maxPendingRuns allows"
	}
	return message + " for other starts: the namespace limits them by actionsPerSecond, and its schedules take turns"
}

func whyRetrying(invoker *wire.InvokerState) string {
	retrying := filter(invoker.Starts, func(s *wire.BufferedStart) bool {
		return s.Phase == schedule.PhaseReady && s.Attempt > 1
	})
	if len(retrying) == 0 {
		return ""
	}
	next := slices.MinFunc(retrying, func(a, b wire.BufferedStart) int { return a.BackoffUntil.Compare(b.BackoffUntil) })
	message := fmt.Sprintf("the start of %s has failed: attempt %d is due at %s", next.WorkflowID, next.Attempt,
		format(next.BackoffUntil))
	if others := len(retrying) - 1; others > 0 {
		message += fmt.Sprintf("; %s as well", counted(others, "other start fails", "other starts fail"))
	}
	return message
}

func whyNoWorker(around *surroundings) string {
	var messages []string
	for queue, status := range around.queues {
		if message := whyUnserved(queue, &status, around.noWorker); message != "" {
			messages = append(messages, message)
		}
	}
	slices.Sort(messages)
	return strings.Join(messages, "; ")
}

// whyUnserved says that a queue has no worker. A worker that died with a run looks busy. That it is gone is known if the event
// history says so and no run has been handed out since.
func whyUnserved(queue string, status *taskqueue.Status, told *schedule.Event) string {
	gone := told != nil && told.TaskQueue == queue && told.Time.After(status.LastHandOut) && !status.Pulling
	switch {
	case !status.Worker() && status.Oldest != nil:
		return fmt.Sprintf("task queue %q has no worker: %s there, the oldest since %s", queue,
			counted(status.Waiting, "run waits", "runs wait"), format(status.Oldest.Since))
	case gone && status.Held > 0:
		return fmt.Sprintf("task queue %q has no worker that is alive: noticed at %s, %s there", queue, format(told.Time),
			counted(status.Waiting+status.Held, "run waits", "runs wait"))
	}
	return ""
}

func whyDeadLetter(around *surroundings) string {
	letter := around.deadLetter
	if letter == nil || around.replayed != nil && !around.replayed.Time.Before(letter.Time) {
		return ""
	}
	return fmt.Sprintf("a message about the schedule could not be processed at %s: %s; see carillon dlq list",
		format(letter.Time), letter.Reason)
}

// counted puts a number in front of a noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// createFlags are the flags of schedule create, and the request they fill in.
type createFlags struct {
	env     Env
	file    string
	request schedule.CreateRequest
	// retry receives the flags of the retry policy, since the request may have no policy.
	retry schedule.RetryPolicy
	binder
}

// retryFlags are the flags that ask for a retry policy.
var retryFlags = []string{"retry-initial-interval", "retry-backoff", "retry-max-interval", "retry-max-attempts", "non-retryable-error"}

func (f *createFlags) define(cmd *cobra.Command) {
	f.defineSchedule(cmd, "create it paused")
	f.group(cmd, "Manual runs", f.defineRequests)
	f.defineFile(cmd, "")
}

// defineSchedule defines the flags of the schedule itself, which create and update share.
func (f *createFlags) defineSchedule(cmd *cobra.Command, paused string) {
	f.group(cmd, "When it is due (the union of all that is given)", f.defineSpec)
	f.group(cmd, "What is started", f.defineAction)
	f.group(cmd, "Policies", f.definePolicies)
	f.group(cmd, "State", func() { f.defineState(paused) })
}

func (f *createFlags) defineFile(cmd *cobra.Command, more string) {
	addFlags(cmd, "From a file", func(flags *pflag.FlagSet) {
		flags.StringVarP(&f.file, "file", "f", "",
			"YAML or JSON `FILE` of a schedule in the shape of the API"+more+
				", - for standard input; other flags replace what it sets")
	})
}

func (f *createFlags) group(cmd *cobra.Command, title string, define func()) {
	addFlags(cmd, title, func(flags *pflag.FlagSet) {
		f.flags = flags
		define()
	})
}

func (f *createFlags) defineSpec() {
	spec := &f.request.Spec
	at := timeParser(f.env.Now)
	repeated(&f.binder, "every",
		"every so often, aligned to 1970: `INTERVAL` 90s, or 1h/5m with a phase; repeatable",
		&spec.Intervals, parseInterval)
	repeated(&f.binder, "cron", "crontab `EXPR`, such as \"0 9 * * mon-fri\"; repeatable", &spec.Cron, asText)
	repeated(&f.binder, "calendar",
		"calendar as `JSON`, such as {\"hour\":\"9\",\"dayOfWeek\":\"mon-fri\"}; repeatable",
		&spec.Calendars, parseCalendar)
	repeated(&f.binder, "at", "one-off `TIME` in RFC 3339, or from now on as +10m; repeatable", &spec.At, at)
	repeated(&f.binder, "exclude-calendar", "calendar as `JSON` of times to leave out; repeatable",
		&spec.ExcludeCalendars, parseExcluded)
	repeated(&f.binder, "exclude-calendar-named",
		"`NAME` of a calendar of the namespace whose dates to leave out (carillon calendar list); repeatable",
		&spec.ExcludeCalendarsNamed, asText)
	repeated(&f.binder, "exclude-date", "`DATE` to leave out, 2026-12-25, or 2026-12-24/2026-12-26 for several; repeatable",
		&spec.ExcludeDates, func(s string) (schedule.DateRange, error) { return schedule.DateRange(s), nil })
	repeated(&f.binder, "blackout", "stretch of time to leave out, `FROM/TO` in RFC 3339, the latter not included; repeatable",
		&spec.Blackouts, parseBlackout)
	f.string("time-zone", "IANA `ZONE` of cron expressions and calendars, such as Europe/Berlin; UTC if not given",
		&spec.TimeZone)
	parsed(&f.binder, "start", "never due before `TIME`", &spec.StartTime, at)
	parsed(&f.binder, "end", "never due after `TIME`", &spec.EndTime, at)
	oneOf(&f.binder, "dst-gap", "`POLICY` for times that a change of the clock skips", &spec.DST.Gap,
		schedule.GapSkip, schedule.GapShift)
	oneOf(&f.binder, "dst-repeat", "`POLICY` for times that a change of the clock repeats", &spec.DST.Repeat,
		schedule.RepeatBoth, schedule.RepeatFirst, schedule.RepeatLast)
	f.duration("jitter", "delay each time by up to `DURATION`, always the same for the same time", &spec.Jitter)
}

func (f *createFlags) defineAction() {
	action := &f.request.Action
	f.exclusive(f.env.Stderr, "type", "workflow")
	f.started("type", "`TYPE` of the action: the handler that workers have registered, such as noop", "")
	f.started("workflow", "start a workflow of `TYPE`, on workers made with an SDK of Temporal", schedule.ActionWorkflow)
	f.string("task-queue", "`QUEUE` where workers wait; \""+defaultTaskQueue+"\" if not given", &action.TaskQueue)
	f.input(f.env, &action.Input, "input of the action, or the list of the arguments of a workflow,")
	pairs(&f.binder, "header", "`NAME=TEXT` that a run is handed beside its input; repeatable", &action.Headers, asText)
	pairs(&f.binder, "memo", "`NAME=JSON` to keep with a run; repeatable", &action.Memo, parseJSON)
	pairs(&f.binder, "search-attribute", "`NAME=JSON` to find a run by; repeatable", &action.SearchAttributes, parseJSON)
	f.string("workflow-id", "base of the workflow `ID`s; the ID of the schedule if not given", &action.WorkflowID)
	f.duration("run-timeout", "end a run after `DURATION`, as timed out", &action.RunTimeout)
	f.duration("execution-timeout", "end a run with all its retries after `DURATION`", &action.ExecutionTimeout)
	f.duration("task-timeout", "end one attempt of a run after `DURATION`", &action.TaskTimeout)
	f.duration("heartbeat-timeout", "end an attempt whose code has shown no sign of life for `DURATION`, at least 10s",
		&action.HeartbeatTimeout)
	f.int("priority", "order the runs of a task queue by `N`, from 1, the first, to 5; 3 if not given", &action.Priority)
	f.string("fairness-key", "`KEY` of the fairness of a workflow, for its code to see", &action.FairnessKey)
	f.float("fairness-weight", "`WEIGHT` of that, 0.001 to 1000", &action.FairnessWeight)
	f.duration(retryFlags[0], "wait `DURATION` before the second attempt; 1s if not given", &f.retry.InitialInterval)
	f.float(retryFlags[1], "multiply the wait by `FACTOR` after each attempt; 2 if not given", &f.retry.BackoffCoefficient)
	f.duration(retryFlags[2], "wait `DURATION` at most; 100 times the first wait if not given", &f.retry.MaximumInterval)
	f.int(retryFlags[3], "attempt a run `N` times at most, the first included; 0 for no bound", &f.retry.MaximumAttempts)
	repeated(&f.binder, retryFlags[4], "end a run at once by an error of `TYPE`; repeatable", &f.retry.NonRetryableErrorTypes, asText)
}

// started defines a flag for the type of what is started. It also says of what kind that is.
func (f *createFlags) started(name, usage string, kind schedule.ActionKind) {
	action := &f.request.Action
	value := f.flags.String(name, "", usage)
	f.onGiven(name, func() error {
		action.Type, action.Kind = *value, kind
		return nil
	})
}

func (f *createFlags) definePolicies() {
	policies := &f.request.Policies
	f.overlap(&policies.Overlap, "`POLICY` while an earlier run is in progress")
	f.int("concurrency-limit", "let `N` runs be in progress before the overlap policy applies; 1 if not given",
		&policies.ConcurrencyLimit)
	f.duration("catchup-window",
		"give up what is later than `DURATION`, after an outage for example; 365 days if not given",
		&policies.CatchupWindow)
	oneOf(&f.binder, "catchup-mode", "`MODE` of making up for several late actions", &policies.CatchupMode,
		schedule.CatchupModes()...)
	oneOf(&f.binder, "lost-runs", "`POLICY` for a run that nobody has any more", &policies.LostRuns,
		schedule.LostRunPolicies()...)
	f.bool("pause-on-failure", "pause the schedule when a run fails or times out", &policies.PauseOnFailure)
	f.bool("keep-original-workflow-id", "do not append the time to the workflow ID", &policies.KeepOriginalWorkflowID)
}

func (f *createFlags) defineState(paused string) {
	state := &f.request.State
	f.bool("paused", paused, &state.Paused)
	f.string("notes", "free `TEXT`: what it is for, or why it is paused", &state.Notes)
	pairs(&f.binder, "schedule-memo", "`NAME=JSON` to keep with the schedule itself; repeatable", &f.request.Memo, parseJSON)
	pairs(&f.binder, "schedule-search-attribute", "`NAME=JSON` to find the schedule itself by; repeatable", &f.request.SearchAttributes, parseJSON)
	remaining := f.flags.Int("remaining-actions", 0, "start `N` actions and no more, manual ones not counted")
	f.onGiven("remaining-actions", func() error {
		state.LimitedActions, state.RemainingActions = true, *remaining
		return nil
	})
}

func (f *createFlags) defineRequests() {
	f.bool("trigger", "also start one run at once", &f.request.TriggerNow)
	repeated(&f.binder, "backfill", "also start the runs of the past times in `FROM/TO`, both included; repeatable",
		&f.request.Backfills, parseRange(timeParser(f.env.Now)))
}

// build returns the request that a command line asks for.
func (f *createFlags) build(cmd *cobra.Command, id string) (schedule.CreateRequest, error) {
	if err := f.readFile(&f.request); err != nil {
		return schedule.CreateRequest{}, err
	}
	if err := f.fill(cmd.Flags()); err != nil {
		return schedule.CreateRequest{}, err
	}
	if id != "" {
		f.request.ID = id
	}
	return f.request, nil
}

// fill applies the flags to the request, over what is in it. It may be called again with another request.
func (f *createFlags) fill(flags *pflag.FlagSet) error {
	f.retry = schedule.RetryPolicy{}
	if policy := f.request.Action.RetryPolicy; policy != nil {
		f.retry = *policy
	}
	if err := f.apply(); err != nil {
		return err
	}
	if anyChanged(flags, retryFlags) {
		retry := f.retry
		f.request.Action.RetryPolicy = &retry
	}
	if f.request.Action.TaskQueue == "" {
		f.request.Action.TaskQueue = defaultTaskQueue
	}
	return nil
}

// readFile reads the file if one is given.
func (f *createFlags) readFile(into any) error {
	if f.file == "" {
		return nil
	}
	data, err := f.env.readInput(f.file)
	if err == nil {
		err = apitext.DecodeYAML(data, into)
	}
	if err != nil {
		return usagef("--file %s: %w", f.file, err)
	}
	return nil
}

func anyChanged(flags *pflag.FlagSet, names []string) bool {
	for _, name := range names {
		if flags.Changed(name) {
			return true
		}
	}
	return false
}

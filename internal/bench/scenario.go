package bench

import (
	"context"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// Seconds is a duration that is a number of seconds in JSON.
type Seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) { return number(time.Duration(s).Seconds()), nil }

// Parameters are the parameters of a scenario. Those that it does not use are zero.
type Parameters struct {
	// Schedules is the number of measured schedules.
	Schedules int `json:"schedules,omitempty"`
	// Interval is how often each of them is due.
	Interval Seconds `json:"interval_s,omitempty"`
	// Warmup is how long the load lasts before the measurement, Duration how long the measurement is.
	Warmup   Seconds `json:"warmup_s,omitempty"`
	Duration Seconds `json:"duration_s,omitempty"`
	// Actions is how many actions a backfill asks for, of each schedule.
	Actions int `json:"actions,omitempty"`
	// Runs is how many runs of one schedule are in progress at once.
	Runs int `json:"runs,omitempty"`
	// Spread is within which time they end; zero lets all of them end at once.
	Spread Seconds `json:"spread_s,omitempty"`
	// ResultBytes is the size of each run's result; zero for none.
	ResultBytes int `json:"result_bytes,omitempty"`
	// Overlap is the overlap policy: one of those that drop nothing.
	Overlap schedule.OverlapPolicy `json:"overlap,omitempty"`
	// Clients is how many clients ask side by side, each waiting for its answer.
	Clients int `json:"clients,omitempty"`
	// Rate is a rate of actions per second that is known to be the best; zero means to look for it. For workflows it is how many are started per
	// second; zero means several loads.
	Rate int `json:"rate,omitempty"`
	// Dormant is how many further schedules exist of which none is due within months.
	Dormant int `json:"dormant,omitempty"`
	// Active is how many further schedules are due every second.
	Active int `json:"active,omitempty"`
	// Kind is the kind of workflow: one of WorkflowKinds, or KindAll.
	Kind string `json:"workload,omitempty"`
	// Size is the size of the workload, in what it is counted in: signals, activities, tasks, polls, workflows or events. Zero is its default.
	Size int `json:"size,omitempty"`
	// Workflows is how many workflows sleep, or wait for a worker. Events is how many events the longest history has.
	Workflows int `json:"workflows,omitempty"`
	Events    int `json:"events,omitempty"`
}

// The names of the parameters, as flags and messages call them.
const (
	ParamSchedules = "schedules"
	ParamInterval  = "interval"
	ParamWarmup    = "warmup"
	ParamDuration  = "duration"
	ParamActions   = "actions"
	ParamRuns      = "runs"
	ParamSpread    = "spread"
	ParamOverlap   = "overlap"
	ParamResult    = "result-bytes"
	ParamClients   = "clients"
	ParamRate      = "rate"
	ParamDormant   = "dormant"
	ParamActive    = "active"
	ParamKind      = "workload"
	ParamSize      = "size"
	ParamWorkflows = "workflows"
	ParamEvents    = "events"
)

// maxSchedules bounds the schedules of one run.
const maxSchedules = 1_000_000

// maxResultBytes bounds the result of each run: what a worker accepts, less the quotation marks.
const maxResultBytes = worker.MaxResultBytes - 2

// Overlaps returns the policies a scenario may have: those that drop no action.
func Overlaps() []schedule.OverlapPolicy {
	return []schedule.OverlapPolicy{schedule.OverlapAllowAll, schedule.OverlapBufferAll}
}

// Scenario is something that can be measured.
type Scenario struct {
	Name string
	// Short says in one line what it measures.
	Short string
	// Takes are the names of the parameters it accepts, Defaults their defaults.
	Takes    []string
	Defaults Parameters

	measure func(context.Context, *session) error
}

// Scenarios returns all scenarios, in the order in which they are best run.
func Scenarios() []Scenario {
	return []Scenario{
		steadyScenario(), herdScenario(), backfillScenario(), triggerScenario(), apiScenario(),
		inflightScenario(), idleScenario(), recoverScenario(), overloadScenario(),
		workflowsScenario(), backlogScenario(), sleepingScenario(), coldScenario(), visibilityScenario(),
	}
}

// Check refuses parameters with which the scenario cannot be run.
func (s Scenario) Check(p Parameters) error {
	for _, bound := range []struct {
		name              string
		value, least, max int
	}{
		{ParamSchedules, p.Schedules, 1, maxSchedules},
		{ParamActions, p.Actions, 1, 1_000_000},
		{ParamRuns, p.Runs, 1, 4_000},
		{ParamClients, p.Clients, 1, 1_000},
		{ParamResult, p.ResultBytes, 0, maxResultBytes},
		{ParamRate, p.Rate, 0, 100_000},
		{ParamDormant, p.Dormant, 0, maxSchedules},
		{ParamActive, p.Active, 1, 10_000},
		{ParamWorkflows, p.Workflows, 1, 1_000_000},
		{ParamEvents, p.Events, leastEvents, 50_000},
	} {
		if s.takes(bound.name) && (bound.value < bound.least || bound.value > bound.max) {
			return schedule.Invalid(bound.name, "%d is out of range: use %d to %d", bound.value, bound.least, bound.max)
		}
	}
	for _, span := range []struct {
		name  string
		value Seconds
		least time.Duration
	}{
		{ParamInterval, p.Interval, time.Second},
		{ParamSpread, p.Spread, 0},
		{ParamWarmup, p.Warmup, 0},
		{ParamDuration, p.Duration, time.Second},
	} {
		value := time.Duration(span.value)
		if s.takes(span.name) && (value < span.least || value > time.Hour || value%time.Second != 0) {
			return schedule.Invalid(span.name, "%s is out of range: use whole seconds, %s to 1h", value, span.least)
		}
	}
	if s.takes(ParamOverlap) && !slices.Contains(Overlaps(), p.Overlap) {
		return schedule.Invalid(ParamOverlap, "%q must be one of %v", p.Overlap, Overlaps())
	}
	if kinds := append(WorkflowKinds(), KindAll); s.takes(ParamKind) && !slices.Contains(kinds, p.Kind) {
		return schedule.Invalid(ParamKind, "%q must be one of %v", p.Kind, kinds)
	}
	if !s.takes(ParamSize) || p.Size == 0 {
		return nil
	}
	return workloadOf(p.Kind).check(p.Size)
}

func (s Scenario) takes(name string) bool { return slices.Contains(s.Takes, name) }

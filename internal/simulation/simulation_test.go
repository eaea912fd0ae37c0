package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// How to repeat a simulation: see the package documentation.
const (
	envSeed = "CARILLON_SEED"
	envPlan = "CARILLON_PLAN"
	// envSeeds is how many new seeds TestSeeds tries instead of its own.
	envSeeds = "CARILLON_SEEDS"
	// envFirst is the first of the new seeds. By default it comes from the clock.
	envFirst = "CARILLON_FIRST_SEED"
)

// TestWithoutFaults: where nothing goes wrong, everything happens in time, and every message comes once.
func TestWithoutFaults(t *testing.T) {
	t.Parallel()
	seeds := uint64(200)
	if raceEnabled || testing.Short() {
		seeds = 20
	}
	if text := os.Getenv(envSeeds); text != "" {
		var err error
		seeds, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	runs := 0
	for seed := range seeds {
		plan := PlanOf(seed)
		if seed%3 == 0 {
			plan.Requests = 0
		}
		report := Run(t, seed, plan.undisturbed())
		failIfFound(t, report)
		require.Empty(t, report.Faults)
		runs += report.Runs
	}
	require.Greater(t, runs, 5*int(seeds))
}

// TestSeed repeats the simulations of one seed.
func TestSeed(t *testing.T) {
	text := os.Getenv(envSeed)
	if text == "" {
		t.Skipf("no %s", envSeed)
	}
	seed := parseSeed(t, text)
	plans := []Plan{PlanOf(seed), ExecutionPlanOf(seed)}
	if text := os.Getenv(envPlan); text != "" {
		plans = []Plan{{}}
		require.NoError(t, json.Unmarshal([]byte(text), &plans[0]))
	}
	for _, plan := range plans {
		report := Run(t, seed, plan)
		t.Logf("the whole trace: %s", save(t, report))
		failIfFound(t, report)
	}
}

// TestSeeds simulates under many seeds, the same ones each time. CARILLON_SEEDS makes it try new ones.
func TestSeeds(t *testing.T) {
	t.Parallel()
	first, count := seedsToTry(t, 1000)
	trySeeds(t, first, count, PlanOf)
}

// TestExecutions is TestSeeds for workflow executions.
func TestExecutions(t *testing.T) {
	t.Parallel()
	first, count := seedsToTry(t, 1000)
	trySeeds(t, first, count, ExecutionPlanOf)
}

// trySeeds simulates under some seeds, and reports what is found.
func trySeeds(t *testing.T, first, count uint64, planOf func(seed uint64) Plan) {
	t.Logf("seeds %d to %d", first, first+count-1)
	seeds := make(chan uint64, count)
	for i := range count {
		seeds <- first + i
	}
	close(seeds)
	var sum tally
	begin := time.Now()
	t.Run("all", func(t *testing.T) {
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				for seed := range seeds {
					report := Run(t, seed, planOf(seed))
					sum.add(&report)
					if len(report.Findings) > 0 {
						explain(t, report)
					}
				}
			})
		}
	})
	t.Logf("%s in %s", &sum, time.Since(begin).Round(time.Millisecond))
}

// seedsToTry is the first of the seeds to try, and their number: so many as a rule, or a part of them.
func seedsToTry(t *testing.T, rule uint64) (first, count uint64) {
	text := os.Getenv(envSeeds)
	switch {
	case text != "":
		return firstNewSeed(t), parseSeed(t, text)
	case raceEnabled: // the race detector takes ten times as long
		return 0, rule / 33
	case testing.Short():
		return 0, rule / 10
	default:
		return 0, rule
	}
}

func firstNewSeed(t *testing.T) uint64 {
	if text := os.Getenv(envFirst); text != "" {
		return parseSeed(t, text)
	}
	return uint64(time.Now().UnixMilli())
}

func parseSeed(t *testing.T, text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	return n
}

// tally adds up reports.
type tally struct {
	mu                 sync.Mutex
	seeds, runs, steps int
	repeated           int
	faults             map[string]int
}

func (s *tally) add(r *Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults == nil {
		s.faults = map[string]int{}
	}
	s.seeds++
	s.runs += r.Runs
	s.steps += r.Steps
	s.repeated += r.Repeated
	for kind, n := range r.Faults {
		s.faults[kind] += n
	}
}

func (s *tally) String() string {
	var faults []string
	for _, kind := range slices.Sorted(maps.Keys(s.faults)) {
		faults = append(faults, fmt.Sprintf("%s %d", kind, s.faults[kind]))
	}
	return fmt.Sprintf("%d seeds, %d runs (%d begun more than once), %d steps; faults: %s",
		s.seeds, s.runs, s.repeated, s.steps, strings.Join(faults, ", "))
}

// explain reports everything about a simulation that has found something, and about the smallest plan that still does.
func explain(t *testing.T, report Report) {
	t.Errorf("seed %d, %s", report.Seed, describe(t, report))
	again := func(seed uint64, plan Plan) Report { return Run(t, seed, plan) }
	if smaller := Shrink(report, 200, again); smaller.Plan != report.Plan {
		report = smaller
		t.Logf("seed %d, shrunk: %s", report.Seed, describe(t, report))
	}
	t.Logf("the whole trace: %s (kept with -artifacts)", save(t, report))
	t.Logf("what concerns the first finding:\n%s", strings.Join(report.trace.about(report.Findings[0].Schedule, 80), "\n"))
}

// failIfFound fails the test if something has been found.
func failIfFound(t *testing.T, report Report) {
	t.Helper()
	if len(report.Findings) == 0 {
		return
	}
	t.Errorf("seed %d, %s", report.Seed, describe(t, report))
	t.Logf("what concerns the first finding:\n%s", strings.Join(report.trace.about(report.Findings[0].Schedule, 200), "\n"))
}

// describe is the plan and the findings, and the command that repeats them.
func describe(t *testing.T, report Report) string {
	plan, err := json.Marshal(report.Plan)
	require.NoError(t, err)
	text := fmt.Sprintf("plan %s found:\n", plan)
	for _, f := range report.Findings {
		text += "    " + f.String() + "\n"
	}
	command := fmt.Sprintf("%s=%d ", envSeed, report.Seed)
	if report.Plan != PlanOf(report.Seed) && report.Plan != ExecutionPlanOf(report.Seed) {
		command += fmt.Sprintf("%s='%s' ", envPlan, plan)
	}
	return text + "  again: " + command + "go test ./internal/simulation -run 'TestSeed$' -v -artifacts"
}

// save writes the whole trace to a file.
func save(t *testing.T, report Report) string {
	path := filepath.Join(t.ArtifactDir(), traceName(report))
	file, err := os.Create(path)
	require.NoError(t, err)
	report.trace.write(file)
	require.NoError(t, file.Close())
	return path
}

func traceName(report Report) string {
	if report.Plan.Executions > 0 {
		return fmt.Sprintf("trace-%d-executions.txt", report.Seed)
	}
	return fmt.Sprintf("trace-%d.txt", report.Seed)
}

// TestSameSeedSameTrace: only because of this a failing seed is worth something.
func TestSameSeedSameTrace(t *testing.T) {
	t.Parallel()
	count := uint64(25)
	if text := os.Getenv(envSeeds); text != "" {
		count = parseSeed(t, text)
	}
	for seed := range count {
		for _, plan := range []Plan{PlanOf(seed), ExecutionPlanOf(seed)} {
			first, second := Run(t, seed, plan), Run(t, seed, plan)
			if first.trace.hash() != second.trace.hash() {
				t.Errorf("seed %d: %s", seed, difference(first.trace, second.trace))
			}
		}
	}
}

// difference shows where two traces part.
func difference(a, b *trace) string {
	at := 0
	for at < min(len(a.lines), len(b.lines)) && a.lines[at].String() == b.lines[at].String() {
		at++
	}
	show := func(t *trace) string {
		var text strings.Builder
		for _, l := range t.lines[max(0, at-5):min(at+5, len(t.lines))] {
			fmt.Fprintln(&text, l)
		}
		return text.String()
	}
	return fmt.Sprintf("line %d\n%s\nand\n%s", at, show(a), show(b))
}

func TestShrink(t *testing.T) {
	t.Parallel()
	// What fails here needs crashes, and two schedules.
	run := func(seed uint64, plan Plan) Report {
		report := Report{Seed: seed, Plan: plan}
		if plan.Crash > 0 && plan.Schedules > 1 {
			report.Findings = []Finding{{Kind: "broken"}}
		}
		return report
	}
	plan := Plan{
		Schedules: 4, Duration: 31 * time.Second, Requests: 11, Crash: 0.1, LostReply: 0.1, Slow: true, Restarts: 3, Full: 1,
	}
	want := Plan{Schedules: 2, Duration: shortest, Crash: 0.1, SystemPlan: SystemPlan{Models: each}}
	require.Equal(t, want, Shrink(run(1, plan), 200, run).Plan)
	require.Equal(t, plan.Duration, Shrink(run(1, plan), 5, run).Plan.Duration, "no more tries than allowed")
	other := Report{Plan: plan, Findings: []Finding{{Kind: "something else"}}}
	require.Equal(t, plan, Shrink(other, 200, run).Plan, "another finding is not a smaller one")
}

// TestLimitsThatChange: without faults, new limits apply from a second after they were set. In that second an invoker that has
// not heard of them may promise a time right beside one that another invoker has promised by the new rate. So there may be one
// more start.
func TestLimitsThatChange(t *testing.T) {
	t.Parallel()
	seeds := uint64(20)
	if raceEnabled || testing.Short() {
		seeds = 6
	}
	looked := 0
	for seed := range seeds {
		plan := Plan{Schedules: 4, Often: true, Duration: 40 * time.Second, ActionsPerSecond: 1.5}
		plan.LimitChanges = 4
		report := Run(t, seed, plan)
		failIfFound(t, report)
		for i, limits := range report.limits {
			from, to := limits.at.Add(time.Second), limits.at.Add(drainLimit)
			if i < len(report.limits)-1 {
				to = report.limits[i+1].at
			}
			starts := slices.DeleteFunc(slices.Clone(report.starts), func(at time.Time) bool { return at.Before(from) || !at.Before(to) })
			for j, first := range starts {
				for k, last := range starts[j:] {
					if limits.ActionsPerSecond > 0 {
						most := limits.ActionsPerSecond*(last.Sub(first).Seconds()+1) + 2
						require.LessOrEqual(t, float64(k+1), most, "seed %d: from %v to %v", seed, first, last)
						looked++
					}
				}
			}
		}
	}
	require.Greater(t, looked, 100)
}

// TestLimits: without faults the limits of a namespace are kept exactly, or nearly so, and it comes to rest.
func TestLimits(t *testing.T) {
	t.Parallel()
	runLimited(t, Plan{ActionsPerSecond: 1.5}, func(uint64, *Report) {})
}

// runLimited runs a plan with limits and without faults under some seeds, and looks at each report.
func runLimited(t *testing.T, plan Plan, look func(seed uint64, report *Report)) {
	t.Helper()
	seeds := uint64(20)
	if raceEnabled || testing.Short() {
		seeds = 4
	}
	plan.Schedules, plan.Duration, plan.Requests = 3, 20*time.Second, 10
	for seed := range seeds {
		report := Run(t, seed, plan)
		failIfFound(t, report)
		look(seed, &report)
		requireRate(t, &report, plan.ActionsPerSecond)
	}
}

// TestLimitsOfOneNamespace: where nothing goes wrong the limits of a namespace are kept exactly, or nearly so. They hold back
// nothing in another namespace, which has a schedule of the same ID.
func TestLimitsOfOneNamespace(t *testing.T) {
	t.Parallel()
	plan := Plan{ActionsPerSecond: 0.7}
	plan.Twin = true
	runLimited(t, plan, func(seed uint64, report *Report) {
		require.Greater(t, report.Runs, len(report.starts), "seed %d: runs in the other", seed)
	})
}

// requireRate checks that starts follow each other no faster than a limit allows. A start may be late by a timer of 250 ms and
// its message.
func requireRate(t *testing.T, report *Report, limit float64) {
	t.Helper()
	require.NotEmpty(t, report.starts)
	for i, from := range report.starts {
		for j, to := range report.starts[i:] {
			most := limit*(to.Sub(from).Seconds()+1) + 1
			require.LessOrEqual(t, float64(j+1), most, "seed %d: from %v to %v", report.Seed, from, to)
		}
	}
}

// TestEveryOverlapPolicyIsSimulated: the simulation would not test a policy that is missing from its own list.
func TestEveryOverlapPolicyIsSimulated(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, schedule.OverlapPolicies(), overlapPolicies)
}

func TestEveryPoolIsSimulated(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, subjects.Pools(), []string{roleGenerator, roleInvoker, roleBackfiller, roleHistory})
}

package chaos

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// actionType is the type of action that the workers of a run handle.
const (
	actionType = "chaos"
	taskQueue  = "chaos"
	idPrefix   = "chaos-"
)

// Verb is the kind of a request to the API.
type Verb string

// The verbs of the requests of a run.
const (
	Create   Verb = "create"
	Trigger  Verb = "trigger"
	Backfill Verb = "backfill"
	Pause    Verb = "pause"
	Unpause  Verb = "unpause"
	Update   Verb = "update"
)

// operation is one request that will be made.
type operation struct {
	// At counts from the beginning of the run.
	At   time.Duration
	Verb Verb
	ID   string
	// RequestID makes it idempotent.
	RequestID string
	// Schedule is what to create, or to update to.
	Schedule schedule.Schedule
	// Range is what to backfill, Overlap the policy of a trigger.
	Range   schedule.BackfillRange
	Overlap schedule.OverlapPolicy
}

// policies are all overlap policies.
var policies = schedule.OverlapPolicies()

// work is the input of an action: how long its code runs.
type work struct {
	Work schedule.Duration `json:"work"`
}

// restlessEvery: one in this many schedules is paused, unpaused and updated all the time. Nobody can tell whether a time just
// before a pause or an update is still made, so not all of its times can be checked. Therefore most schedules are left alone.
const restlessEvery = 4

// newWorkload works out the requests of a run in order: the schedules are created in its first part, and then triggered,
// backfilled, paused, unpaused and updated. Nothing is due after end. The same arguments always give the same requests.
func newWorkload(seed uint64, schedules int, duration time.Duration, end time.Time) []operation {
	w := workload{random: rand.New(rand.NewPCG(seed, 100)), duration: duration, end: end.UTC().Truncate(time.Second)}
	creation := min(duration/4, 20*time.Second)
	for i := range schedules {
		id := fmt.Sprintf("%s%04d", idPrefix, i)
		sched := w.schedule(i)
		created := creation * time.Duration(i) / time.Duration(schedules)
		w.add(operation{At: created, Verb: Create, ID: id, Schedule: sched})
		w.live(i, id, sched, created)
	}
	slices.SortStableFunc(w.operations, func(a, b operation) int { return cmp.Compare(a.At, b.At) })
	for i := range w.operations {
		w.operations[i].RequestID = fmt.Sprintf("chaos-%d-%s-%d", seed, w.operations[i].Verb, i)
	}
	return w.operations
}

type workload struct {
	random     *rand.Rand
	duration   time.Duration
	end        time.Time
	operations []operation
}

func (w *workload) add(o operation) { w.operations = append(w.operations, o) }

// schedule makes the i-th schedule. Each overlap policy has the same number of schedules.
func (w *workload) schedule(i int) schedule.Schedule {
	every := time.Duration(4+w.random.IntN(9)) * time.Second
	overlap := policies[i%len(policies)]
	s := schedule.Schedule{
		Spec:     w.spec(every),
		Action:   schedule.Action{Type: actionType, TaskQueue: taskQueue, Input: w.input(every, overlap)},
		Policies: schedule.Policies{Overlap: overlap},
	}
	if w.random.IntN(10) == 0 {
		s.Action.RunTimeout = schedule.Duration(30 * time.Second)
	}
	return s
}

func (w *workload) spec(every time.Duration) schedule.Spec {
	spec := schedule.Spec{EndTime: w.end}
	if w.random.IntN(4) == 0 {
		spec.Cron = []string{"@every " + every.String()}
	} else {
		phase := time.Duration(w.random.IntN(int(every/time.Second))) * time.Second
		spec.Intervals = []schedule.Interval{{Every: schedule.Duration(every), Phase: schedule.Duration(phase)}}
	}
	if w.random.IntN(3) == 0 {
		spec.Jitter = schedule.Duration(time.Duration(1+w.random.IntN(int(every/time.Second))) * time.Second)
	}
	return spec
}

// input chooses how long a run takes. Where an overlap policy keeps no more than it can work off, some runs take longer than
// the time between two of them, so that the policy has to act.
func (w *workload) input(every time.Duration, overlap schedule.OverlapPolicy) json.RawMessage {
	longest := every / 4
	if overlap != schedule.OverlapBufferAll && w.random.IntN(3) == 0 {
		longest = every + every/2
	}
	took := time.Duration(w.random.Int64N(int64(longest))).Round(time.Millisecond)
	text, _ := json.Marshal(work{schedule.Duration(took)}) // a struct of one text: it never fails
	return text
}

// live adds what happens to a schedule after it was created.
func (w *workload) live(i int, id string, sched schedule.Schedule, created time.Duration) {
	last := w.duration - 2*time.Second
	step := span{10 * time.Second, 50 * time.Second}
	for at := created + step.choose(w.random)/2; at < last; at += step.choose(w.random) {
		if i%restlessEvery == 0 {
			at = w.change(id, sched, at, last)
		} else {
			w.request(id, sched, at)
		}
	}
}

// request triggers or backfills.
func (w *workload) request(id string, sched schedule.Schedule, at time.Duration) {
	if w.random.IntN(3) > 0 {
		w.add(operation{At: at, Verb: Trigger, ID: id, Overlap: pick(w.random, append([]schedule.OverlapPolicy{""}, policies...))})
		return
	}
	from := w.end.Add(-24*time.Hour - time.Duration(w.random.IntN(3600))*time.Second)
	to := from.Add(time.Duration(10+w.random.IntN(50)) * time.Second)
	overlap := pick(w.random, []schedule.OverlapPolicy{schedule.OverlapAllowAll, schedule.OverlapBufferOne, schedule.OverlapSkip})
	if sched.Policies.Overlap == schedule.OverlapBufferAll {
		overlap = schedule.OverlapBufferAll // the runs of the others are too long for a queue of them
	}
	w.add(operation{At: at, Verb: Backfill, ID: id, Range: schedule.BackfillRange{Start: from, End: to, Overlap: overlap}})
}

// change updates, or pauses and later unpauses. It returns when the change is over.
func (w *workload) change(id string, sched schedule.Schedule, at, last time.Duration) time.Duration {
	if w.random.IntN(3) == 0 {
		every := time.Duration(4+w.random.IntN(9)) * time.Second
		sched.Spec, sched.Action.Input = w.spec(every), w.input(every, sched.Policies.Overlap)
		w.add(operation{At: at, Verb: Update, ID: id, Schedule: sched})
		return at
	}
	until := at + span{3 * time.Second, 15 * time.Second}.choose(w.random)
	w.add(operation{At: at, Verb: Pause, ID: id})
	if until < last { // otherwise it ends paused, which is checked
		w.add(operation{At: until, Verb: Unpause, ID: id})
	}
	return until
}

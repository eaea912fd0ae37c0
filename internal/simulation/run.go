package simulation

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
	"github.com/carillon-scheduler/carillon/subjects"
)

// drainLimit is how long everything may take to come to rest once the faults are over: hundreds of runs, one after the other,
// each tried several times.
const drainLimit = 2 * time.Hour

// Report is the result of a simulation.
type Report struct {
	Seed     uint64
	Plan     Plan
	Findings []Finding
	// Faults counts the faults by kind, Runs the started runs, Steps all lines of the trace.
	Faults      map[string]int
	Runs, Steps int
	// Met counts how often each limit was met.
	Met map[string]int
	// Events counts the events of executions, by kind.
	Events map[enumspb.EventType]int
	// Repeated counts the times that a worker's code began a run again, for a reason.
	Repeated int
	// starts are when the action stream stored the runs of the namespace that has limits.
	starts []time.Time
	// limits are the limits of that namespace, from the first on.
	limits []limitsSince
	trace  *trace
}

// Run simulates an installation under the faults of a plan. It must be called outside of a bubble.
func Run(t *testing.T, seed uint64, plan Plan) (report Report) {
	synctest.Test(t, func(*testing.T) {
		w := newWorld(seed, plan)
		begin := time.Now()
		if plan.Executions > 0 {
			w.bootExecutions(begin)
			w.clients()
		} else {
			w.boot(begin)
			w.callers(begin)
		}
		w.arrange()
		w.run(begin.Add(plan.Duration + plan.Recess + drainLimit))
		if !w.quiet() {
			w.ledger.find("unrest", "", "does not come to rest: %s", w.busy())
		}
		report = Report{
			Seed: seed, Plan: plan, Findings: w.check(), Faults: w.faults, Met: w.met, Events: w.executions.events(),
			Runs: len(w.ledger.runs) + w.executions.runs(), Steps: len(w.trace.lines), Repeated: w.ledger.coded, trace: &w.trace,
		}
		for _, r := range w.ledger.order {
			if keyOf(r.scheduleID).Namespace == namespace {
				report.starts = append(report.starts, r.at)
			}
		}
		report.limits = w.spaces[namespace].limits
		w.shutDown()
	})
	return report
}

func newWorld(seed uint64, plan Plan) *world {
	names := subjects.Default()
	streams := names.StreamConfigs(shards, 1)
	for shard := range shards {
		streams = append(streams, jsmodel.Bucket(names.BucketConfig(names.StateBucket(shard), 1)))
	}
	streams = append(streams, jsmodel.Bucket(names.BucketConfig(names.ClusterBucket(), 1)))
	w := &world{
		seed: seed, rng: rand.New(rand.NewPCG(seed, streamNetwork)), plan: plan, names: names, server: jsmodel.New(streams...),
		trace: trace{begin: time.Now()}, ledger: newLedger(), promises: newPromises(), books: newBooks(),
		firing: map[string]bool{}, faults: map[string]int{}, met: map[string]int{}, notify: make(chan struct{}, 1), alarm: time.NewTimer(time.Hour),
	}
	w.ledger.trace = &w.trace
	w.executions = newExecutions(w)
	w.makeSpaces()
	w.recess, w.caughtUp, w.trapped = recessOf(seed, &plan, w.trace.begin), map[string]uint64{}, -1
	for shard := range shards {
		for _, c := range append(names.PoolConsumers(shard), names.Transfer(shard)) {
			w.server.AddConsumer(c.Stream, c.Config)
		}
	}
	for _, space := range w.plan.spaces() {
		w.server.AddConsumer(names.ActionStream(), names.WorkerConsumer(space, taskQueue))
	}
	return w
}

// shutDown ends all processes and waits until nothing of them is left. They count as dead: nobody listens any more.
func (w *world) shutDown() {
	for _, n := range w.nodes {
		n.dead = true
		select {
		case <-n.died:
		default:
			close(n.died)
		}
		if n.cancel != nil {
			n.cancel()
		}
	}
	w.processes.Wait()
	time.Sleep(longestRun) // abandoned code goes on for this long
}

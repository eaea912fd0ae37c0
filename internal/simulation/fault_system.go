package simulation

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/subjects"
)

// arrangeSystem plans what happens to the installation itself.
func (w *world) arrangeSystem() {
	w.arrangeStandstills()
	w.arrangeRecess()
	w.arrangeLosses()
	rng := rand.New(rand.NewPCG(w.seed, streamConsumers))
	for range w.plan.DeletedConsumers {
		w.at(w.moment(between(rng, 0, w.plan.Duration)), func(now time.Time) {
			pools := w.names.PoolConsumers(rng.IntN(shards))
			of := pools[rng.IntN(len(pools))]
			if w.plan.Executions > 0 { // nobody would create the others again
				shard := rng.IntN(shards)
				pools = append(w.names.ConsumersOfPool(shard, subjects.PoolHistory), w.names.Transfer(shard))
				of = pools[rng.IntN(len(pools))]
			}
			c := consumerName{of.Stream, of.Config.Durable}
			if rng.IntN(3) == 0 && w.plan.Executions == 0 {
				c = consumerName{w.names.ActionStream(), subjects.WorkerConsumerName(namespace, taskQueue)}
			}
			w.deleteConsumer(c, now)
		})
	}
}

// longestStandstill is how long a process stands still, at most, in order to exceed all windows of de-duplication.
const longestStandstill = 2 * subjects.DuplicateWindow

// arrangeStandstills plans standstills that are so long that the streams have forgotten what the process had sent before.
func (w *world) arrangeStandstills() {
	rng := rand.New(rand.NewPCG(w.seed, streamStandstills))
	for range w.plan.Standstills {
		w.at(w.moment(between(rng, 0, w.plan.Duration)), func(now time.Time) {
			n := w.nodes[rng.IntN(len(w.nodes))]
			w.fault("standstill")
			w.standStill(n, now, between(rng, subjects.DuplicateWindow, longestStandstill))
		})
	}
}

// standStill makes a process stand still for a time, also beyond the end of all faults.
func (w *world) standStill(n *node, now time.Time, d time.Duration) {
	for _, f := range w.fellows(n) {
		f.standstill = true
	}
	w.suspend(n, now, d)
}

// deleteConsumer deletes a consumer, as an operator may by mistake. Each process that pulls is told, and creates it again.
// Everything unacknowledged is delivered again.
func (w *world) deleteConsumer(c consumerName, now time.Time) {
	w.fault("consumer deleted")
	w.trace.note(now, "DELETE", c.stream+" "+c.name)
	w.troubled = maxTime(w.troubled, now)
	w.server.DeleteConsumer(c.stream, c.name)
	for _, n := range w.nodes {
		for _, p := range n.pulls {
			if p.consumer == c {
				p.end()
			}
		}
		n.pulls = slices.DeleteFunc(n.pulls, func(p *pull) bool { return p.consumer == c })
	}
	w.stir()
}

// end ends a pull from outside.
func (p *pull) end() {
	p.over = true
	select {
	case <-p.stopped:
	default:
		close(p.stopped)
	}
}

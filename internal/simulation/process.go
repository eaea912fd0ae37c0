package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/carillon-scheduler/carillon/backfiller"
	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/generator"
	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	shards = 2
	// each is how many processes there are of each role.
	each = 2
	// namespace is where the schedules are, except the one in the second namespace.
	namespace = "default"
	taskQueue = "q"
)

// The roles of processes.
const (
	roleFrontend   = "frontend"
	roleGenerator  = subjects.PoolGenerator
	roleInvoker    = subjects.PoolInvoker
	roleBackfiller = subjects.PoolBackfiller
	roleWorker     = "worker"
	roleScrubber   = "scrubber"
	roleChecker    = "checker"
)

// firstWorker is the number of the first worker: the other roles come before it, or are not in every plan.
const firstWorker = 4 * each

// boot starts all processes, each at a different moment. Otherwise their periodic work would coincide forever, with each other
// and with the due times.
func (w *world) boot(begin time.Time) {
	w.shareAnew()
	for _, role := range []string{roleFrontend, roleGenerator, roleInvoker, roleBackfiller, roleWorker} {
		w.bring(begin, role, namespace, role, each)
	}
	if w.plan.Scrubbers {
		w.bring(begin, roleScrubber, namespace, roleScrubber, each)
	}
	if w.plan.Twin {
		w.bring(begin, roleWorker, otherSpace, otherSpace+"-"+roleWorker, each)
	}
	if w.plan.Checks {
		w.bring(begin, roleChecker, namespace, roleChecker, 1)
	}
}

// bring starts the processes of a role.
func (w *world) bring(begin time.Time, role, space, name string, count int) {
	for i := range count {
		number := len(w.nodes)
		w.nodes = append(w.nodes, &node{world: w, name: "nobody", number: number, space: space, dead: true, died: make(chan struct{})})
		w.at(begin.Add(w.duration(0, 10*time.Millisecond)), func(time.Time) {
			w.start(number, role, fmt.Sprintf("%s-%d", name, i))
		})
	}
}

// start starts a process, in the place of one that is gone.
func (w *world) start(number int, role, name string) {
	ctx, cancel := context.WithCancel(context.Background())
	n := &node{
		world: w, name: name, number: number, role: role, space: w.nodes[number].space, died: make(chan struct{}), cancel: cancel,
		received: map[string]uint64{}, birth: w.started,
		ids: &ids{prefix: fmt.Sprintf("%s-%d", name, w.started)},
	}
	w.started++
	if w.plan.Together && role != roleChecker { // a checker is a command of its own
		n.share(w.shares[number%each])
	} else if w.plan.Skew > 0 {
		n.skew.Store(int64(w.duration(-w.plan.Skew, w.plan.Skew)))
	}
	w.nodes[number] = n
	run := n.program()
	w.processes.Go(func() { run(ctx) })
}

// program is what a process does.
func (n *node) program() func(context.Context) {
	log := slog.New(slog.DiscardHandler)
	if run := n.executing(log); run != nil {
		return run
	}
	store := kv.NewStore(n, n.world.names, shards)
	shell := pool.Config{
		Bus: n, Store: store, Names: n.world.names, Logger: log, Now: n.now, Namespaces: n.world, Definitions: n.definitions,
	}
	switch n.role {
	case roleFrontend:
		n.api = frontend.NewLocal(frontend.LocalConfig{
			Bus: n, Store: store, Cluster: kv.NewClusterIn(n, n.world.names), Names: n.world.names, Logger: log, Now: n.now,
			NewID: n.ids.next,
		})
		if n.world.plan.Calendars+n.world.plan.Bulks == 0 {
			return func(ctx context.Context) { <-ctx.Done() } // there are no background jobs to run
		}
		return func(ctx context.Context) { n.api.RunJobs(ctx, n.ids.prefix) }
	case roleGenerator:
		return runs(generator.New(generator.Config{
			Config: shell, MaxBacklog: n.world.plan.MaxBacklog, IdleTime: n.world.plan.IdleTime,
		}))
	case roleInvoker:
		return runs(invoker.New(invoker.Config{Config: shell}))
	case roleBackfiller:
		return runs(backfiller.New(shell))
	case roleScrubber:
		return runs(consistency.NewScrubber(n.scrubs()))
	case roleChecker:
		return n.checking()
	}
	if n.number-firstWorker < n.world.plan.Models {
		return (&model{node: n}).run
	}
	return n.serveQueue
}

func runs[P interface{ Run(context.Context) error }](pool P, err error) func(context.Context) {
	if err != nil {
		panic(err) // the configuration is ours
	}
	return func(ctx context.Context) { _ = pool.Run(ctx) }
}

// ids are unique, and the same in every run of a seed as long as one goroutine asks at a time.
type ids struct {
	prefix string
	count  int
}

func (i *ids) next() string {
	i.count++
	return fmt.Sprintf("%s-%d", i.prefix, i.count)
}

// crash kills a process, and starts it again some time later.
func (w *world) crash(n *node, now time.Time, when string) {
	if n.dead || n.immune || w.calm {
		return
	}
	w.fault("crash")
	w.trace.note(now, "CRASH", when)
	again := time.Duration(-1)
	if !n.stopping { // otherwise a successor is on its way already
		again = w.pauseBeforeStart()
	}
	w.shareNoMore(n)
	for _, f := range w.fellows(n) {
		f.dead = true
		f.trouble(now)
		close(f.died)
		f.cancel()
		if again >= 0 {
			w.replace(f, now, again)
		}
	}
}

// stop stops a process in order, and starts it again.
func (w *world) stop(n *node, now time.Time) {
	if n.dead || n.immune || n.stopping {
		return
	}
	w.fault("restart")
	w.trace.note(now, "STOP", n.name)
	again := w.pauseBeforeStart()
	w.shareNoMore(n)
	for _, f := range w.fellows(n) {
		f.stopping = true
		f.trouble(now)
		f.cancel()
		w.replace(f, now, again)
	}
}

// pauseBeforeStart draws how long it takes until a process is started again.
func (w *world) pauseBeforeStart() time.Duration {
	return w.duration(10*time.Millisecond, 8*time.Second)
}

// replace starts a process again. If the old one still runs by then, it is dead: what it sends reaches nobody.
func (w *world) replace(n *node, now time.Time, after time.Duration) {
	n.pulls = nil
	w.at(now.Add(after), func(now time.Time) {
		if w.nodes[n.number] != n {
			return // it was killed together with a node of its process that had only just started, and has been replaced since
		}
		if w.stays(n, now) {
			w.replace(n, now, w.recess.to.Sub(now)+w.pauseBeforeStart())
			return
		}
		w.trace.note(now, "START", n.name)
		if !n.dead {
			n.dead = true
			close(n.died)
		}
		w.start(n.number, n.role, n.name)
	})
}

// suspend makes a process stand still.
func (w *world) suspend(n *node, now time.Time, d time.Duration) {
	if n.immune {
		return
	}
	w.fault("suspension")
	w.trace.note(now, "SUSPEND", n.name+" for "+d.String())
	for _, f := range w.fellows(n) {
		f.suspended = maxTime(f.suspended, now.Add(d)) // it may stand still already
		f.trouble(f.suspended)
		w.at(f.suspended, func(time.Time) { w.stir() })
	}
}

// trouble notes that something has gone wrong for a process: its work may be repeated, by itself or by another process.
func (n *node) trouble(until time.Time) { n.troubled = maxTime(n.troubled, until) }

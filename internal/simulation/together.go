package simulation

import (
	"time"

	"github.com/carillon-scheduler/carillon/internal/cache"
	"github.com/carillon-scheduler/carillon/internal/wire"
)

// Where a plan has all roles together, a process plays each of them, as in `carillon server`: its nodes, one for each role,
// live and die together, and share their clock and the definitions that they have read.

// share is what the nodes of one process share.
type share struct {
	skew        time.Duration
	definitions *cache.Records[wire.Definition]
}

// shareAnew makes what the processes share at first.
func (w *world) shareAnew() {
	if !w.plan.Together {
		return
	}
	w.shares = nil
	for range each {
		w.shares = append(w.shares, w.newShare())
	}
}

func (w *world) newShare() share {
	s := share{definitions: cache.Definitions()}
	if w.plan.Skew > 0 {
		s.skew = w.duration(-w.plan.Skew, w.plan.Skew)
	}
	return s
}

func (n *node) share(s share) {
	n.definitions = s.definitions
	n.skew.Store(int64(s.skew))
}

// shareNoMore gives the successor of a process a share of its own.
func (w *world) shareNoMore(n *node) {
	if w.plan.Together && n.role != roleChecker {
		w.shares[n.number%each] = w.newShare()
	}
}

// fellows are the nodes of the same process that have started: what happens to one of them happens to all.
func (w *world) fellows(n *node) []*node {
	if !w.plan.Together || n.role == roleChecker {
		return []*node{n}
	}
	var all []*node
	for _, other := range w.nodes {
		if other.number%each == n.number%each && !other.dead && other.role != roleChecker {
			all = append(all, other)
		}
	}
	return all
}

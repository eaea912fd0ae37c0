package systemtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// gate is a handler whose runs go on until they are let go or their context ends. A run that is ended cleans up, and then
// reports why it ended.
type gate struct {
	t *testing.T

	mu      sync.Mutex
	runs    []*gated
	open    bool
	cleaned []error
}

// gated is one run at the gate.
type gated struct {
	*worker.Run
	let chan struct{}
}

func newGate(t *testing.T) *gate { return &gate{t: t} }

// handle is a worker.Handler.
func (g *gate) handle(ctx context.Context, run *worker.Run) (any, error) {
	select {
	case <-g.arrive(run):
		return map[string]time.Time{"for": run.NominalTime}, nil
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		g.cleaned = append(g.cleaned, context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
}

func (g *gate) arrive(run *worker.Run) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &gated{Run: run, let: make(chan struct{})}
	g.runs = append(g.runs, r)
	if g.open {
		close(r.let)
	}
	return r.let
}

// letAll opens the gate for good.
func (g *gate) letAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open {
		return
	}
	g.open = true
	for _, r := range g.runs {
		close(r.let)
	}
}

// arrived are the runs of a schedule in the order in which they began.
func (g *gate) arrived(scheduleID string) []*gated {
	g.mu.Lock()
	defer g.mu.Unlock()
	var runs []*gated
	for _, r := range g.runs {
		if r.ScheduleID == scheduleID {
			runs = append(runs, r)
		}
	}
	return runs
}

// await waits until that many runs of a schedule have begun, and returns them.
func (g *gate) await(scheduleID string, count int) []*gated {
	g.t.Helper()
	natstest.Eventually(g.t, natstest.Patience, "runs to begin", func() bool { return len(g.arrived(scheduleID)) >= count })
	runs := g.arrived(scheduleID)
	require.Len(g.t, runs, count)
	return runs
}

// cleanUps are the reasons why the runs that cleaned up were ended.
func (g *gate) cleanUps() []error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]error(nil), g.cleaned...)
}

// eventsOf returns the history of a schedule.
func (s *system) eventsOf(id string) []schedule.Event {
	s.t.Helper()
	var events []schedule.Event
	for event, err := range s.client.Events(s.t.Context(), schedule.HistoryRequest{ID: id}) {
		require.NoError(s.t, err)
		events = append(events, event)
	}
	return events
}

// kindsOf counts the events of a schedule by kind.
func (s *system) kindsOf(id string) map[schedule.EventKind]int {
	kinds := map[schedule.EventKind]int{}
	for _, event := range s.eventsOf(id) {
		kinds[event.Kind]++
	}
	return kinds
}

// requireCountersFromEvents rebuilds the counters of a schedule from its events alone.
func (s *system) requireCountersFromEvents(id string) {
	s.t.Helper()
	var want, got wire.Counters
	natstest.Eventually(s.t, natstest.Patience, "the events to give the counters", func() bool {
		info := s.describe(id).Info
		want = wire.Counters{
			Actions: info.ActionCount, MissedCatchup: info.MissedCatchupWindow, OverlapSkipped: info.OverlapSkipped,
			BufferDropped: info.BufferDropped, SkippedOnRequest: info.SkippedOnRequest,
		}
		got = wire.Counters{}
		for _, event := range s.eventsOf(id) {
			got.Add(event)
		}
		return want == got
	})
	require.Equal(s.t, want, got)
}

package invoker

import (
	"context"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"slices"
	"time"
)

// Unexported functions, for tests.
var (
	DecodeCompletion = decodeCompletion
	Promise          = promise
	Turn             = turn
	PacedRoom        = pacedRoom
)

// The times of a pace, for tests.
const (
	PaceBurst   = paceBurst
	PaceHorizon = paceHorizon
	StaleSlot   = staleSlot
)

// ServePace serves several asks for starts that wait at the same time, and returns what each is given.
func ServePace(ctx context.Context, config pool.Config, namespace string, rate float64, starts ...int) (given [][]time.Time) {
	t := newThrottle(&config)
	p := &t.lane(namespace).pace
	for _, n := range starts {
		p.waiting = append(p.waiting, &paceAsk{starts: n})
	}
	asks := slices.Clone(p.waiting)
	p.serve(ctx, t, namespace, rate)
	for _, ask := range asks {
		given = append(given, ask.slots)
	}
	return given
}

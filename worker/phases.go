package worker

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/internal/sleep"
)

// phases are the contexts of a worker's activities. When the context of Run is done, they end one after the other.
type phases struct {
	// pull is for taking new runs. It ends with the context of Run.
	pull context.Context
	// work is for handlers. It ends after the drain timeout.
	work context.Context
	// final is for reports and answers. It ends handBackTime later.
	final context.Context
	// pulled is closed when the server sends this worker no more runs.
	pulled chan struct{}

	// endPull and endWork end a phase early; end ends all phases.
	endPull, endWork, end context.CancelFunc
}

func newPhases(ctx context.Context, drain time.Duration) phases {
	drain = max(drain, 0)
	p := phases{pulled: make(chan struct{})}
	p.pull, p.endPull = context.WithCancel(ctx)
	p.work, p.endWork = linger(p.pull, drain, ErrShutdown)
	final, endFinal := linger(p.pull, drain+handBackTime, ErrShutdown)
	p.final = final
	p.end = func() {
		p.endPull()
		p.endWork()
		endFinal()
	}
	return p
}

// awaitPulled waits, while the worker stops, until it is sent no more runs. So a run that is given back goes to another worker. If it came
// straight back to this one, that would count as an attempt.
func (p phases) awaitPulled() {
	if p.pull.Err() == nil {
		return
	}
	select {
	case <-p.pulled:
	case <-p.final.Done():
	}
}

// linger returns a context with the values of ctx. It ends some time after ctx, with the given cause.
func linger(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if sleep.For(out, d) == nil {
			cancel(cause)
		}
	})
	return out, func() { stop(); cancel(cause) }
}

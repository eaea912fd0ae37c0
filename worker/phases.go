package worker

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/internal/sleep"
)

// phases are the lives of what a worker does. When the context of Run is done they end one after the other.
type phases struct {
	// pull takes on new runs, until the context of Run is done.
	pull context.Context
	// work lets handlers run, for the drain timeout longer.
	work context.Context
	// final reports and answers, for handBackTime longer still.
	final context.Context
	// pulled is closed when the server no longer sends this worker anything.
	pulled chan struct{}

	// endPull and endWork end a phase early; end ends all.
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

// awaitPulled makes what is given back while the worker stops go to another one instead of straight back to this one,
// which would count as an attempt.
func (p phases) awaitPulled() {
	if p.pull.Err() == nil {
		return
	}
	select {
	case <-p.pulled:
	case <-p.final.Done():
	}
}

// linger returns a context with the values of ctx that ends a while after ctx does, with the given cause.
func linger(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if sleep.For(out, d) == nil {
			cancel(cause)
		}
	})
	return out, func() { stop(); cancel(cause) }
}

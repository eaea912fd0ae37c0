package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/probe"
)

// minGrace is the least time that a stage gets to stop, even if the earlier stages have used up all of the grace.
const minGrace = 200 * time.Millisecond

// Role is a part of the process that runs until its context ends, and then finishes or gives back what it holds.
type Role struct {
	Name string
	Run  func(context.Context) error
	// Checks say how the role is doing while it runs.
	Checks probe.Checks
}

// Stage is a group of roles that stop together.
type Stage []Role

// running is a stage that has been started.
type running struct {
	cancel context.CancelFunc
	ended  chan end
	left   map[string]struct{} // names of the roles that have not ended
}

type end struct {
	role string
	err  error
}

// Supervise starts all roles of all stages, and waits until ctx ends or a role does. No role should end by itself. Then it stops the stages
// in order: each begins to stop when the one before has ended. The grace bounds the whole stop, except that every stage gets at least
// minGrace. A role that has not ended by then is left behind.
//
// The error says which role ended by itself and why, or which role did not end in time. It is nil if ctx ended and all roles followed.
func Supervise(ctx context.Context, log *slog.Logger, grace time.Duration, stages ...Stage) error {
	early := make(chan end, 1)
	started := make([]*running, len(stages))
	for i, stage := range stages {
		started[i] = start(context.WithoutCancel(ctx), stage, early)
	}
	var failure error
	select {
	case <-ctx.Done():
	case e := <-early:
		failure = e.failure()
	}
	deadline := time.Now().Add(grace) //permit:time.Now how long the process may take to stop
	for _, stage := range started {
		failure = errors.Join(failure, stage.stop(log, max(time.Until(deadline), minGrace)))
	}
	return failure
}

// start runs the roles of a stage. The first role of all stages that ends is sent to early.
func start(ctx context.Context, stage Stage, early chan<- end) *running {
	ctx, cancel := context.WithCancel(ctx)
	r := &running{cancel: cancel, ended: make(chan end, len(stage)), left: map[string]struct{}{}}
	for _, role := range stage {
		r.left[role.Name] = struct{}{}
		go func() {
			e := end{role.Name, role.Run(ctx)}
			if ctx.Err() == nil {
				select {
				case early <- e:
				default:
				}
				e.err = nil // it is reported already
			}
			r.ended <- e
		}()
	}
	return r
}

// stop ends a stage and waits for its roles.
func (r *running) stop(log *slog.Logger, grace time.Duration) error {
	r.cancel()
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	var failure error
	for len(r.left) > 0 {
		select {
		case e := <-r.ended:
			delete(r.left, e.role)
			if e.err != nil && !errors.Is(e.err, context.Canceled) {
				failure = errors.Join(failure, e.failure())
			}
			log.Debug("role stopped", "role", e.role)
		case <-deadline.C:
			return errors.Join(failure, r.late())
		}
	}
	return failure
}

func (r *running) late() error {
	var failure error
	for name := range r.left {
		failure = errors.Join(failure, fmt.Errorf("%s did not stop in time; others take over what it held", name))
	}
	return failure
}

func (e end) failure() error {
	switch {
	case e.err == nil:
		return fmt.Errorf("%s stopped by itself", e.role)
	case strings.HasPrefix(e.err.Error(), e.role+":"), e.role == siteRoles:
		return e.err
	}
	return fmt.Errorf("%s: %w", e.role, e.err)
}

package roles

import (
	"context"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/probe"
)

// Observed returns the stages with roles that report to health when they begin and end. Health ignores roles that it was not made for.
func Observed(health *probe.Health, stages ...Stage) []Stage {
	observed := make([]Stage, len(stages))
	for i, stage := range stages {
		for _, role := range stage {
			observed[i] = append(observed[i], role.observed(health))
		}
	}
	return observed
}

func (r Role) observed(health *probe.Health) Role {
	run := r.Run
	r.Run = func(ctx context.Context) error {
		health.Begin(r.Name, r.Checks)
		err := run(ctx)
		if ctx.Err() != nil {
			health.End(r.Name)
		} else {
			health.Fail(r.Name, err)
		}
		return err
	}
	return r
}

// until returns a check that says, until a channel is closed, what is waited for.
func until(closed <-chan struct{}, what string) func() string {
	return func() string {
		select {
		case <-closed:
			return ""
		default:
			return what
		}
	}
}

// poolChecks are the checks of a pool that begins once it knows the namespaces.
func poolChecks(table *namespaces.Table, vitals *loop.Vitals) probe.Checks {
	known := until(table.Ready(), "the records of the namespaces")
	return probe.Checks{
		Waits: func() string {
			if what := known(); what != "" {
				return what
			}
			return vitals.Waits()
		},
		Stuck: vitals.Stuck,
	}
}

package bench

import (
	"cmp"
	"context"
	"slices"

	"github.com/carillon-scheduler/carillon/schedule"
)

// loadKinds are the kinds of workflows that are run under several loads.
var loadKinds = []string{kindEmpty, kindActivity, kindTimer, kindSignal}

// workload is what else can be done with workflows.
type workload struct {
	name string
	// size is its size by default, most the largest.
	size, most int
	measure    func(context.Context, *session) error
}

func workloads() []workload {
	return []workload{
		{"signals", 10_000, 1_000_000, measureSignals},
		{"parallel", 1_000, 10_000, measureParallel},
		{kindBacklog, 100_000, 1_000_000, measureBacklogOfWorkflows},
		{"backlog-activities", 100_000, 1_000_000, measureBacklogOfActivities},
		{"polls", 5_000, 10_000, measurePolls},
		{kindSleeping, 1_000_000, 1_000_000, measureSleepers},
		{"history", 50_000, 50_000, measureHistory},
	}
}

// WorkflowKinds returns the kinds of workloads: the kinds of workflows that are run under several loads, and other workloads.
func WorkflowKinds() []string {
	kinds := slices.Clone(loadKinds)
	for _, w := range workloads() {
		kinds = append(kinds, w.name)
	}
	return kinds
}

// workloadOf returns a workload by its name; zero for kinds of workflows that are run under several loads.
func workloadOf(name string) workload {
	all := workloads()
	if i := slices.IndexFunc(all, func(w workload) bool { return w.name == name }); i >= 0 {
		return all[i]
	}
	return workload{}
}

// check refuses a size that the workload cannot have.
func (w workload) check(size int) error {
	if w.most == 0 {
		return schedule.Invalid(ParamSize, "%d: leave it out, this workload has no size", size)
	}
	if size < 1 || size > w.most {
		return schedule.Invalid(ParamSize, "%d is out of range: use 1 to %d", size, w.most)
	}
	return nil
}

// size is the size of the workload.
func (s *session) size() int { return cmp.Or(s.Size, workloadOf(s.Kind).size) }

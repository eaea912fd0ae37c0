package jobs

import "github.com/carillon-scheduler/carillon/internal/metrics"

// instruments count jobs and what becomes of their items.
type instruments struct{}

func (instruments) begun(kind string) { metrics.JobsRunning.Add(metrics.Untraced(), 1, kind) }

func (instruments) over(kind string) { metrics.JobsRunning.Add(metrics.Untraced(), -1, kind) }

func (instruments) settled(kind string, result Result) {
	metrics.JobItems.Add(metrics.Untraced(), 1, kind, string(result))
}

package jobs

import (
	"context"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// instruments count jobs and what becomes of their items.
type instruments struct{}

func (instruments) begun(kind string) { metrics.JobsRunning.Add(context.Background(), 1, kind) }

func (instruments) over(kind string) { metrics.JobsRunning.Add(context.Background(), -1, kind) }

func (instruments) settled(kind string, result Result) {
	metrics.JobItems.Add(context.Background(), 1, kind, string(result))
}

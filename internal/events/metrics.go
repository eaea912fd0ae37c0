package events

import (
	"context"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

func countCorrupt(ctx context.Context) { metrics.EventsCorrupt.Add(ctx, 1) }

package search

import (
	"context"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// observe shows how far behind the index is until stop is called.
func (x *Index) observe() (stop func()) {
	return metrics.Observe(func(_ context.Context, o metrics.Observer) {
		upTo := x.schedules.status.upTo()
		if other := x.executions.status.upTo(); other.Before(upTo) {
			upTo = other
		}
		o.Bool(metrics.SearchReady, !upTo.IsZero())
		if !upTo.IsZero() {
			o.Gauge(metrics.SearchStaleness, max(x.config.Now().Sub(upTo), 0).Seconds())
		}
	}, metrics.SearchReady, metrics.SearchStaleness)
}

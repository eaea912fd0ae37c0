package search

import (
	"context"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// observe shows how far the index is until stop is called.
func (x *Index) observe() (stop func()) {
	return metrics.Observe(func(_ context.Context, o metrics.Observer) {
		p := x.Progress()
		o.Bool(metrics.SearchReady, !p.UpTo.IsZero())
		if !p.UpTo.IsZero() {
			o.Gauge(metrics.SearchStaleness, max(x.config.Now().Sub(p.UpTo), 0).Seconds())
			return
		}
		o.Gauge(metrics.SearchRead, float64(p.Read))
		o.Gauge(metrics.SearchExpected, float64(p.Total))
	}, metrics.SearchReady, metrics.SearchStaleness, metrics.SearchRead, metrics.SearchExpected)
}

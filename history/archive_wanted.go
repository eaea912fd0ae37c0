package history

import (
	"context"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// observeArchives shows which namespaces ask for an archive until stop is called. History is there wherever workflows are, also where no process archives:
// so its metric is what tells of that.
func (s *Service) observeArchives() (stop func()) {
	return metrics.Observe(func(_ context.Context, o metrics.Observer) {
		for _, record := range s.config.Namespaces.All() {
			if record.Limits.Archive != "" && !record.Deleting {
				o.Gauge(metrics.ArchiveWanted, 1, record.Name)
			}
		}
	}, metrics.ArchiveWanted)
}

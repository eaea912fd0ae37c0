package history

import (
	"context"
	"errors"
	"time"

	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// appended measures an append to a journal of a shard that began at a time and had this outcome.
func (s *Service) appended(ctx context.Context, shard int, since time.Time, err error) {
	if !metrics.HistoryAppend.Enabled(ctx) {
		return
	}
	outcome := metrics.OutcomeOK
	switch {
	case errors.Is(err, journal.ErrConflict):
		outcome = metrics.OutcomeConflict
	case err != nil:
		outcome = metrics.OutcomeError
	}
	metrics.HistoryAppend.RecordTime(ctx, s.config.Now().Sub(since), s.config.Names.JournalStream(shard), outcome)
}

// observeUse shows how much of its limits the process uses until stop is called.
func (s *Service) observeUse() (stop func()) {
	return metrics.Observe(func(_ context.Context, o metrics.Observer) {
		o.Gauge(metrics.HistoryUsed, share(s.working), metrics.UsedTurns)
		o.Gauge(metrics.HistoryUsed, share(s.room), metrics.UsedEffects)
		o.Gauge(metrics.HistoryUsed, share(s.offering), metrics.UsedOffers)
		o.Gauge(metrics.HistoryUsed, s.slots.used(), metrics.UsedMemory)
	}, metrics.HistoryUsed)
}

// share is which share of the room of a channel is taken.
func share(of chan struct{}) float64 { return float64(len(of)) / float64(cap(of)) }

package schedules

import (
	"context"
	"fmt"

	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/schedule"
)

// A thing that is gone cannot remember the request that removed it. The trace of a deleted definition does, and so does the
// definition of a schedule that is created over it. Where the trace is gone too, the event history tells. It is asked before a
// delete, so that a repeat spares a schedule created since. It is asked after a cancel that finds nothing, because otherwise the
// record of the canceled thing knows best. A simulation, which has no history to read, repeats no cancel.

// hasDeleted reports whether this request was the last to delete a schedule with that ID.
func (s *Service) hasDeleted(ctx context.Context, key schedule.Key, requestID string) (bool, error) {
	if requestID == "" {
		return false, nil
	}
	repeated, err := s.events.IsLastOf(ctx, key, schedule.EventDeleted, requestID)
	if err != nil {
		return false, fmt.Errorf("find the last deletion: %w", err)
	}
	return repeated, nil
}

// maxCancels is how many of a schedule's newest cancels are searched for a repeat.
const maxCancels = 100

// hasCanceled reports whether this request canceled a backfill or trigger that is gone.
func (s *Service) hasCanceled(ctx context.Context, key schedule.Key, req *schedule.CancelBackfillRequest) (bool, error) {
	if req.RequestID == "" || s.js == nil {
		return false, nil
	}
	query := events.Query{Key: key, Kinds: []schedule.EventKind{schedule.EventBackfillCanceled}}
	page, err := s.eventReader().Newest(ctx, query, maxCancels)
	if err != nil {
		return false, fmt.Errorf("find the cancel: %w", err)
	}
	for i := range page.Entries {
		if e := &page.Entries[i]; e.Source == req.BackfillID && e.RequestID == req.RequestID {
			return true, nil
		}
	}
	return false, nil
}

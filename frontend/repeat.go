package frontend

import (
	"context"
	"fmt"

	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/schedule"
)

// What is gone cannot remember the request that has removed it. The trace of a deleted definition does, and the definition of the
// schedule that is created over it. Where there was no trace any more, the event history tells. It is asked before a delete, so that
// a repeat spares a schedule that has been created since, and after a cancel that finds nothing, since otherwise the record
// of what is canceled knows best. A simulation, which has no history to read through, repeats no cancel.

// hasDeleted reports whether a request was the last to delete a schedule of that ID.
func (a *api) hasDeleted(ctx context.Context, key schedule.Key, requestID string) (bool, error) {
	if requestID == "" {
		return false, nil
	}
	repeated, err := a.events.IsLastOf(ctx, key, schedule.EventDeleted, requestID)
	if err != nil {
		return false, fmt.Errorf("find the last deletion: %w", err)
	}
	return repeated, nil
}

// maxCancels is how many of the newest cancels of a schedule are looked through for a repeat.
const maxCancels = 100

// hasCanceled reports whether a request has canceled a backfill or trigger that is gone.
func (a *api) hasCanceled(ctx context.Context, key schedule.Key, req *schedule.CancelBackfillRequest) (bool, error) {
	if req.RequestID == "" || a.js == nil {
		return false, nil
	}
	query := events.Query{Key: key, Kinds: []schedule.EventKind{schedule.EventBackfillCanceled}}
	page, err := a.eventReader().Newest(ctx, query, maxCancels)
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

package frontend

import (
	"context"
	"math"
	"slices"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/schedule"
)

// selected returns the schedules of a selection whose IDs come after one, in order of their IDs: at most limit, and none only
// if there are no more.
func (a *api) selected(
	ctx context.Context, namespace string, s *schedule.Selection, after string, limit int,
) ([]string, error) {
	switch {
	case len(s.IDs) > 0:
		return idsAfter(s.IDs, after, limit), nil
	case s.Query != "":
		return a.found(ctx, namespace, s.Query, after, limit)
	}
	return a.existing(ctx, namespace, s.Prefix, after, limit)
}

// existing returns the schedules with a prefix.
func (a *api) existing(ctx context.Context, namespace, prefix, after string, limit int) ([]string, error) {
	keys, err := a.keys.Of(ctx, namespace)
	if err != nil {
		return nil, err
	}
	page, _ := listing.Keys(keys, prefix, after, limit)
	ids := make([]string, len(page))
	for i, key := range page {
		ids[i] = key.ID
	}
	return ids, nil
}

// previewSelection returns about how many schedules a selection has now, and the first of them.
func (a *api) previewSelection(
	ctx context.Context, namespace string, s *schedule.Selection,
) (count int, first []string, err error) {
	var ids []string
	switch {
	case len(s.IDs) > 0:
		ids = idsAfter(s.IDs, "", len(s.IDs))
	case s.Query != "":
		if err := checkBulkQuery(s.Query); err != nil {
			return 0, nil, err
		}
		if ids, err = a.found(ctx, namespace, s.Query, "", math.MaxInt32); err != nil {
			return 0, nil, err
		}
	default:
		if ids, err = a.existing(ctx, namespace, s.Prefix, "", math.MaxInt32); err != nil {
			return 0, nil, err
		}
	}
	return len(ids), ids[:min(len(ids), schedule.MaxBulkPreview)], nil
}

// checkBulkQuery refuses a query that cannot be read, and one without a condition: that all schedules are meant has to be said.
func checkBulkQuery(text string) error {
	q, err := parseQuery(text)
	if err == nil && q.Where == nil {
		return schedule.Invalid("query", "has no condition: if all schedules are meant, use \"all\": true instead")
	}
	return err
}

// idsAfter returns those of ids that come after one, in order and each once: at most limit.
func idsAfter(ids []string, after string, limit int) []string {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	begin, found := slices.BinarySearch(ids, after)
	if found {
		begin++
	}
	ids = ids[begin:]
	return ids[:min(len(ids), limit)]
}

package bulk

import (
	"context"
	"math"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/schedule"
)

// selected returns the IDs of the schedules of a selection that come after an ID, in order: at most limit. It returns none only if there
// are no more.
func (s *Service) selected(
	ctx context.Context, namespace string, sel *schedule.Selection, after string, limit int,
) ([]string, error) {
	switch {
	case len(sel.IDs) > 0:
		return jobs.ItemsAfter(sel.IDs, after, limit), nil
	case sel.Query != "":
		return s.config.Find(ctx, namespace, sel.Query, after, limit)
	}
	return s.existing(ctx, namespace, sel.Prefix, after, limit)
}

// existing returns the schedules with a prefix.
func (s *Service) existing(ctx context.Context, namespace, prefix, after string, limit int) ([]string, error) {
	keys, err := s.config.Keys.Of(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return listing.IDs(keys, prefix, after, limit), nil
}

// preview returns roughly how many schedules a selection has now, and the first of them.
func (s *Service) preview(
	ctx context.Context, namespace string, sel *schedule.Selection,
) (count int, first []string, err error) {
	var ids []string
	switch {
	case len(sel.IDs) > 0:
		ids = jobs.ItemsAfter(sel.IDs, "", len(sel.IDs))
	case sel.Query != "":
		if err := s.checkQuery(sel.Query); err != nil {
			return 0, nil, err
		}
		if ids, err = s.config.Find(ctx, namespace, sel.Query, "", math.MaxInt32); err != nil {
			return 0, nil, err
		}
	default:
		if ids, err = s.existing(ctx, namespace, sel.Prefix, "", math.MaxInt32); err != nil {
			return 0, nil, err
		}
	}
	return len(ids), ids[:min(len(ids), schedule.MaxBulkPreview)], nil
}

// checkQuery refuses a query that cannot be read, and one without a condition: that all schedules are meant has to be said.
func (s *Service) checkQuery(text string) error {
	q, err := s.config.ParseQuery(text)
	if err == nil && q.Where == nil {
		return schedule.Invalid("query", "has no condition: if all schedules are meant, use \"all\": true instead")
	}
	return err
}

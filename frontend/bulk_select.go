package frontend

import (
	"context"
	"errors"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// checkReaders bounds how many schedules are looked for at once.
const checkReaders = 16

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

// existing returns the schedules with a prefix, none of which it misses: the exact list may leave out one that is being written
// while it is made, since it is read by a watch. So what only the list with traces has is looked for.
func (a *api) existing(ctx context.Context, namespace, prefix, after string, limit int) ([]string, error) {
	all, err := a.keysAndTraces.of(ctx, namespace)
	if err != nil {
		return nil, err
	}
	sure, err := a.keys.of(ctx, namespace)
	if err != nil {
		return nil, err
	}
	for more := true; more; {
		var page []schedule.Key
		page, more = pageKeys(all, prefix, after, limit)
		ids, err := a.withoutTraces(ctx, page, sure)
		if err != nil || len(ids) > 0 {
			return ids, err
		}
		if len(page) > 0 {
			after = page[len(page)-1].ID
		}
	}
	return nil, nil
}

// withoutTraces returns the IDs of those keys that have a schedule, which is sure of some.
func (a *api) withoutTraces(ctx context.Context, keys, sure []schedule.Key) ([]string, error) {
	ids := make([]string, len(keys))
	looking, ctx := errgroup.WithContext(ctx)
	looking.SetLimit(checkReaders)
	for i, key := range keys {
		if at := lowerBound(sure, key.ID); at < len(sure) && sure[at] == key {
			ids[i] = key.ID
			continue
		}
		looking.Go(func() error {
			_, err := a.newestDefinition(ctx, key)
			if schedule.CodeOf(err) == schedule.CodeNotFound {
				return nil
			}
			ids[i] = key.ID // also where it cannot be read: that is for its turn to say
			if errors.Is(err, kv.ErrCorrupt) {
				return nil
			}
			return err
		})
	}
	err := looking.Wait()
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" }), err
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
		keys, err := a.keys.of(ctx, namespace)
		if err != nil {
			return 0, nil, err
		}
		page, _ := pageKeys(keys, s.Prefix, "", len(keys))
		for _, key := range page {
			ids = append(ids, key.ID)
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

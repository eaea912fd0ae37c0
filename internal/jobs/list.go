package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// ListKind returns the jobs of a namespace whose kind begins with a text, newest first.
func (s *Store) ListKind(ctx context.Context, namespace, kind string) ([]Job, error) {
	all, err := s.List(ctx, namespace)
	return slices.DeleteFunc(all, func(job Job) bool { return !strings.HasPrefix(job.Kind, kind) }), err
}

// CountRunning returns how many jobs of a namespace have not ended whose kind begins with a text.
func (s *Store) CountRunning(ctx context.Context, namespace, kind string) (int, error) {
	all, err := s.ListKind(ctx, namespace, kind)
	return len(slices.DeleteFunc(all, func(job Job) bool { return job.Ended() })), err
}

// Page returns the jobs of a list, newest first, that come after a place: at most size, which is 1 or more. after is empty for the first page, and else
// what the page before has returned as next, which is empty if nothing follows. A page begins after a job and not at a number, so that new jobs neither
// repeat nor hide others.
func Page(all []Job, after string, size int) (page []Job, next string) {
	for i := range all {
		switch {
		case after != "" && placeOf(&all[i]) >= after:
		case len(page) == size:
			return page, placeOf(&page[size-1])
		default:
			page = append(page, all[i])
		}
	}
	return page, ""
}

// placeOf returns where a job stands in a list. The newest job has the greatest place.
func placeOf(job *Job) string { return fmt.Sprintf("%020d %s", job.CreateTime.UnixNano(), job.ID) }

// ItemsAfter returns the items that come after one, in order and each once: at most limit. It is what [Work.Next] returns for a job that names its items.
func ItemsAfter(items []string, after string, limit int) []string {
	items = slices.Compact(slices.Sorted(slices.Values(items)))
	begin, found := slices.BinarySearch(items, after)
	if found {
		begin++
	}
	items = items[begin:]
	return items[:min(len(items), limit)]
}

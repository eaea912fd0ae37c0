package schedules

import (
	"cmp"
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/schedule"
)

// errNoIndex is the answer of a frontend that was told to keep no index.
var errNoIndex = schedule.Errorf(schedule.CodeFailedPrecondition,
	"this frontend keeps no search index: leave the query out, or start every frontend without --no-search")

// indexWait is the longest time a query waits for the index to read the latest changes. Mostly that takes a millisecond.
const indexWait = 2 * time.Second

// parseQuery parses a query. The error says what is wrong with the text, and where.
func parseQuery(text string) (*query.Query, error) {
	q, err := query.Parse(text)
	if err != nil {
		return nil, schedule.Invalid("query", "%s", query.Explain(text, err))
	}
	return q, nil
}

// found returns the IDs of the schedules that a query finds after an ID, in order: at most limit.
func (s *Service) found(ctx context.Context, namespace, text, after string, limit int) ([]string, error) {
	q, err := parseQuery(text)
	if err != nil {
		return nil, err
	}
	if s.index == nil {
		return nil, errNoIndex
	}
	s.index.Await(ctx, indexWait) // a later page finds what is behind then, or nobody does, as with changes made meanwhile
	return s.index.IDs(ctx, namespace, q, after, limit)
}

// search reads one page of a query's results. The index only says which schedules those are. A schedule that has changed since
// may no longer match the query, and one that is gone leaves a gap.
func (s *Service) search(ctx context.Context, namespace string, req *schedule.ListRequest) (ListReply, error) {
	q, err := parseQuery(req.Query)
	if err != nil {
		return ListReply{}, err
	}
	token := searchToken{fingerprint: fingerprint(q, req.Prefix)}
	after, err := token.decode(req.PageToken)
	if err != nil {
		return ListReply{}, err
	}
	if s.index == nil {
		return ListReply{}, errNoIndex
	}
	size := cmp.Or(req.PageSize, listing.DefaultPageSize)
	// A further page continues what the first one began.
	behind := req.PageToken == "" && !s.index.Await(ctx, indexWait)
	found, upTo, err := s.index.List(ctx, namespace, req.Prefix, q, after, size+1)
	if err != nil {
		return ListReply{}, err
	}
	reply := ListReply{IndexedUpTo: upTo, IndexBehind: behind}
	more := len(found) > size
	found = found[:min(len(found), size)]
	kept, entries, err := s.foundEntries(ctx, namespace, found)
	if err != nil {
		return ListReply{}, err
	}
	if fits := listing.Fit(entries, s.maxReply()-listing.ReplyOverhead); fits < len(entries) {
		entries, found, more = entries[:fits], kept[:fits], true // each fits by itself, or it would have been left out
	}
	reply.Schedules = listing.RawMessages(entries)
	if more {
		reply.NextPageToken = token.encode(found[len(found)-1])
	}
	return reply, nil
}

// foundEntries describes the schedules at some positions, and returns the positions of those that exist.
func (s *Service) foundEntries(
	ctx context.Context, namespace string, found []search.Position,
) (kept []search.Position, entries [][]byte, err error) {
	keys := make([]schedule.Key, len(found))
	for i, p := range found {
		keys[i] = schedule.Key{Namespace: namespace, ID: p.ID}
	}
	all, err := s.entries(ctx, keys)
	if err != nil {
		return nil, nil, err
	}
	for i, entry := range all {
		if entry != nil {
			kept, entries = append(kept, found[i]), append(entries, entry)
		}
	}
	return kept, entries, nil
}

// countFound counts the results of a query, according to the index.
func (s *Service) countFound(ctx context.Context, namespace string, req *schedule.CountRequest) (schedule.CountReply, error) {
	q, err := parseQuery(req.Query)
	if err != nil {
		return schedule.CountReply{}, err
	}
	if s.index == nil {
		return schedule.CountReply{}, errNoIndex
	}
	behind := !s.index.Await(ctx, indexWait)
	count, upTo, err := s.index.Count(ctx, namespace, req.Prefix, q)
	return schedule.CountReply{Count: count, IndexedUpTo: upTo, IndexBehind: behind}, err
}

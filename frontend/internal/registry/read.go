package registry

import (
	"cmp"
	"context"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Describe describes a namespace as the leader has it, with its usage.
func (s *Service) Describe(
	ctx context.Context, name string, _ *schedule.DescribeNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	record, err := s.newest(ctx, name)
	if err != nil {
		return schedule.NamespaceDescription{}, err
	}
	keys, err := s.config.Keys.Of(ctx, name)
	if err != nil {
		return schedule.NamespaceDescription{}, err
	}
	d := describe(&record.Namespace, s.config.Now())
	pending, err := s.config.Bus.Subjects(ctx, s.config.Names.ActionStream(), s.config.Names.Actions(name))
	if err != nil {
		return schedule.NamespaceDescription{}, err
	}
	d.Info.Usage = s.limits.Usage(name, s.config.Now())
	d.Info.Usage.Schedules, d.Info.Usage.PendingRuns = len(keys), pending
	return d, nil
}

// List returns one page of namespaces in order of their names. A page may have fewer entries than the request asks for although others
// follow, because namespaces may be deleted while List reads them.
func (s *Service) List(
	ctx context.Context, name string, req *schedule.ListNamespacesRequest,
) (schedule.ListNamespacesReply, error) {
	if name != subjects.NoNamespace {
		return schedule.ListNamespacesReply{}, schedule.Errorf(schedule.CodeInvalidArgument,
			"the list is not about one namespace: its subject is %s",
			s.config.Names.API(subjects.NoNamespace, subjects.ThingNamespace, "list"))
	}
	after, err := listing.DecodePageToken(req.PageToken)
	if err != nil {
		return schedule.ListNamespacesReply{}, err
	}
	names, err := s.records.Names(ctx)
	if err != nil {
		return schedule.ListNamespacesReply{}, err
	}
	keys := make([]schedule.Key, len(names))
	for i, name := range names {
		keys[i].ID = name
	}
	keys, more := listing.Keys(keys, "", after, cmp.Or(req.PageSize, listing.DefaultPageSize))
	records, err := s.records.Read(ctx, listing.IDs(keys, "", "", len(keys)))
	if err != nil {
		return schedule.ListNamespacesReply{}, err
	}
	page, err := s.page(records)
	if err != nil {
		return page, err
	}
	if shown := len(page.Namespaces); shown < len(records) {
		page.NextPageToken = listing.EncodePageToken(records[shown-1].Name)
	} else if more {
		page.NextPageToken = listing.EncodePageToken(keys[len(keys)-1].ID)
	}
	return page, nil
}

// page makes a page of as many records as fit into a reply: one at least, if there is one.
func (s *Service) page(records []schedule.Namespace) (schedule.ListNamespacesReply, error) {
	page := schedule.ListNamespacesReply{Namespaces: []schedule.NamespaceDescription{}}
	var entries [][]byte
	for i := range records {
		page.Namespaces = append(page.Namespaces, describe(&records[i], s.config.Now()))
		entry, err := apitext.EncodeJSON(page.Namespaces[i])
		if err != nil {
			return page, err
		}
		entries = append(entries, entry)
	}
	page.Namespaces = page.Namespaces[:max(min(1, len(entries)), listing.Fit(entries, s.config.MaxReply()-listing.ReplyOverhead))]
	return page, nil
}

package frontend

import (
	"cmp"
	"context"
	"slices"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// describeNamespace answers from the leader, with what the namespace makes of its limits.
func (a *api) describeNamespace(
	ctx context.Context, name string, _ *schedule.DescribeNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	record, err := a.namespaces.newest(ctx, name)
	if err != nil {
		return schedule.NamespaceDescription{}, err
	}
	keys, err := a.keys.Of(ctx, name)
	if err != nil {
		return schedule.NamespaceDescription{}, err
	}
	d := describeNamespace(&record.Namespace, a.now())
	pending, err := a.bus.Subjects(ctx, a.names.ActionStream(), a.names.Actions(name))
	if err != nil {
		return schedule.NamespaceDescription{}, err
	}
	d.Info.Usage = a.limits.Usage(name, a.now())
	d.Info.Usage.Schedules, d.Info.Usage.PendingRuns = len(keys), pending
	return d, nil
}

// listNamespaces reads one page. It may hold fewer entries than asked for also when others follow: namespaces vanish while it
// is read.
func (a *api) listNamespaces(
	ctx context.Context, name string, req *schedule.ListNamespacesRequest,
) (schedule.ListNamespacesReply, error) {
	if name != subjects.NoNamespace {
		return schedule.ListNamespacesReply{}, schedule.Errorf(schedule.CodeInvalidArgument,
			"the list is not that of one namespace: its subject is %s",
			a.names.API(subjects.NoNamespace, subjects.ThingNamespace, "list"))
	}
	after, err := listing.DecodePageToken(req.PageToken)
	if err != nil {
		return schedule.ListNamespacesReply{}, err
	}
	names, err := a.namespaces.records.Names(ctx)
	if err != nil {
		return schedule.ListNamespacesReply{}, err
	}
	first, found := slices.BinarySearch(names, after)
	if found {
		first++
	}
	names = names[first:]
	records, err := a.namespaces.records.Read(ctx, names[:min(len(names), cmp.Or(req.PageSize, listing.DefaultPageSize))])
	if err != nil {
		return schedule.ListNamespacesReply{}, err
	}
	return a.namespacePage(names, records)
}

// namespacePage makes a page of records, as many as a reply can hold. Names are those that were left, of which the records are
// the first that still exist.
func (a *api) namespacePage(names []string, records []schedule.Namespace) (schedule.ListNamespacesReply, error) {
	page := schedule.ListNamespacesReply{Namespaces: []schedule.NamespaceDescription{}}
	var entries [][]byte
	for i := range records {
		page.Namespaces = append(page.Namespaces, describeNamespace(&records[i], a.now()))
		entry, err := apitext.EncodeJSON(page.Namespaces[i])
		if err != nil {
			return page, err
		}
		entries = append(entries, entry)
	}
	page.Namespaces = page.Namespaces[:listing.Fit(entries, a.maxReply()-listing.ReplyOverhead)]
	if n := len(page.Namespaces); n > 0 && page.Namespaces[n-1].Name != names[len(names)-1] {
		page.NextPageToken = listing.EncodePageToken(page.Namespaces[n-1].Name)
	}
	return page, nil
}

package frontend

import (
	"context"
	"encoding/json"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// listReaders bounds how many schedules of a page are read at once.
	listReaders = 16
	// listOverhead is what the body of a list reply has beside its entries: a page token above all.
	listOverhead = 1024
)

// describe answers from replicas, which may show a change a moment after it was answered.
func (a *api) describe(ctx context.Context, namespace string, req *schedule.IDRequest) (schedule.Description, error) {
	record, err := a.definition(ctx, schedule.Key{Namespace: namespace, ID: req.ID})
	if err != nil {
		return schedule.Description{}, err
	}
	def := &record.Value
	all, err := a.records(ctx, def.Key())
	if err != nil {
		return schedule.Description{}, err
	}
	around, err := a.lookAround(ctx, def, &all)
	if err != nil {
		return schedule.Description{}, err
	}
	return describeFully(def, all, around, a.now()), nil
}

// description adds to a definition what the pools know, and nothing that is to be found out around them: for lists, and for
// replies to a change, which is about to change that.
func (a *api) description(ctx context.Context, def *schedule.Definition) (schedule.Description, error) {
	all, err := a.records(ctx, def.Key())
	if err != nil {
		return schedule.Description{}, err
	}
	return describe(def, all.generator, all.invoker, a.now()), nil
}

// records reads what the pools keep of a schedule, without the backfills.
func (a *api) records(ctx context.Context, key schedule.Key) (records, error) {
	generator, err := kv.OrZero(kv.Get(ctx, a.store, kv.Generator(key)))
	if err != nil {
		return records{}, err
	}
	invoker, err := kv.OrZero(kv.Get(ctx, a.store, kv.Invoker(key)))
	return records{generator: generator.Value, invoker: invoker.Value}, err
}

// listReply is a schedule.ListReply whose entries are encoded already, since their size decides how many there are.
type listReply struct {
	Schedules     []json.RawMessage `json:"schedules"`
	NextPageToken string            `json:"nextPageToken,omitempty"`
}

// list reads one page. It may hold fewer entries than asked for also when others follow: schedules vanish while it is
// read, and a reply has a largest size.
func (a *api) list(ctx context.Context, namespace string, req *schedule.ListRequest) (listReply, error) {
	after, err := decodePageToken(req.PageToken)
	if err != nil {
		return listReply{}, err
	}
	keys, err := kv.Schedules(ctx, a.store, namespace)
	if err != nil {
		return listReply{}, err
	}
	size := req.PageSize
	if size == 0 {
		size = defaultPageSize
	}
	page, more := pageKeys(keys, req.Prefix, after, size)
	entries, err := a.entries(ctx, page)
	if err != nil {
		return listReply{}, err
	}
	reply := listReply{Schedules: []json.RawMessage{}}
	if fits := fitPage(entries, a.maxReply()-listOverhead); fits < len(entries) {
		entries, page, more = entries[:fits], page[:fits], true
	}
	for _, entry := range entries {
		if entry != nil {
			reply.Schedules = append(reply.Schedules, entry)
		}
	}
	if more {
		reply.NextPageToken = encodePageToken(page[len(page)-1].ID)
	}
	return reply, nil
}

// entries describes the schedules of a page, in the same order. The entry of one that is left out is nil.
func (a *api) entries(ctx context.Context, page []schedule.Key) ([][]byte, error) {
	entries := make([][]byte, len(page))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listReaders)
	for i, key := range page {
		group.Go(func() (err error) {
			entries[i], err = a.entry(ctx, key)
			return err
		})
	}
	return entries, group.Wait()
}

// listed is describe for a list.
func (a *api) listed(ctx context.Context, key schedule.Key) (schedule.Description, error) {
	record, err := a.definition(ctx, key)
	if err != nil {
		return schedule.Description{}, err
	}
	return a.description(ctx, &record.Value)
}

// entry encodes the description of one schedule for a list. It is nil where the schedule has vanished since the keys were
// read, and where it cannot be shown at all: one bad schedule must not hide the others. Describe says what is wrong
// with it.
func (a *api) entry(ctx context.Context, key schedule.Key) ([]byte, error) {
	description, err := a.listed(ctx, key)
	switch {
	case schedule.CodeOf(err) == schedule.CodeNotFound:
		return nil, nil
	case errors.Is(err, kv.ErrCorrupt):
		a.logFor(key).ErrorContext(ctx, "schedule left out of a list", "error", err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	entry, err := schedule.EncodeJSON(description)
	if err != nil {
		return nil, err
	}
	if fitPage([][]byte{entry}, a.maxReply()-listOverhead) == 0 {
		a.logFor(key).ErrorContext(ctx, "schedule left out of a list", "error", "it is larger than a NATS message may be")
		return nil, nil
	}
	return entry, nil
}

// count counts the keys, whatever is behind them.
func (a *api) count(ctx context.Context, namespace string, req *schedule.CountRequest) (schedule.CountReply, error) {
	keys, err := kv.Schedules(ctx, a.store, namespace)
	if err != nil {
		return schedule.CountReply{}, err
	}
	page, _ := pageKeys(keys, req.Prefix, "", len(keys))
	return schedule.CountReply{Count: len(page)}, nil
}

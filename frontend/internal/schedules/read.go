package schedules

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// maxRounds bounds how often a page is filled up when many schedules are gone. After that the page is not full.
	maxRounds = 10
)

// Describe answers from replicas, which may show a change a moment after it was answered.
func (s *Service) Describe(ctx context.Context, namespace string, req *schedule.IDRequest) (schedule.Description, error) {
	seen, err := s.look(ctx, schedule.Key{Namespace: namespace, ID: req.ID})
	if err != nil {
		return schedule.Description{}, err
	}
	d := describeFully(&seen.def, seen.records, s.lookAround(ctx, seen), s.now())
	s.addTimesOfPaused(&d, &seen.def)
	return d, nil
}

// description adds to a definition what the pools know, and nothing about its surroundings: it is for the reply to a change,
// which is about to change those.
func (s *Service) description(ctx context.Context, def *wire.Definition) (schedule.Description, error) {
	all, err := s.records(ctx, def.Key())
	if err != nil {
		return schedule.Description{}, err
	}
	d := describe(def, all.generator, all.invoker, s.now())
	s.addTimesOfPaused(&d, def)
	return d, nil
}

// records reads the pools' records of a schedule, without the backfills.
func (s *Service) records(ctx context.Context, key schedule.Key) (records, error) {
	batch, err := kv.ReadPools(ctx, s.store, key)
	if err != nil {
		return records{}, err
	}
	return recordsIn(ctx, batch, key)
}

// recordsIn returns the records of a schedule in a batch, without its definition.
func recordsIn(ctx context.Context, batch *kv.Batch, key schedule.Key) (records, error) {
	generator, err := kv.OrZero(kv.From(ctx, batch, kv.Generator(key)))
	if err != nil {
		return records{}, err
	}
	invoker, err := kv.OrZero(kv.From(ctx, batch, kv.Invoker(key)))
	return records{generator: generator.Value, invoker: invoker.Value}, err
}

// schedule returns the definition and the records of a schedule in a batch. Like [Service.definition], it asks the leader for a
// definition that the replica misses.
func (s *Service) schedule(ctx context.Context, batch *kv.Batch, key schedule.Key) (wire.Definition, records, error) {
	definition, err := kv.From(ctx, batch, kv.Definition(key))
	if errors.Is(err, kv.ErrNotFound) {
		definition, err = s.newestDefinition(ctx, key)
	}
	if err != nil {
		return wire.Definition{}, records{}, err
	}
	all, err := recordsIn(ctx, batch, key)
	return definition.Value, all, err
}

// listReply is a schedule.ListReply whose entries are already encoded, because their size decides how many fit.
type ListReply struct {
	Schedules     []json.RawMessage `json:"schedules"`
	NextPageToken string            `json:"nextPageToken,omitempty"`
	IndexedUpTo   time.Time         `json:"indexedUpTo,omitzero"`
	IndexBehind   bool              `json:"indexBehind,omitempty"`
}

// List reads one page. The page may hold fewer entries than requested even if others follow: schedules vanish while it is read,
// and a reply has a maximum size.
func (s *Service) List(ctx context.Context, namespace string, req *schedule.ListRequest) (ListReply, error) {
	if req.Query != "" {
		return s.search(ctx, namespace, req)
	}
	p, err := listing.NewPage(req)
	if err != nil {
		return ListReply{}, err
	}
	if p.Keys, err = s.keysAndTraces.Of(ctx, namespace); err != nil {
		return ListReply{}, err
	}
	least := 0
	for range maxRounds {
		if p.IsFull() {
			break
		}
		if err := s.fill(ctx, p, least); err != nil {
			return ListReply{}, err
		}
		least = listing.DefaultPageSize // where some are gone, more may be
	}
	p.Cut(s.maxReply() - listing.ReplyOverhead)
	return ListReply{Schedules: p.Entries(), NextPageToken: p.NextToken()}, nil
}

// fill looks at the next keys, least of them or more, and adds their schedules to a page. Some keys may be traces of deleted
// schedules.
func (s *Service) fill(ctx context.Context, p *listing.Page, least int) error {
	keys := p.Next(least)
	entries, err := s.entries(ctx, keys)
	if err != nil {
		return err
	}
	p.Add(keys, entries)
	return nil
}

// entries describes the schedules of a page, in the same order. The entry of a schedule that is left out is nil.
func (s *Service) entries(ctx context.Context, keys []schedule.Key) ([][]byte, error) {
	batch, err := kv.ReadBatch(ctx, s.store, keys...)
	if err != nil {
		return nil, err
	}
	entries := make([][]byte, len(keys))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listing.Readers)
	for i, key := range keys {
		group.Go(func() (err error) {
			entries[i], err = s.entry(ctx, batch, key)
			return err
		})
	}
	return entries, group.Wait()
}

// entry encodes the description of one schedule for a list. It is nil if the schedule has vanished since the keys were read, or
// if it cannot be shown at all: one bad schedule must not hide the others. Describe says what is wrong with it.
func (s *Service) entry(ctx context.Context, batch *kv.Batch, key schedule.Key) ([]byte, error) {
	def, all, err := s.schedule(ctx, batch, key)
	switch {
	case schedule.CodeOf(err) == schedule.CodeNotFound:
		return nil, nil
	case errors.Is(err, kv.ErrCorrupt):
		s.logFor(key).ErrorContext(ctx, "schedule left out of a list", "error", err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	d := describe(&def, all.generator, all.invoker, s.now())
	s.addTimesOfPaused(&d, &def)
	entry, err := apitext.EncodeJSON(d)
	if err != nil {
		return nil, err
	}
	if listing.Fit([][]byte{entry}, s.maxReply()-listing.ReplyOverhead) == 0 {
		s.logFor(key).ErrorContext(ctx, "schedule left out of a list", "error", "it is larger than a NATS message may be")
		return nil, nil
	}
	return entry, nil
}

// Count counts the keys, whatever they lead to, or the results of a query.
func (s *Service) Count(ctx context.Context, namespace string, req *schedule.CountRequest) (schedule.CountReply, error) {
	if req.Query != "" {
		return s.countFound(ctx, namespace, req)
	}
	keys, err := s.keys.Of(ctx, namespace)
	if err != nil {
		return schedule.CountReply{}, err
	}
	page, _ := listing.Keys(keys, req.Prefix, "", len(keys))
	return schedule.CountReply{Count: len(page)}, nil
}

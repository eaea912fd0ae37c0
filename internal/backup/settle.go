package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/cache"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// settleConcurrency is how many schedules are settled at once.
const settleConcurrency = 32

// settlement changes the records of all schedules to agree with what the other streams know, and wakes the pools.
type settlement struct {
	*restoration
	evidence *evidence
	store    *kv.Store
	specs    *cache.Specs
	actions  jetstream.Stream

	mu     sync.Mutex
	forget map[string]bool
}

// reconcile settles every schedule. It returns the IDs of the events that must not be stored.
func (r *restoration) reconcile(ctx context.Context) (map[string]bool, error) {
	buckets, err := kv.OpenBuckets(ctx, r.JS, r.names, r.manifest.Shards)
	if err != nil {
		return nil, err
	}
	found, err := r.gather(ctx)
	if err != nil {
		return nil, err
	}
	s := &settlement{
		restoration: r, evidence: found, store: kv.NewStore(buckets, r.names, r.manifest.Shards),
		specs: cache.NewSpecs(cache.DefaultSize), forget: map[string]bool{},
	}
	if s.actions, err = r.JS.Stream(ctx, r.names.ActionStream()); err != nil {
		return nil, err
	}
	known := map[schedule.Key]bool{}
	for shard := range r.manifest.Shards {
		if err := s.shard(ctx, buckets, shard, known); err != nil {
			return nil, err
		}
	}
	s.orphaned(known)
	return s.forget, nil
}

// shard settles the schedules of a shard, including those of which only remains exist.
func (s *settlement) shard(ctx context.Context, buckets kv.Buckets, shard int, known map[schedule.Key]bool) error {
	records, err := buckets.Keys(ctx, s.names.StateBucket(shard), ">")
	if err != nil {
		return err
	}
	backfills := map[schedule.Key][]string{}
	for _, record := range records {
		key, err := subjects.ParseStateKey(record)
		if err != nil {
			continue // it is not ours
		}
		known[key] = true
		ids := backfills[key]
		if id, ok := strings.CutPrefix(record, subjects.BackfillKey(key, "")); ok {
			ids = append(ids, id)
		}
		backfills[key] = ids
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(settleConcurrency)
	for key, ids := range backfills {
		group.Go(func() error {
			if err := patiently(ctx, func() error { return s.schedule(ctx, key, ids) }); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// records are the records of a schedule, at their revisions.
type records struct {
	key        schedule.Key
	definition kv.Record[wire.Definition]
	generator  kv.Record[wire.GeneratorState]
	invoker    kv.Record[wire.InvokerState]
	backfills  map[string]kv.Record[wire.BackfillState]
}

// schedule settles one schedule. A record that cannot be read stays as it is; cluster check reports it. What has been settled, in
// part or in full, may be settled again.
func (s *settlement) schedule(ctx context.Context, key schedule.Key, backfills []string) error {
	h, err := s.read(ctx, key, backfills)
	if errors.Is(err, kv.ErrCorrupt) {
		return s.wake(ctx, h)
	}
	if err != nil {
		return err
	}
	if h.definition.Revision == 0 {
		return s.wake(ctx, h) // the pools remove what is left of it
	}
	known, err := s.known(h)
	if err != nil {
		return err
	}
	p := reconcile(known)
	lost := unseen(known, &p)
	s.resume(known, &p)
	s.forgetAll(p.Forget)
	if err := s.carryOut(ctx, h, &p); err != nil {
		return err
	}
	s.note(&p, lost)
	return s.wake(ctx, h)
}

func (s *settlement) read(ctx context.Context, key schedule.Key, backfills []string) (*records, error) {
	h := &records{key: key, backfills: map[string]kv.Record[wire.BackfillState]{}}
	var failed [3]error
	h.definition, failed[0] = kv.OrZero(kv.GetLeader(ctx, s.store, kv.Definition(key)))
	h.generator, failed[1] = kv.OrZero(kv.GetLeader(ctx, s.store, kv.Generator(key)))
	h.invoker, failed[2] = kv.OrZero(kv.GetLeader(ctx, s.store, kv.Invoker(key)))
	err := errors.Join(failed[:]...)
	for _, id := range backfills {
		record, failed := kv.OrZero(kv.GetLeader(ctx, s.store, kv.Backfill(key, id)))
		err = errors.Join(err, failed)
		h.backfills[id] = record
	}
	return h, err
}

func (s *settlement) known(h *records) (*known, error) {
	spec, err := s.specs.Get(&h.definition.Value)
	if err != nil {
		return nil, err
	}
	k := &known{
		Definition: h.definition.Value, Generator: h.generator.Value, Invoker: h.invoker.Value,
		Backfills: map[string]wire.BackfillState{}, Events: s.evidence.events[h.key], Queued: s.evidence.queued[h.key],
		Reported: s.evidence.reported[h.key], Arriving: s.evidence.arriving[h.key],
		HandedOver: s.evidence.handedOver(h.key), Spec: spec,
	}
	k.Dead = s.evidence.dead(h.key, &k.Invoker)
	for id, record := range h.backfills {
		if record.Revision > 0 && record.Value.Incarnation == k.Definition.Incarnation {
			k.Backfills[id] = record.Value
		}
	}
	return k, nil
}

// carryOut writes the changes. Nobody else writes, so that no write can conflict.
func (s *settlement) carryOut(ctx context.Context, h *records, p *plan) error {
	for _, sequence := range p.Withdraw {
		if err := s.withdraw(ctx, sequence); err != nil {
			return fmt.Errorf("withdraw a start request: %w", err)
		}
	}
	if p.HandOff != nil {
		subject := s.names.InvokeEnqueue(s.store.ShardOf(h.key), h.key, p.HandOff.Source, p.HandOff.Span)
		if err := task.Publish(ctx, s.bus, subject, p.HandOff); err != nil {
			return err
		}
	}
	if p.Deleted {
		return kv.DeleteNoting(ctx, s.store, kv.Definition(h.key), h.definition.Revision, traceOf(&h.definition.Value, p.Gone))
	}
	if err := s.writeResult(ctx, h.key, p); err != nil {
		return err
	}
	if p.Paused != nil {
		if _, err := kv.Put(ctx, s.store, kv.Definition(h.key), p.Paused, h.definition.Revision); err != nil {
			return err
		}
	}
	if p.InvokerChanged {
		if _, err := kv.Put(ctx, s.store, kv.Invoker(h.key), &p.Invoker, h.invoker.Revision); err != nil {
			return err
		}
	}
	if p.GeneratorChanged {
		if _, err := kv.Put(ctx, s.store, kv.Generator(h.key), &p.Generator, h.generator.Revision); err != nil {
			return err
		}
	}
	for i := range p.Backfills {
		b := &p.Backfills[i]
		if _, err := kv.Put(ctx, s.store, kv.Backfill(h.key, b.ID), b, h.backfills[b.ID].Revision); err != nil {
			return err
		}
	}
	return nil
}

// traceOf returns the note for a definition that a restore removes: as much about the request as its event has. No event says
// what was to become of the runs.
func traceOf(d *wire.Definition, gone *schedule.Event) kv.Note {
	switch {
	case gone.Kind == schedule.EventClosed:
		return kv.Note{Deletion: d.Predecessor.Carried()} // no request has deleted it
	case gone.RequestID == "":
		return kv.Note{}
	}
	return kv.Note{Deletion: &wire.Deletion{Incarnation: d.Incarnation, RequestID: gone.RequestID}}
}

// withdraw removes a start request, if it still exists. The server has no specific error for one that does not.
func (s *settlement) withdraw(ctx context.Context, sequence uint64) error {
	err := s.actions.DeleteMsg(ctx, sequence)
	if err == nil {
		return nil
	}
	m, missing := s.api.next(ctx, s.names.ActionStream(), sequence, ">")
	if errors.Is(missing, jetstream.ErrMsgNotFound) || missing == nil && m.Sequence != sequence {
		return nil
	}
	return err
}

// writeResult adds the completions that only the events knew to the last result.
func (s *settlement) writeResult(ctx context.Context, key schedule.Key, p *plan) error {
	if len(p.Ended) == 0 {
		return nil
	}
	record, err := kv.OrZero(kv.GetLeader(ctx, s.store, kv.Result(key)))
	if err != nil {
		return err
	}
	result, changed := invoker.Fold(record.Value, p.Invoker.Incarnation, p.Ended)
	if !changed {
		return nil
	}
	p.Invoker.HasResult = true
	_, err = kv.Put(ctx, s.store, kv.Result(key), &result, record.Revision)
	return err
}

// wake makes all pools look at a schedule. Its timers may be missing: a timer that was replaced during the snapshot is in no
// backup.
func (s *settlement) wake(ctx context.Context, h *records) error {
	shard, names := s.store.ShardOf(h.key), s.names
	wake := &wire.Wake{Reason: wire.ReasonRetry}
	wakes := []string{names.Generate(shard, h.key, subjects.WhatGuard)}
	if h.invoker.Revision > 0 || len(s.evidence.events[h.key]) > 0 || h.definition.Revision == 0 {
		wakes = append(wakes, names.InvokeWake(shard, h.key))
	}
	for id := range h.backfills {
		wakes = append(wakes, names.Backfill(shard, h.key, id))
	}
	for _, subject := range wakes {
		if err := task.Publish(ctx, s.bus, subject, wake); err != nil {
			return err
		}
	}
	return nil
}

func (s *settlement) forgetAll(ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.forget[id] = true
	}
}

func (s *settlement) note(p *plan, lost []Lost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.summary.Schedules++
	s.summary.add(p.Counts)
	s.summary.Lost = append(s.summary.Lost, lost...)
	if p.Gone != nil {
		s.summary.Gone = append(s.summary.Gone, lostBy(p.Gone))
	}
}

// unseen returns the changes that users made after the records were copied. It removes their events, because the history must not
// report what is not so.
func unseen(k *known, p *plan) []Lost {
	if p.Deleted {
		return nil
	}
	var lost []Lost
	for i := range k.Events {
		e := &k.Events[i]
		if !k.unseen(e, p) {
			continue
		}
		p.Forget = append(p.Forget, e.ID)
		change := lostBy(e)
		if !slices.Contains(lost, change) {
			lost = append(lost, change)
		}
	}
	return lost
}

func lostBy(e *schedule.Event) Lost {
	return Lost{Namespace: e.Namespace, ScheduleID: e.ScheduleID, Kind: e.Kind, Time: e.Time, Identity: e.Identity}
}

// unseen reports whether an event is about a change that the records do not have.
func (k *known) unseen(e *schedule.Event, p *plan) bool {
	prefix := k.Definition.Incarnation + "-" + string(e.Kind) + "-"
	name, own := strings.CutPrefix(e.ID, prefix)
	switch e.Kind {
	case schedule.EventCreated:
		return !own
	case schedule.EventUpdated, schedule.EventPaused, schedule.EventUnpaused, schedule.EventSkipRequested, schedule.EventUnskipped,
		schedule.EventReplanned:
		version, err := parseVersion(name)
		return own && err == nil && version > k.Definition.Version
	case schedule.EventTriggered, schedule.EventBackfillRequested:
		_, recorded := k.Backfills[e.Source]
		return own && !recorded && !k.asked(e.Source) && !k.followed(e.Source, p)
	}
	return false
}

// followed reports whether there are events about the effects of a request.
func (k *known) followed(source string, p *plan) bool {
	return slices.ContainsFunc(k.Events, func(e schedule.Event) bool {
		return e.Source == source && e.Kind != schedule.EventTriggered && e.Kind != schedule.EventBackfillRequested &&
			!slices.Contains(p.Forget, e.ID)
	})
}

// asked reports whether the definition carries a request for which the generator has not made a record yet.
func (k *known) asked(source string) bool {
	return slices.ContainsFunc(k.Definition.Requests, func(b wire.BackfillState) bool { return b.ID == source })
}

// orphaned forgets the events of schedules that were created after the records had been copied, and so are not in the backup.
func (s *settlement) orphaned(known map[schedule.Key]bool) {
	for key, events := range s.evidence.events {
		if known[key] {
			continue
		}
		for i := range events {
			if e := &events[i]; e.Kind == schedule.EventCreated {
				s.uncreate(e, events)
			}
		}
	}
	for _, changes := range [][]Lost{s.summary.Lost, s.summary.Gone} {
		slices.SortFunc(changes, func(a, b Lost) int { return a.Time.Compare(b.Time) })
	}
}

// uncreate forgets the events of one incarnation, unless it is gone for good.
func (s *settlement) uncreate(created *schedule.Event, events []schedule.Event) {
	incarnation := created.Created()
	if schedule.IsGone(incarnation, events) {
		return
	}
	if lost := lostBy(created); !slices.Contains(s.summary.Lost, lost) {
		s.summary.Lost = append(s.summary.Lost, lost)
	}
	for i := range events {
		if e := &events[i]; e.IsOf(incarnation) {
			s.forget[e.ID] = true
		}
	}
}

func parseVersion(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }

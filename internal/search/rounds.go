package search

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// roundLimit bounds how long the index reads for the queries of one round.
	roundLimit = 5 * time.Second
	// leaderLimit bounds how long the leader of a bucket may take for an answer. Nobody answers for a bucket without a leader.
	leaderLimit = time.Second
	// fewDefinitions is how many definitions of a shard are read one by one. If more have changed, it is faster to read everything.
	fewDefinitions = 64
)

// round is one time that the index reads what queries wait for.
type round struct {
	done chan struct{}
	// complete says, once done is closed, that the index has everything that was stored when the round began.
	complete bool
}

// rounds bring queries and the follower of the buckets together. All queries that come while a round is in progress wait for the next one,
// so that any number of them causes one. It is safe for concurrent use.
type rounds struct {
	mu   sync.Mutex
	next *round // nil if no query waits for it
	// wanted is full when a query waits.
	wanted chan struct{}
}

func newRounds() *rounds { return &rounds{wanted: make(chan struct{}, 1)} }

// join returns the next round.
func (r *rounds) join() *round {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		r.next = &round{done: make(chan struct{})}
	}
	select {
	case r.wanted <- struct{}{}:
	default:
	}
	return r.next
}

// begin returns the round that queries wait for, which begins now; nil if none waits.
func (r *rounds) begin() *round {
	r.mu.Lock()
	defer r.mu.Unlock()
	begun := r.next
	r.next = nil
	return begun
}

// end ends a round.
func (r *round) end(complete bool) {
	r.complete = complete
	close(r.done)
}

// cancel ends the round that queries wait for, because nobody reads any more.
func (r *rounds) cancel() {
	if round := r.begin(); round != nil {
		round.end(false)
	}
}

// Await waits until the index has all changes of definitions that NATS had acknowledged before, whoever made them. It returns false if the
// limit passes or ctx ends first, if the leader of a bucket does not answer, or if the index is being built.
func (x *Index) Await(ctx context.Context, limit time.Duration) bool {
	if x.status.upTo().IsZero() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	round := x.rounds.join()
	select {
	case <-round.done:
		return round.complete
	case <-ctx.Done():
		return false
	}
}

// attend waits for a time, and reads meanwhile what queries wait for. The error means that the index is no longer usable.
func (f *follower) attend(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.index.broken:
			return errDamaged
		case <-timer.C:
			return nil
		case <-f.index.rounds.wanted:
		}
		if err := f.serveRound(ctx); err != nil {
			return err
		}
	}
}

// serveRound reads what queries wait for.
func (f *follower) serveRound(ctx context.Context) error {
	round := f.index.rounds.begin()
	if round == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, roundLimit)
	defer cancel()
	err := f.readDefinitions(limited)
	round.end(err == nil)
	var stored storeError
	switch {
	case errors.As(err, &stored):
		return err
	case err != nil && ctx.Err() == nil:
		f.index.log.WarnContext(ctx, "search index answers queries without the latest changes", "error", err)
	}
	return nil
}

// readDefinitions reads the definitions that have changed, ahead of everything else.
func (f *follower) readDefinitions(ctx context.Context) error {
	found := make([][]bus.Message, len(f.buckets))
	var group errgroup.Group // one shard that does not answer must not stop the others
	for i := range f.buckets {
		group.Go(func() (err error) {
			found[i], err = f.changedDefinitions(ctx, &f.buckets[i])
			return err
		})
	}
	failed := group.Wait()
	full := false
	for i := range f.buckets {
		b := &f.buckets[i]
		if len(found[i]) == 0 {
			continue
		}
		if err := f.store(ctx, b, found[i], nil); err != nil {
			return err
		}
		b.definitions = found[i][len(found[i])-1].Sequence
		for rest := len(found[i]) == fewDefinitions; rest && ctx.Err() == nil; full = true {
			var err error
			if rest, err = f.readBatch(ctx, b, f.index.config.Now(), true); err != nil {
				return err
			}
		}
	}
	if failed == nil && full {
		return f.readDefinitions(ctx)
	}
	return failed
}

// changedDefinitions asks the leader of a bucket for the definitions that were written after the last one that the index has. Only the
// leader knows all that has been acknowledged. Mostly its first answer is that there is none.
func (f *follower) changedDefinitions(ctx context.Context, b *bucket) (found []bus.Message, err error) {
	for after := max(b.definitions, b.cursor.sequence); len(found) < fewDefinitions; after = found[len(found)-1].Sequence {
		m, err := f.nextDefinition(ctx, b, after)
		if errors.Is(err, bus.ErrNone) {
			break
		}
		if err != nil {
			return found, err
		}
		found = append(found, m)
	}
	return found, nil
}

func (f *follower) nextDefinition(ctx context.Context, b *bucket, after uint64) (bus.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, leaderLimit)
	defer cancel()
	js := f.index.config.Lanes.Of(b.shard, f.index.config.JS)
	return bus.LeaderNext(ctx, js, b.stream(), subjects.BucketSubject(b.name, "*.*."+subjects.KindDefinition), after+1)
}

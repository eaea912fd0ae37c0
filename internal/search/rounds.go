package search

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/internal/bus"
)

const (
	// roundLimit bounds how long the index reads for the queries of one round.
	roundLimit = 5 * time.Second
	// leaderLimit bounds how long the leader of a stream may take for an answer. Nobody answers for a stream without a leader.
	leaderLimit = time.Second
	// few is how many messages of a stream are read one by one.
	few = 64
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

// progress is how far a follower has come, and what queries make of that.
type progress struct {
	status *status
	rounds *rounds
}

func newProgress(sources int) *progress { return &progress{newStatus(sources), newRounds()} }

// reset forgets everything: nobody reads any more.
func (p *progress) reset() {
	p.status.reset()
	p.rounds.cancel()
}

// await waits for a round. It returns false if the limit passes or ctx ends first, if the round was not complete, or while the index is
// being built.
func (p *progress) await(ctx context.Context, limit time.Duration) bool {
	if p.status.upTo().IsZero() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	round := p.rounds.join()
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
		case <-f.state.rounds.wanted:
		}
		if err := f.serveRound(ctx); err != nil {
			return err
		}
	}
}

// serveRound reads what queries wait for.
func (f *follower) serveRound(ctx context.Context) error {
	round := f.state.rounds.begin()
	if round == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, roundLimit)
	defer cancel()
	err := f.of.latest(limited, f)
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

// newest asks the leader of a stream for the messages of a subject after a sequence, one by one: at most limit. Only the leader knows all that
// has been acknowledged. Mostly its first answer is that there is none.
func (s *source) newest(ctx context.Context, filter string, after uint64, limit int) (found []bus.Message, err error) {
	for len(found) < limit {
		m, err := s.next(ctx, filter, after)
		if errors.Is(err, bus.ErrNone) {
			break
		}
		if err != nil {
			return found, err
		}
		found, after = append(found, m), m.Sequence
	}
	return found, nil
}

func (s *source) next(ctx context.Context, filter string, after uint64) (bus.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, leaderLimit)
	defer cancel()
	return bus.LeaderNext(ctx, s.leader(), s.stream, filter, after+1)
}

// last asks the leader of a stream for its last sequence.
func (s *source) last(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, leaderLimit)
	defer cancel()
	return bus.LeaderSequence(ctx, s.leader(), s.stream)
}

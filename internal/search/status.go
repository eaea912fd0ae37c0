package search

import (
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// status is how far an index has come. It is safe for concurrent use.
type status struct {
	mu     sync.Mutex
	shards []shardStatus
}

// shardStatus is how far a bucket has been read.
type shardStatus struct {
	// read counts the messages read since the index was opened; total is how many there were to read then.
	read, total uint64
	// upTo is when nothing was left to read; zero before that.
	upTo time.Time
}

func newStatus(shards int) *status { return &status{shards: make([]shardStatus, shards)} }

func (s *status) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.shards)
}

func (s *status) update(shard int, change func(*shardStatus)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.shards[shard])
}

// upTo returns the time up to which all changes are in the index; zero while it is not built.
func (s *status) upTo() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := s.shards[0].upTo
	for _, shard := range s.shards {
		if shard.upTo.Before(oldest) {
			oldest = shard.upTo
		}
	}
	return oldest
}

// check returns an error while the index is being built, with how far it is.
func (s *status) check() error {
	if !s.upTo().IsZero() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var read, total uint64
	for _, shard := range s.shards {
		read, total = read+min(shard.read, shard.total), total+shard.total
	}
	percent := uint64(0)
	if total > 0 {
		percent = read * 100 / total
	}
	return schedule.Errorf(schedule.CodeUnavailable,
		"the search index is being built, %d %% of it is there: try again in a moment, or list without a query", percent)
}

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
	// since is when the index was opened, or closed if that is later.
	since time.Time
}

// shardStatus is how far a bucket has been read.
type shardStatus struct {
	// read counts the messages that were read since the index was opened; total is how many there were to read then.
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

// begin notes when the index was opened or closed.
func (s *status) begin(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = at
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

// Progress is how far an index is.
type Progress struct {
	// Read is how many messages have been read since the index was opened; Total is how many there were to read then. Messages that came later
	// count in neither.
	Read, Total uint64
	// Since is when the index was opened, or closed if it is not open; zero before Run.
	Since time.Time
	// UpTo is the time up to which all changes are in the index; zero while it is being built.
	UpTo time.Time
}

// percent is how much has been read, in whole percent. It is less than 100 as long as something is to be done.
func (p Progress) percent() uint64 {
	if p.Total == 0 {
		return 0
	}
	return min(p.Read*100/p.Total, 99)
}

// progress returns how far the index is.
func (s *status) progress() Progress {
	p := Progress{UpTo: s.upTo()}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Since = s.since
	for _, shard := range s.shards {
		p.Read, p.Total = p.Read+min(shard.read, shard.total), p.Total+shard.total
	}
	return p
}

// check returns an error while the index is being built, with how far it is.
func (s *status) check() error {
	p := s.progress()
	switch {
	case !p.UpTo.IsZero():
		return nil
	case p.Read < p.Total || p.Total == 0:
		return schedule.Errorf(schedule.CodeUnavailable,
			"the search index is being built, %d %% of it is there (%d of %d messages): try again in a moment", p.percent(), p.Read, p.Total)
	}
	return schedule.Errorf(schedule.CodeUnavailable, "the search index is being built, and is almost there: try again in a moment")
}

package archival

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// errReplaced: the bucket has been made anew, or emptied, while it was open.
var errReplaced = errors.New("archival: another bucket has taken the place of the one that was open")

// seenMarks are the marks of buckets, as they were read last. It is safe for concurrent use. Namespaces with the same bucket read its mark together, and
// not in each of their rounds.
type seenMarks struct {
	reads singleflight.Group

	mu  sync.Mutex
	all map[string]seenMark // by the URL of the bucket
}

// seenMark is the mark of a bucket that is open; empty if it had none. first is the first one that it had.
type seenMark struct {
	in          *bucket
	first, mark string
	at          time.Time
}

func (s *seenMarks) get(in *bucket) (seenMark, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.all[in.address]
	return seen, seen.in == in
}

// note notes the mark of a bucket.
func (s *seenMarks) note(in *bucket, mark string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.all[in.address]
	if seen.in != in {
		seen = seenMark{in: in}
	}
	if seen.mark, seen.at = mark, at; seen.first == "" {
		seen.first = mark
	}
	if s.all == nil {
		s.all = map[string]seenMark{}
	}
	s.all[in.address] = seen
}

// bind finds out which bucket a namespace has now, and lets nothing count as archived that is in another one. That is stored for all shards before
// anything is archived; and, if the bucket has no mark, before it gets one: perhaps it is not there.
func (s *Service) bind(ctx context.Context, in *bucket, follows []*follow, events *eventFollow) error {
	mark, err := s.mark(ctx, in, false)
	if err == nil && mark == "" {
		if err = bindAll(ctx, mark, follows); err == nil {
			mark, err = s.mark(ctx, in, true)
		}
	}
	if err == nil {
		err = bindAll(ctx, mark, follows)
	}
	if err != nil {
		return err
	}
	events.bind(mark)
	if seen, is := s.seen.get(in); is && seen.first != mark {
		return errReplaced // what it remembers of what is there is not true
	}
	return nil
}

func bindAll(ctx context.Context, mark string, follows []*follow) error {
	for _, f := range follows {
		if err := f.bind(ctx, mark); err != nil {
			return err
		}
	}
	return nil
}

// mark returns the mark of a bucket. If there is none, it makes one, or returns an empty text.
func (s *Service) mark(ctx context.Context, in *bucket, makes bool) (string, error) {
	if seen, is := s.seen.get(in); is && seen.mark != "" && s.config.Now().Sub(seen.at) < s.config.Every {
		return seen.mark, nil
	}
	what := "read "
	if makes {
		what = "make "
	}
	found, err, _ := s.seen.reads.Do(what+in.address, func() (any, error) {
		var mark string
		err := in.within(ctx, s.config.writeLimit, func(ctx context.Context) (err error) {
			if mark, err = in.Mark(ctx); err == nil && mark == "" && makes {
				mark, err = in.MakeMark(ctx)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		s.seen.note(in, mark, s.config.Now())
		return mark, nil
	})
	mark, _ := found.(string)
	return mark, err
}

package archival

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// rounds are the rounds of all namespaces. Each namespace goes through its own: one whose bucket hangs keeps no other waiting. One goroutine uses it.
type rounds struct {
	*Service
	results chan outcome
	// busy are the namespaces that are worked on, and rested those of which there was nothing more to archive when it was looked for last.
	busy, rested map[string]bool
}

// outcome is how a round has ended for a namespace.
type outcome struct {
	namespace string
	more      bool
	err       error
}

// work archives what there is until ctx ends, or no namespace asks for an archive.
func (s *Service) work(ctx context.Context) {
	r := &rounds{Service: s, results: make(chan outcome), busy: map[string]bool{}, rested: map[string]bool{}}
	look := time.NewTicker(s.config.Every)
	defer look.Stop()
	for ctx.Err() == nil {
		asking := s.asking()
		if len(asking) == 0 {
			break
		}
		s.state.archives(slices.Sorted(maps.Keys(asking)))
		r.begin(ctx, asking)
		select {
		case result := <-r.results:
			r.end(ctx, result)
		case <-look.C:
			clear(r.rested)
		case <-ctx.Done():
		}
	}
	for len(r.busy) > 0 {
		r.end(ctx, <-r.results)
	}
}

// begin begins a round of each namespace that neither rests, nor pauses, nor is worked on.
func (r *rounds) begin(ctx context.Context, asking map[string]string) {
	for at := range r.follows {
		if _, asks := asking[at.namespace]; !asks && !r.busy[at.namespace] {
			delete(r.follows, at)
			r.state.forget(at)
			delete(r.events, at.namespace)
			r.state.forget(place{at.namespace, noShard})
		}
	}
	for namespace, address := range asking {
		if r.busy[namespace] || r.rested[namespace] || r.state.isPaused(namespace, r.config.Now()) {
			continue
		}
		r.busy[namespace] = true
		follows, events := r.followsOf(namespace, address), r.eventsOf(namespace, address)
		go func() {
			more, err := r.archive(ctx, follows, events)
			r.results <- outcome{namespace, more, err}
		}()
	}
}

// end takes notice of the end of a round. A namespace pauses after an error, each time for longer.
func (r *rounds) end(ctx context.Context, of outcome) {
	delete(r.busy, of.namespace)
	r.rested[of.namespace] = !of.more
	if of.err == nil {
		r.state.resume(of.namespace)
		return
	}
	if ctx.Err() != nil {
		return
	}
	r.state.fail(of.namespace, r.config.Now(), r.config.Every, of.err.Error())
	r.log.WarnContext(ctx, "executions are archived later, and kept until then", "namespace", of.namespace, "error", of.err)
}

// followsOf returns the follows of all shards of a namespace.
func (s *Service) followsOf(namespace, address string) []*follow {
	all := make([]*follow, s.config.Shards)
	for shard := range all {
		at := place{namespace, shard}
		if known := s.follows[at]; known == nil || known.address != address {
			s.follows[at] = &follow{Service: s, place: at, address: address}
		}
		all[shard] = s.follows[at]
	}
	return all
}

// eventsOf returns the follow of the events of the schedules of a namespace.
func (s *Service) eventsOf(namespace, address string) *eventFollow {
	if known := s.events[namespace]; known == nil || known.address != address {
		s.events[namespace] = &eventFollow{Service: s, namespace: namespace, address: address}
	}
	return s.events[namespace]
}

// archive archives what there is of a namespace: of all shards, one after the other, and the events of its schedules. A shard that fails does not keep the
// others, unless the bucket hangs.
func (s *Service) archive(ctx context.Context, follows []*follow, events *eventFollow) (more bool, err error) {
	in, err := s.buckets.use(ctx, events.address)
	if err != nil {
		return false, err
	}
	defer in.release()
	if err := s.bind(ctx, in, follows, events); err != nil {
		in.forget()
		return false, fmt.Errorf("namespace %s: %w", events.namespace, err)
	}
	for _, f := range follows {
		left, failed := f.round(ctx, in)
		more = more || left
		if failed != nil {
			err = fmt.Errorf("namespace %s, shard %d: %w", f.namespace, f.shard, failed)
		}
		if errors.Is(failed, errSilent) {
			break
		}
	}
	if !errors.Is(err, errSilent) {
		left, failed := events.round(ctx, in)
		more = more || left
		if failed != nil {
			err = fmt.Errorf("namespace %s, events of schedules: %w", events.namespace, failed)
		}
	}
	if err != nil {
		in.forget()
	}
	return more, err
}

package replication

import (
	"context"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/presence"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/subjects"
)

// answerTime is how long processes have to say that they still work.
const answerTime = 500 * time.Millisecond

// open lets the streams of an active site take writes, and its workers get runs: a handover may have been given up halfway.
func (s *Service) open(ctx context.Context, own *site.Record) (site.Seen, error) {
	facts, err := s.here.facts(ctx)
	if err != nil {
		return site.Seen{}, err
	}
	if err := s.openAll(ctx, own, facts.Shards); err != nil {
		return site.Seen{}, err
	}
	if err := s.unchanged(ctx, own); err != nil {
		return site.Seen{}, err
	}
	if err := s.resumeWorkers(ctx); err != nil {
		return site.Seen{}, err
	}
	return site.Seen{Done: site.Open}, nil
}

// fence takes the subjects from all streams, once no other role runs here. The start requests come first: what workers still hold then must end before the
// rest is fenced, since they could not report it.
func (s *Service) fence(ctx context.Context, own *site.Record) (site.Seen, error) {
	if who, err := s.working(ctx); err != nil || who != "" {
		return site.Seen{Waits: "processes that have not stopped: " + who}, err
	}
	facts, err := s.here.facts(ctx)
	if err != nil {
		return site.Seen{}, err
	}
	if err := s.here.fence(ctx, s.config.Names.ActionStream()); err != nil {
		return site.Seen{}, err
	}
	if held, err := s.held(ctx, own, s.config.Now().Add(forGood)); err != nil || held > 0 {
		return site.Seen{Waits: holding(held)}, err
	}
	if err := s.here.fenceAll(ctx, facts.Shards); err != nil {
		return site.Seen{}, err
	}
	ends, err := endsOf(ctx, s.config.Names.MirroredStreams(facts.Shards), s.here.end)
	if err != nil {
		return site.Seen{}, err
	}
	return site.Seen{Done: site.Fence, Ends: ends}, nil
}

// working names a process that runs another role than this one; empty if there is none. One that still takes this site for a standby only reads.
func (s *Service) working(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	all, err := presence.All(ctx, s.config.JS.Conn(), s.config.Names)
	for i := range all {
		if !all[i].Standby && !slices.Equal(all[i].Roles, []string{subjects.RoleReplication}) {
			return all[i].Title(), nil
		}
	}
	return "", err
}

// openAll opens all streams of the installation that exist, as long as the record of the site is the one with which this was decided.
func (s *Service) openAll(ctx context.Context, own *site.Record, shards int) error {
	for _, name := range s.here.all(shards) {
		err := s.here.open(ctx, name, shards, func(ctx context.Context) error { return s.unchanged(ctx, own) })
		if err != nil {
			return err
		}
	}
	return nil
}

// isStill reports whether the record of a site that was read later, which may be nil, has the same state and term.
func isStill(was, now *site.Record) bool {
	return now != nil && now.State == was.State && now.Term == was.Term
}

// unchanged returns site.ErrChanged unless the site is still in the state and the term with which something was decided.
func (s *Service) unchanged(ctx context.Context, own *site.Record) error {
	now, _, err := s.store.Load(ctx)
	if err == nil && !isStill(own, now) {
		err = site.ErrChanged
	}
	return err
}

// hold fences again what a process that was late may have opened.
func (s *Service) hold(ctx context.Context) (site.Seen, error) {
	facts, err := s.here.facts(ctx)
	if err != nil {
		return site.Seen{}, err
	}
	if err := s.here.fenceAll(ctx, facts.Shards); err != nil {
		return site.Seen{}, err
	}
	return site.Seen{Done: site.Hold}, nil
}

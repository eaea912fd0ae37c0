package replication

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/flood"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// lookEvery is how long a site rests between two looks while nothing changes, and hurry while it is on its way to another state.
	lookEvery = time.Second
	hurry     = 100 * time.Millisecond
	// openEvery is how often an active site makes sure that its streams take writes.
	openEvery = 10 * time.Second
	// askTimeout bounds a question to the other site.
	askTimeout = 2 * time.Second
)

// Config is what a [Service] needs. JS is required.
type Config struct {
	// JS is the JetStream of this site. The other one is reached by the same connection, under its domain.
	JS jetstream.JetStream
	// Names are the names of the installation. Default: subjects.Default().
	Names subjects.Names
	// ConfirmAfter is how long an inconsistency must last before a takeover repairs it. Default: 2 seconds; no pool runs then.
	ConfirmAfter time.Duration
	// Logger gets what happens. Default: slog.Default().
	Logger *slog.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

func (c Config) withDefaults() (Config, error) {
	if c.JS == nil {
		return c, errors.New("replication: Config.JS is required")
	}
	if c.Names == (subjects.Names{}) {
		c.Names = subjects.Default()
	}
	if c.ConfirmAfter <= 0 {
		c.ConfirmAfter = 2 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now //permit:time.Now the default
	}
	return c, nil
}

// Service is one process of the role at one site. Make it with New, run it once.
type Service struct {
	config Config
	log    *slog.Logger
	often  *slog.Logger // for what may fail again and again
	store  site.Store
	here   streams
	lag    lag
	// far reads the streams of the other site, whose domain is farOf.
	far   *bus.Reader
	farOf string
	// wasAway says that the other site has not answered since the mirrors were last compared with its streams.
	wasAway bool
	// paused is when the last task queue was paused.
	paused time.Time

	mu      sync.Mutex
	waiting string
}

// New returns a service that is not running yet.
func New(config Config) (*Service, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Service{
		config: config, log: config.Logger, often: flood.Limit(config.Logger), store: site.NewStore(config.JS, config.Names),
		here: streams{config.JS, config.Names},
	}, nil
}

// Waits says for users what the site waits for; empty if it is active, an up-to-date standby, or the only one.
func (s *Service) Waits() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

func (s *Service) setWaits(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = what
}

// round is what a service knows from one look to the next.
type round struct {
	seen     site.Seen
	revision uint64 // of the record for which it was seen
	opened   time.Time
}

// Run does what the site has to do until ctx ends. It returns nil after such a stop.
func (s *Service) Run(ctx context.Context) error {
	defer s.lag.observe(s.config.Now)()
	var r round
	for ctx.Err() == nil {
		pause, err := s.look(ctx, &r)
		if err != nil && ctx.Err() == nil {
			s.often.WarnContext(ctx, "the site is looked at again", "error", err)
		}
		_ = sleep.For(ctx, pause)
	}
	return nil
}

// look takes one step. It returns how long to wait until the next one.
func (s *Service) look(ctx context.Context, r *round) (time.Duration, error) {
	own, revision, err := s.store.Load(ctx)
	if err != nil || own == nil {
		s.setWaits("")
		s.lag.note(own, nil)
		return lookEvery, err
	}
	if revision != r.revision {
		*r = round{revision: revision, opened: r.opened}
	}
	peer := s.peer(ctx, own)
	next, action := site.Step(own, peer, r.seen, s.config.Now())
	if next != own {
		// The next look takes the step with the record that is stored then.
		return 0, s.save(ctx, own, next, revision)
	}
	s.lag.note(own, peer)
	if r.seen, err = s.act(ctx, own, peer, action, r); err != nil {
		r.seen.Waits = err.Error()
	}
	s.setWaits(waits(own, &r.seen))
	return pauseAfter(own), err
}

// peer returns the record of the other site, or nil if it cannot be read.
func (s *Service) peer(ctx context.Context, own *site.Record) *site.Record {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	peer, err := s.store.Peer(ctx, own.Peer)
	if err != nil || peer == nil || peer.Site != own.Peer || peer.Peer != own.Site {
		return nil
	}
	return peer
}

// save stores the next record of the site, unless another process was faster.
func (s *Service) save(ctx context.Context, own, next *site.Record, revision uint64) error {
	err := s.store.Save(ctx, next, revision, 0)
	if errors.Is(err, site.ErrChanged) {
		return nil
	}
	if err == nil && next.State != own.State {
		s.log.InfoContext(ctx, "the site is "+string(next.State), "site", next.Site, "was", own.State, "term", next.Term, "problem", next.Problem)
	}
	return err
}

// act carries out an action. An action that it cannot carry out yet is not done.
func (s *Service) act(ctx context.Context, own, peer *site.Record, action site.Action, r *round) (site.Seen, error) {
	switch action {
	case site.Open:
		return s.openNow(ctx, own, r)
	case site.Drain:
		return s.drain(ctx, own)
	case site.Fence:
		return s.fence(ctx, own)
	case site.Hold:
		return s.hold(ctx)
	case site.Mirror:
		return s.mirror(ctx, own, peer)
	case site.Cut:
		return s.cut(ctx)
	case site.Take:
		return s.take(ctx, own)
	case site.Repair, site.Review:
		return s.repair(ctx, own, action)
	case site.Rejoin:
		return s.rejoin(ctx, own, peer)
	}
	return site.Seen{}, nil
}

// openNow opens the streams, unless that was done a moment ago.
func (s *Service) openNow(ctx context.Context, own *site.Record, r *round) (site.Seen, error) {
	if r.seen.Done == site.Open && s.config.Now().Sub(r.opened) < openEvery {
		return r.seen, nil
	}
	r.opened = s.config.Now()
	return s.open(ctx, own)
}

// pauseAfter is how long a site rests after an action.
func pauseAfter(own *site.Record) time.Duration {
	if own.State == site.Active || own.State == site.Standby || own.State == site.Fenced {
		return lookEvery
	}
	return hurry
}

// waits says for users what a site waits for.
func waits(own *site.Record, seen *site.Seen) string {
	switch {
	case seen.Waits != "":
		return seen.Waits
	case own.State == site.Active, own.State == site.Standby && seen.Done == site.Mirror:
		return ""
	case own.State == site.Fenced:
		return "the site " + own.Peer + " to take over"
	}
	return "the site to be no longer " + string(own.State)
}

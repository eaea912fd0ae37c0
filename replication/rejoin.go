package replication

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/topology"
)

// The headers of a diverged message.
const (
	// headerDivergedTime is when the original was stored, in RFC 3339.
	headerDivergedTime = "Carillon-Diverged-Time"
	// headerOriginal begins the names of the headers that the original had: JetStream would obey its own.
	headerOriginal = "Carillon-Original-"
)

// rejoin makes a standby of a site whose installation is active at the other one. What only this site has, it keeps.
func (s *Service) rejoin(ctx context.Context, own, peer *site.Record) (site.Seen, error) {
	if who, err := s.working(ctx); err != nil || who != "" {
		return site.Seen{Waits: "processes that have not stopped: " + who}, err
	}
	there, facts, err := s.origin(ctx, own)
	if err != nil {
		return site.Seen{}, err
	}
	all := s.here.all(facts.Shards)
	// Before anything is kept, all take nothing: else something could come in behind what is kept.
	for _, name := range all {
		if err := s.here.fenceOwn(ctx, name); err != nil {
			return site.Seen{}, err
		}
	}
	for _, name := range all {
		if err := s.giveUp(ctx, own, peer, name, facts); err != nil {
			return site.Seen{}, err
		}
	}
	if err := s.makeMirrors(ctx, own, there, facts); err != nil {
		return site.Seen{}, err
	}
	return site.Seen{Done: site.Rejoin}, nil
}

// giveUp keeps what a stream has beyond the other site, and removes it, unless it is a mirror already.
func (s *Service) giveUp(ctx context.Context, own, peer *site.Record, name string, facts topology.Facts) error {
	config, err := s.here.config(ctx, name)
	if err != nil || config == nil || config.Mirror != nil {
		return err
	}
	queued := slices.Contains(s.config.Names.QueuedStreams(facts.Shards), name)
	mirrored := slices.Contains(s.config.Names.MirroredStreams(facts.Shards), name)
	if mirrored || queued && peer.Forced {
		after := uint64(0) // the other site has nothing of a queue
		if mirrored {
			after = own.Shared(peer, name)
		}
		if err := s.keep(ctx, own, name, after, facts.Replicas); err != nil {
			return fmt.Errorf("replication: keep what the stream %s has beyond the site %s: %w", name, own.Peer, err)
		}
	}
	return s.remove(ctx, name, own)
}

// keep copies the messages of a stream behind a sequence to the stream of diverged messages. The subject of a copy is taken once, so a message is kept once, however
// often this is repeated.
func (s *Service) keep(ctx context.Context, own *site.Record, stream string, after uint64, replicas int) error {
	create := sync.OnceValue(func() error {
		_, err := s.config.JS.CreateStream(ctx, s.config.Names.DivergedConfig(replicas))
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return nil
		}
		return err
	})
	for {
		m, err := bus.LeaderNext(ctx, s.config.JS, stream, ">", after+1)
		if errors.Is(err, bus.ErrNone) {
			return nil
		}
		if err == nil && !s.here.isMark(stream, m.Subject) {
			if err = create(); err == nil {
				err = s.keepMessage(ctx, own, stream, &m)
			}
		}
		if err != nil {
			return err
		}
		after = m.Sequence
	}
}

func (s *Service) keepMessage(ctx context.Context, own *site.Record, stream string, m *bus.Message) error {
	kept := nats.NewMsg(s.config.Names.Diverged(own.Term, stream, m.Sequence, m.Subject))
	for name, values := range m.Header {
		kept.Header[headerOriginal+name] = values
	}
	kept.Header.Set(headerDivergedTime, m.Time.UTC().Format(time.RFC3339Nano))
	kept.Data = m.Data
	_, err := s.config.JS.PublishMsg(ctx, kept, jetstream.WithExpectStream(s.config.Names.DivergedStream()), jetstream.WithExpectLastSequencePerSubject(0))
	if bus.IsWrongSequence(err) {
		return nil // it is kept already
	}
	return err
}

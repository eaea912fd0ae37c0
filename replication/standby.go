package replication

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/subjects"
)

// pageSize is how many messages of a stream are read at once.
const pageSize = 256

// there returns the streams of the other site.
func (s *Service) there(own *site.Record) (streams, error) {
	js, err := site.At(s.config.JS.Conn(), own.Peer)
	return streams{js, s.config.Names}, err
}

// origin returns the streams of the other site, and its facts.
func (s *Service) origin(ctx context.Context, own *site.Record) (streams, topology.Facts, error) {
	there, err := s.there(own)
	if err != nil {
		return there, topology.Facts{}, err
	}
	facts, err := there.facts(ctx)
	return there, facts, err
}

// mirror makes the mirrors that are missing, and looks how far each is. A stream that is none, because a suspended process has made one of the mirror, becomes one again.
func (s *Service) mirror(ctx context.Context, own, peer *site.Record) (site.Seen, error) {
	if peer == nil {
		s.wasAway = true
		return site.Seen{Waits: "the site " + own.Peer + " to answer"}, nil
	}
	there, facts, err := s.origin(ctx, own)
	if err != nil {
		return site.Seen{}, err
	}
	if err := s.makeMirrors(ctx, own, there, facts); err != nil {
		return site.Seen{}, err
	}
	if s.wasAway || own.NeedsFloors(peer, s.config.Now()) {
		seen, err := s.compare(ctx, there, facts.Shards)
		s.wasAway = s.wasAway && err != nil
		return seen, err
	}
	ends, err := s.measure(ctx, facts.Shards)
	return site.Seen{Done: site.Mirror, Ends: ends}, err
}

// compare looks where the mirrors end, and their streams at the other site.
func (s *Service) compare(ctx context.Context, there streams, shards int) (site.Seen, error) {
	floors := there.floors(ctx, shards) // before the mirrors are looked at: what was carried out up to here, they must have
	before, err := endsOf(ctx, s.config.Names.MirroredStreams(shards), there.last)
	if err != nil {
		return site.Seen{}, err
	}
	seen := site.Seen{Done: site.Mirror}
	if seen.Ends, err = s.measure(ctx, shards); err != nil {
		return site.Seen{}, err
	}
	if seen.Complete, err = there.hadNoMore(ctx, before, seen.Ends); err != nil {
		return site.Seen{}, err
	}
	if seen.Complete {
		seen.Floors = floors
	}
	seen.Ahead, err = there.isBehind(ctx, before, seen.Ends)
	return seen, err
}

// measure returns where the mirrors end, and takes note of how far they are behind.
func (s *Service) measure(ctx context.Context, shards int) (map[string]uint64, error) {
	ends := map[string]uint64{}
	for _, name := range s.config.Names.MirroredStreams(shards) {
		mirror, err := s.config.JS.Stream(ctx, name)
		if err != nil {
			return nil, err
		}
		info := mirror.CachedInfo()
		ends[name] = info.State.LastSeq
		s.lag.stream(name, s.config.Now(), info.Mirror)
	}
	return ends, nil
}

// makeMirrors makes the mirrors that are missing at a standby.
func (s *Service) makeMirrors(ctx context.Context, own *site.Record, there streams, facts topology.Facts) error {
	for _, name := range s.config.Names.MirroredStreams(facts.Shards) {
		config, err := s.here.config(ctx, name)
		if err == nil && config != nil && config.Mirror == nil {
			if !s.config.Names.IsFenced(*config) {
				return fmt.Errorf("replication: the stream %s is in the way of a mirror, and nobody has given it up: remove it if it is of no use", name)
			}
			err = s.remove(ctx, name, own)
		}
		if err == nil && (config == nil || config.Mirror == nil) {
			err = s.makeMirror(ctx, own, there, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) makeMirror(ctx context.Context, own *site.Record, there streams, name string) error {
	of, err := there.config(ctx, name)
	if err != nil {
		return err
	}
	if of == nil || of.Mirror != nil {
		return fmt.Errorf("replication: the stream %s is not there at the site %s", name, own.Peer)
	}
	if _, err := s.config.JS.CreateStream(ctx, mirrorOf(*of, own.Peer)); err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return fmt.Errorf("replication: mirror stream %s: %w", name, err)
	}
	return nil
}

// remove removes a stream, if the record of the site is still the one with which this was decided.
func (s *Service) remove(ctx context.Context, name string, own *site.Record) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := s.unchanged(ctx, own); err != nil {
		return err
	}
	if err := s.config.JS.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("replication: remove stream %s: %w", name, err)
	}
	return nil
}

// cut makes streams of the mirrors, which take nothing yet, and says where they end.
func (s *Service) cut(ctx context.Context) (site.Seen, error) {
	facts, err := s.here.facts(ctx)
	if err != nil {
		return site.Seen{}, err
	}
	mirrored := s.config.Names.MirroredStreams(facts.Shards)
	for _, name := range mirrored {
		if err := s.here.fenceMirror(ctx, name); err != nil {
			return site.Seen{}, err
		}
	}
	ends, err := endsOf(ctx, mirrored, s.here.settled)
	if err != nil {
		return site.Seen{}, err
	}
	return site.Seen{Done: site.Cut, Ends: ends}, nil
}

// take lets the streams take writes, makes the others, and copies what waits at the other site.
func (s *Service) take(ctx context.Context, own *site.Record) (site.Seen, error) {
	facts, err := s.here.facts(ctx)
	if err != nil {
		return site.Seen{}, err
	}
	if err := s.openAll(ctx, own, facts.Shards); err != nil {
		return site.Seen{}, err
	}
	if err := s.resumeTransfers(ctx, own, facts.Shards); err != nil {
		return site.Seen{}, err
	}
	if _, err := topology.Ensure(ctx, s.config.JS, s.config.Names, topology.Settings{}); err != nil {
		return site.Seen{}, err
	}
	if !own.Forced {
		if err := s.takeQueued(ctx, own, facts.Shards); err != nil {
			return site.Seen{}, err
		}
	}
	return site.Seen{Done: site.Take}, nil
}

// resumeTransfers makes the consumers of the journals, which begin where those of the other site were. Without them all entries ever written would be looked at again.
func (s *Service) resumeTransfers(ctx context.Context, own *site.Record, shards int) error {
	for shard := range shards {
		transfer := s.config.Names.Transfer(shard)
		floor := min(own.Floors[transfer.Stream], own.Cuts[transfer.Stream])
		if floor == 0 {
			continue
		}
		transfer.Config.DeliverPolicy, transfer.Config.OptStartSeq = jetstream.DeliverByStartSequencePolicy, floor+1
		_, err := s.config.JS.CreateConsumer(ctx, transfer.Stream, transfer.Config)
		if err != nil && !errors.Is(err, jetstream.ErrConsumerExists) {
			return fmt.Errorf("replication: make the consumer of stream %s: %w", transfer.Stream, err)
		}
	}
	return nil
}

// takeQueued copies the start requests and the completions that wait at a site that has handed over. Its streams are fenced, so they do not change. Nobody takes a copy
// before all are there: the workers are paused until the site is active. So a copy that was made by an earlier attempt is still there, and is not made again.
func (s *Service) takeQueued(ctx context.Context, own *site.Record, shards int) error {
	there, err := s.there(own)
	if err != nil {
		return err
	}
	if err := s.pauseCopies(ctx, there); err != nil {
		return err
	}
	for _, stream := range s.config.Names.QueuedStreams(shards) {
		copied, err := s.copied(ctx, stream)
		if err != nil {
			return err
		}
		err = there.eachQueued(ctx, s.farReader(own, there), stream, func(m *bus.Message) error {
			if copied[m.Subject] > 0 {
				copied[m.Subject]--
				return nil
			}
			_, err := s.config.JS.PublishMsg(ctx, copyOf(m), jetstream.WithExpectStream(stream))
			return err
		})
		if err != nil {
			return fmt.Errorf("replication: copy what waits in %s of the site %s: %w", stream, own.Peer, err)
		}
	}
	return nil
}

// pauseCopies pauses the workers of this site, also those of task queues that wait only at the other one.
func (s *Service) pauseCopies(ctx context.Context, there streams) error {
	until, stream := s.config.Now().Add(forGood), s.config.Names.ActionStream()
	if _, err := s.pauseWorkers(ctx, until); err != nil {
		return err
	}
	here, err := s.config.JS.Stream(ctx, stream)
	if err != nil {
		return err
	}
	far, err := there.js.Stream(ctx, stream)
	if err != nil {
		return err
	}
	return s.barNewQueues(ctx, here, far, until)
}

// copied counts the messages that each subject of a stream of this site has.
func (s *Service) copied(ctx context.Context, stream string) (map[string]uint64, error) {
	in, err := s.config.JS.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	info, err := in.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return nil, err
	}
	if info.State.Subjects == nil {
		return map[string]uint64{}, nil
	}
	return info.State.Subjects, nil
}

// copyOf returns a message that is stored like an original, without what that expected of its stream.
func copyOf(m *bus.Message) *nats.Msg {
	header := nats.Header{}
	for name, values := range m.Header {
		if !strings.HasPrefix(name, "Nats-Expected-") {
			header[name] = values
		}
	}
	return &nats.Msg{Subject: m.Subject, Header: header, Data: m.Data}
}

// farReader returns the reader of the other site. It lives as long as the connection.
func (s *Service) farReader(own *site.Record, there streams) *bus.Reader {
	if s.far == nil || s.farOf != own.Peer {
		s.far, s.farOf = bus.NewReader(there.js), own.Peer
	}
	return s.far
}

// eachQueued visits all messages of a fenced stream but its anchor and the mark of its end. Any replica may answer, many at a time. That there are no more, only the leader
// can say.
func (s streams) eachQueued(ctx context.Context, reader *bus.Reader, stream string, visit func(*bus.Message) error) error {
	after := uint64(0)
	for {
		page, _, err := reader.Since(ctx, stream, after, pageSize)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			next, err := bus.LeaderNext(ctx, s.js, stream, ">", after+1)
			if errors.Is(err, bus.ErrNone) {
				return nil
			}
			if err != nil {
				return err
			}
			page = []bus.Message{next}
		}
		for i := range page {
			after = page[i].Sequence
			if s.isMark(stream, page[i].Subject) {
				continue
			}
			if err := visit(&page[i]); err != nil {
				return err
			}
		}
	}
}

// isMark reports whether a message means nothing to any role: an anchor, or the mark of the end of a stream.
func (s streams) isMark(stream, subject string) bool {
	return subject == s.names.Fenced(stream) || s.names.IsAnchor(subject)
}

// repair makes again what the mirrors cannot have, before the pools begin; or, at a review, what is still inconsistent when they have run for a while. What is left then, the pools
// repair in their own time. It ends as soon as the site has another record: another process has finished it, and the pools may run.
func (s *Service) repair(ctx context.Context, own *site.Record, action site.Action) (site.Seen, error) {
	ctx, end := context.WithCancelCause(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer end(nil)
	following.Go(func() {
		_ = s.store.Follow(ctx, nil, s.config.Now, func(now *site.Record) {
			if !isStill(own, now) {
				end(site.ErrChanged)
			}
		})
	})
	checker, err := s.checker(ctx, action)
	if err != nil {
		return site.Seen{}, err
	}
	defer checker.Close()
	began := s.config.Now()
	done, err := repairAll(ctx, checker, action)
	if err != nil {
		return site.Seen{}, cmp.Or(context.Cause(ctx), err)
	}
	s.log.InfoContext(ctx, "repaired after a takeover", "action", action, "schedules", done.Schedules, "workflows", done.Workflows,
		"repaired", done.Repaired, "left", len(done.Left), "took", s.config.Now().Sub(began).Round(time.Millisecond))
	for i := range done.Left[:min(len(done.Left), loggedLeft)] {
		f := &done.Left[i]
		s.log.WarnContext(ctx, "not repaired after a takeover", "kind", f.Kind, "of", f.Key(), "about", f.About, "what", f.What, "problem", f.Problem)
	}
	return site.Seen{Done: action}, nil
}

// loggedLeft is how many of the findings that are left are logged.
const loggedLeft = 10

func repairAll(ctx context.Context, checker *consistency.Checker, action site.Action) (consistency.Rebuilt, error) {
	if action == site.Repair {
		return checker.Rebuild(ctx)
	}
	report, err := checker.Check(ctx, "", true)
	left := slices.DeleteFunc(report.Findings, func(f consistency.Finding) bool { return f.Repaired })
	return consistency.Rebuilt{
		Schedules: report.Schedules, Workflows: report.Workflows, Repaired: len(report.Findings) - len(left), Left: left,
	}, err
}

// mends reports whether a takeover mends a finding: if it may have caused it, and if nobody has to decide. A hand-off is lost with the site that was on it.
func mends(f *consistency.Finding) bool { return f.Automatic() || f.Kind == consistency.HandOffLost }

// checker returns the checker for a repair, which the caller must close.
func (s *Service) checker(ctx context.Context, action site.Action) (*consistency.Checker, error) {
	facts, err := s.here.facts(ctx)
	if err != nil {
		return nil, err
	}
	config := consistency.Config{
		JS: s.config.JS, Names: s.config.Names, Shards: facts.Shards, Pause: s.config.ConfirmAfter, Rebuilt: true, Mends: mends, Identity: subjects.RoleReplication,
		Logger: s.log, Now: s.config.Now,
	}
	if action == site.Review {
		config.Pause, config.Rebuilt = consistency.DefaultPause, false
	}
	return consistency.New(ctx, config)
}

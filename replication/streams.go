package replication

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// calm is how long the end of a stream must stay where it is, after the stream has stopped to be a mirror.
	calm = 300 * time.Millisecond
	// sureAfter is how many times in a row a stream must say that it has less than its mirror, until that is believed.
	sureAfter = 6
	// requestTimeout bounds a change of one stream.
	requestTimeout = 10 * time.Second
)

// streams are those of the installation at one site.
type streams struct {
	js    jetstream.JetStream
	names subjects.Names
}

func (s streams) facts(ctx context.Context) (topology.Facts, error) {
	return topology.Read(ctx, s.js, s.names)
}

// config returns the configuration of a stream, or nil if there is none.
func (s streams) config(ctx context.Context, name string) (*jetstream.StreamConfig, error) {
	stream, err := s.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("replication: look at stream %s: %w", name, err)
	}
	return &stream.CachedInfo().Config, nil
}

// update changes a stream.
func (s streams) update(ctx context.Context, config jetstream.StreamConfig) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if _, err := s.js.UpdateStream(ctx, config); err != nil {
		return fmt.Errorf("replication: change stream %s: %w", config.Name, err)
	}
	return nil
}

// fence takes the subjects from a stream, if it exists. A mirror has none, and becomes a stream by it.
func (s streams) fence(ctx context.Context, name string) error {
	config, err := s.config(ctx, name)
	if err != nil || config == nil || s.names.IsFenced(*config) {
		return err
	}
	config.Subjects, config.Mirror = []string{s.names.Fenced(name)}, nil
	return s.update(ctx, *config)
}

// fenceAll fences all streams of the installation that exist.
func (s streams) fenceAll(ctx context.Context, shards int) error {
	for _, name := range s.all(shards) {
		if err := s.fence(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// fenceOwn is fence, and leaves mirrors alone.
func (s streams) fenceOwn(ctx context.Context, name string) error {
	config, err := s.config(ctx, name)
	if err != nil || config == nil || config.Mirror != nil {
		return err
	}
	return s.fence(ctx, name)
}

// fenceMirror is fence, for a stream that must exist.
func (s streams) fenceMirror(ctx context.Context, name string) error {
	config, err := s.config(ctx, name)
	if err == nil && config == nil {
		err = fmt.Errorf("replication: there is no mirror of the stream %s", name)
	}
	if err != nil {
		return err
	}
	return s.fence(ctx, name)
}

// last returns the sequence of the last message of a stream, even if that is gone.
func (s streams) last(ctx context.Context, name string) (uint64, error) {
	return bus.LeaderSequence(ctx, s.js, name)
}

// end marks the end of a fenced stream, and returns the sequence of the mark. Without it, a mirror could not know that it has everything: the last messages of
// the stream may be gone. A stream that is too full for the mark ends with its last message.
func (s streams) end(ctx context.Context, name string) (uint64, error) {
	mark := s.names.Fenced(name)
	last, err := s.last(ctx, name)
	if err != nil {
		return 0, err
	}
	found, err := bus.LeaderLast(ctx, s.js, name, mark)
	switch {
	case err == nil && found.Sequence == last:
		return last, nil
	case err == nil: // of an earlier handover
		err = s.unmark(ctx, name)
	case errors.Is(err, bus.ErrNone):
		err = nil
	}
	if err != nil {
		return 0, err
	}
	stored, err := s.js.Publish(ctx, mark, nil, jetstream.WithExpectStream(name), jetstream.WithExpectLastSequencePerSubject(0))
	switch {
	case err == nil:
		return stored.Sequence, nil
	case bus.CodeOf(err) != 0:
		return s.last(ctx, name)
	}
	return 0, fmt.Errorf("replication: mark the end of stream %s: %w", name, err)
}

// settled returns the sequence of the last message of a stream that was a mirror a moment ago, as soon as nothing more arrives: what was on its way
// when the stream changed.
func (s streams) settled(ctx context.Context, name string) (uint64, error) {
	last, err := s.last(ctx, name)
	for err == nil {
		if err = sleep.For(ctx, calm); err != nil {
			break
		}
		var now uint64
		if now, err = s.last(ctx, name); err == nil && now == last {
			return now, nil
		}
		last = now
	}
	return 0, err
}

// hadNoMore reports whether mirrors that end at these sequences have everything that their streams had when those ended where before says. What NATS says of a mirror's lag does not
// tell: it is 0 as well before the first message comes. The last messages of a stream may be gone, so where a mirror ends earlier, its stream is asked whether it has any beyond.
func (s streams) hadNoMore(ctx context.Context, before, ends map[string]uint64) (bool, error) {
	for name, last := range before {
		if ends[name] >= last {
			continue
		}
		if _, err := bus.LeaderNext(ctx, s.js, name, ">", ends[name]+1); !errors.Is(err, bus.ErrNone) {
			return false, err
		}
	}
	return true, nil
}

// isBehind returns the streams that have less than mirrors that end at these sequences, in their order.
func (s streams) isBehind(ctx context.Context, before, ends map[string]uint64) (behind []string, err error) {
	for name, end := range ends {
		if before[name] >= end {
			continue
		}
		less, err := s.endsBefore(ctx, name, end, sureAfter)
		if err != nil {
			return nil, err
		}
		if less {
			behind = append(behind, name)
		}
	}
	slices.Sort(behind)
	return behind, nil
}

// endsBefore reports whether a stream says, so many times in a row, that it ends before a sequence. A leader that has just been elected may say so for a moment.
func (s streams) endsBefore(ctx context.Context, name string, end uint64, times int) (bool, error) {
	for i := range times {
		if i > 0 {
			if err := sleep.For(ctx, calm); err != nil {
				return false, err
			}
		}
		if last, err := s.last(ctx, name); err != nil || last >= end {
			return false, err
		}
	}
	return true, nil
}

// floors returns up to where the entries of each journal have been carried out; nil if that cannot be asked. An older floor is as good: entries may be carried out
// again. A newer one is not, where the mirror of another journal lacks what was carried out.
func (s streams) floors(ctx context.Context, shards int) map[string]uint64 {
	floors := map[string]uint64{}
	for shard := range shards {
		transfer := s.names.Transfer(shard)
		consumer, err := s.js.Consumer(ctx, transfer.Stream, transfer.Config.Durable)
		if err != nil {
			return nil
		}
		floors[transfer.Stream] = consumer.CachedInfo().AckFloor.Stream
	}
	return floors
}

// open gives a stream that takes nothing its subjects back, if that is still allowed, and removes the mark of its end.
func (s streams) open(ctx context.Context, name string, shards int, allowed func(context.Context) error) error {
	config, err := s.config(ctx, name)
	if err != nil || config == nil || !s.names.IsFenced(*config) {
		return err
	}
	if err := allowed(ctx); err != nil {
		return err
	}
	config.Subjects = s.names.SubjectsOf(name, shards)
	if err := s.update(ctx, *config); err != nil {
		return err
	}
	return s.unmark(ctx, name)
}

// unmark removes the mark of the end of a stream.
func (s streams) unmark(ctx context.Context, name string) error {
	stream, err := s.js.Stream(ctx, name)
	if err != nil {
		return err
	}
	return stream.Purge(ctx, jetstream.WithPurgeSubject(s.names.Fenced(name)))
}

// endsOf returns the end of each stream, as a function says.
func endsOf(ctx context.Context, names []string, endOf func(ctx context.Context, name string) (uint64, error)) (map[string]uint64, error) {
	ends := map[string]uint64{}
	for _, name := range names {
		end, err := endOf(ctx, name)
		if err != nil {
			return nil, err
		}
		ends[name] = end
	}
	return ends, nil
}

// mirrorOf returns the configuration of the mirror of a stream of another site.
func mirrorOf(config jetstream.StreamConfig, domain string) jetstream.StreamConfig {
	config.Subjects, config.SubjectDeleteMarkerTTL, config.Placement, config.Sources = nil, 0, nil, nil
	config.Mirror = &jetstream.StreamSource{
		Name: config.Name, External: &jetstream.ExternalStream{APIPrefix: "$JS." + domain + ".API"},
	}
	return config
}

// all are the streams of the installation: first those that exist only where it is active, then those that are mirrored.
func (s streams) all(shards int) []string {
	mirrored := s.names.MirroredStreams(shards)
	var derived []string
	for _, config := range s.names.StreamConfigs(shards, 1) {
		if !slices.Contains(mirrored, config.Name) {
			derived = append(derived, config.Name)
		}
	}
	return append(derived, mirrored...)
}

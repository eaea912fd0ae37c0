package diagnosis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/subjects"
)

// gatherConcurrency limits the requests in progress at once, because an installation may have hundreds of streams.
const gatherConcurrency = 8

// lookup is what to find out about one stream.
type lookup struct {
	stream    Stream
	fits      func(jetstream.StreamConfig) bool
	consumers []jetstream.ConsumerConfig
	// shard is the shard of a task stream, -1 for other streams.
	shard int
	// problems are the problems that the lookup found. They go to the facts in the order of the streams.
	problems []string
	// skew and roundTrip are about the clock of its leader. They are unknown if roundTrip is zero.
	skew, roundTrip time.Duration
}

// streams looks at all buckets and streams in parallel.
func (g *gatherer) streams(ctx context.Context) {
	lookups := g.lookups()
	var group errgroup.Group
	group.SetLimit(gatherConcurrency)
	for _, l := range lookups {
		group.Go(func() error {
			g.look(ctx, l)
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	for _, l := range lookups {
		g.facts.Streams = append(g.facts.Streams, l.stream)
		g.facts.Problems = append(g.facts.Problems, l.problems...)
		if l.roundTrip > 0 && l.skew.Abs() > g.facts.NATS.Skew.Abs()+l.roundTrip {
			g.facts.NATS.Skew, g.facts.NATS.RoundTrip = l.skew, l.roundTrip
		}
	}
}

// lookups returns a lookup for everything that an installation has.
func (g *gatherer) lookups() []*lookup {
	shards, replicas := g.facts.Cluster.Shards, g.facts.Cluster.Replicas
	consumers, shardOf := g.Names.ConsumersByStream(shards), map[string]int{}
	for shard := range shards {
		shardOf[g.Names.TaskStream(shard)] = shard
	}
	var all []*lookup
	for _, bucket := range g.Names.Buckets(shards) {
		want := g.Names.BucketConfig(bucket, replicas)
		all = append(all, &lookup{
			stream: Stream{Name: subjects.BucketStream(bucket), Bucket: bucket}, shard: -1,
			fits: func(have jetstream.StreamConfig) bool { return topology.BucketFits(have, want) },
		})
	}
	for _, want := range g.Names.StreamConfigs(shards, replicas) {
		shard, is := shardOf[want.Name]
		if !is {
			shard = -1
		}
		all = append(all, &lookup{
			stream: Stream{Name: want.Name, Rolls: want.MaxBytes > 0 && want.Discard == jetstream.DiscardOld}, consumers: consumers[want.Name], shard: shard,
			fits: func(have jetstream.StreamConfig) bool { return topology.StreamFits(have, want) },
		})
	}
	if g.facts.isStandby() {
		return onlyMirrors(all, g.Names.MirroredStreams(shards))
	}
	return all
}

// onlyMirrors returns the lookups of what a standby has. Its configuration is that of the other site, less what a mirror cannot have.
func onlyMirrors(all []*lookup, mirrored []string) (kept []*lookup) {
	for _, l := range all {
		if slices.Contains(mirrored, l.stream.Name) {
			l.fits, l.consumers = func(have jetstream.StreamConfig) bool { return have.Mirror != nil }, nil
			kept = append(kept, l)
		}
	}
	return kept
}

func (g *gatherer) look(ctx context.Context, l *lookup) {
	began := g.Now()
	stream, err := g.JS.Stream(ctx, l.stream.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		l.stream.Missing = true
		return
	}
	if err != nil {
		l.problems = append(l.problems, fmt.Sprintf("%s: %v", l.stream.title(), err))
		l.stream.Leader = "unknown"
		return
	}
	info := stream.CachedInfo()
	l.roundTrip = g.Now().Sub(began)
	l.skew = info.TimeStamp.Sub(began.Add(l.roundTrip / 2))
	l.describe(info, g.facts.NATS.Server)
	if g.facts.isStandby() {
		l.mirror(info)
		return
	}
	l.stream.Refused = g.refused(ctx, l)
	if l.shard >= 0 {
		l.stream.Pulse = pulse(ctx, stream, g.Names, l.shard)
	}
	for _, want := range l.consumers {
		l.stream.Consumers = append(l.stream.Consumers, g.consumer(ctx, l, stream, want))
	}
}

// mirror adds how far a mirror is.
func (l *lookup) mirror(info *jetstream.StreamInfo) {
	if info.Mirror != nil {
		l.stream.Mirror = &Mirror{Lacks: info.Mirror.Lag, Silent: info.Mirror.Active}
	}
}

// describe adds what the server says about a stream. A single server leads all its streams.
func (l *lookup) describe(info *jetstream.StreamInfo, server string) {
	s := &l.stream
	s.Unfit = !l.fits(info.Config)
	s.Messages, s.Bytes, s.MaxBytes = info.State.Msgs, info.State.Bytes, info.Config.MaxBytes
	s.MaxAge, s.Replicas, s.Leader = info.Config.MaxAge, info.Config.Replicas, server
	if info.State.Msgs > 0 {
		s.First = info.State.FirstTime
	}
	if info.Cluster == nil || info.Cluster.Name == "" {
		return
	}
	s.Leader = info.Cluster.Leader
	for _, peer := range info.Cluster.Replicas {
		s.Peers = append(s.Peers, Peer{Name: peer.Name, Current: peer.Current, Offline: peer.Offline, Lag: peer.Lag})
	}
}

func (g *gatherer) consumer(
	ctx context.Context, l *lookup, stream jetstream.Stream, want jetstream.ConsumerConfig,
) Consumer {
	found := Consumer{Name: want.Durable}
	consumer, err := stream.Consumer(ctx, want.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		found.Missing = true
		return found
	}
	if err != nil {
		l.problems = append(l.problems, fmt.Sprintf("consumer %s of %s: %v", want.Durable, l.stream.title(), err))
		found.Waiting = 1 // nothing is known, and the problem says so
		return found
	}
	info := consumer.CachedInfo()
	found.Unfit = !topology.ConsumerFits(info.Config, want)
	found.Waiting, found.Pending, found.Held = info.NumWaiting, info.NumPending, info.NumAckPending
	found.movement = movementOf(info)
	if found.Pending > 0 {
		found.Oldest = oldest(ctx, stream, info.Delivered.Stream+1, want.FilterSubjects)
	}
	return found
}

// oldest returns when the first message of some subjects, from a sequence on, was stored; zero if there is none any more.
func oldest(ctx context.Context, stream jetstream.Stream, from uint64, filters []string) time.Time {
	var first time.Time
	for _, filter := range filters {
		message, err := stream.GetMsg(ctx, from, jetstream.WithGetMsgSubject(filter))
		if err == nil && (first.IsZero() || message.Time.Before(first)) {
			first = message.Time
		}
	}
	return first
}

package natsstats

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/subjects"
)

// survey asks about all streams: in one request about those without permanent consumers, and in two requests about each other
// one.
func (s *site) survey(ctx context.Context) ([]stream, error) {
	var all []stream
	ours := streamsOf(s.Names, s.Shards)
	lister := s.JS.ListStreams(ctx)
	for info := range lister.Info() {
		if consumed, is := ours[info.Config.Name]; is && !consumed {
			all = append(all, streamOf(info))
			delete(ours, info.Config.Name)
		}
	}
	if err := lister.Err(); err != nil {
		return nil, fmt.Errorf("natsstats: list streams: %w", err)
	}
	for name, consumed := range ours {
		if !consumed {
			return nil, fmt.Errorf("natsstats: there is no stream %s", name)
		}
		one, err := s.look(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// look asks about a stream and its consumers.
func (s *site) look(ctx context.Context, name string) (stream, error) {
	in, err := s.JS.Stream(ctx, name)
	if err != nil {
		return stream{}, fmt.Errorf("natsstats: stream %s: %w", name, err)
	}
	info, err := in.Info(ctx, jetstream.WithSubjectFilter(s.Names.Anchors()))
	if err != nil {
		return stream{}, fmt.Errorf("natsstats: stream %s: %w", name, err)
	}
	one := streamOf(info)
	one.anchors = len(info.State.Subjects)
	lister := in.ListConsumers(ctx)
	for info := range lister.Info() {
		if info.Config.Durable != "" { // others come and go, with their own names
			one.consumers = append(one.consumers, info)
		}
	}
	if err := lister.Err(); err != nil {
		return stream{}, fmt.Errorf("natsstats: list consumers of %s: %w", name, err)
	}
	one.consumers = fold(one.consumers)
	return one, nil
}

// fold returns the first consumers by name, and the others as one, [metrics.OtherQueues]. The consumers of the action stream are
// named after task queues, which clients choose.
func fold(all []*jetstream.ConsumerInfo) []*jetstream.ConsumerInfo {
	slices.SortFunc(all, func(a, b *jetstream.ConsumerInfo) int { return cmp.Compare(a.Name, b.Name) })
	if len(all) <= metrics.QueuesOfNamespace {
		return all
	}
	others := &jetstream.ConsumerInfo{Name: metrics.OtherQueues}
	for _, c := range all[metrics.QueuesOfNamespace:] {
		others.NumPending += c.NumPending
		others.NumAckPending += c.NumAckPending
		others.NumRedelivered += c.NumRedelivered
	}
	return append(all[:metrics.QueuesOfNamespace:metrics.QueuesOfNamespace], others)
}

// streamsOf returns the streams of an installation, and for each whether it has permanent consumers.
func streamsOf(names subjects.Names, shards int) map[string]bool {
	all := map[string]bool{}
	for _, config := range names.StreamConfigs(shards, 1) {
		all[config.Name] = config.Retention == jetstream.WorkQueuePolicy
	}
	for _, bucket := range names.Buckets(shards) {
		all[subjects.BucketStream(bucket)] = false
	}
	return all
}

func streamOf(info *jetstream.StreamInfo) stream {
	s := stream{
		name: info.Config.Name, state: info.State, wanted: info.Config.Replicas, current: 1, delayed: info.Config.AllowMsgSchedules,
	}
	if info.Cluster == nil {
		return s // a single server
	}
	if info.Cluster.Leader == "" {
		s.current = 0
	}
	for _, replica := range info.Cluster.Replicas {
		if replica.Current && !replica.Offline {
			s.current++
		}
	}
	return s
}

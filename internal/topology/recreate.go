package topology

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// WhenMissing says what to do about a stream that was deleted. stream is its name; for a bucket, the name of the stream behind
// it.
func WhenMissing(names subjects.Names, stream string) string {
	bucket, isBucket := strings.CutPrefix(stream, subjects.BucketStream(""))
	switch {
	case isBucket && bucket == names.ClusterBucket():
		return "with it all namespaces and what all processes agree on; restore a backup"
	case isBucket:
		return fmt.Sprintf("with it the schedules of a shard; restore a backup, or begin anew without them: carillon cluster recreate %s, "+
			"with --data where NATS is embedded and has ended", bucket)
	}
	return fmt.Sprintf("make it anew, empty: carillon cluster recreate %s, and then carillon cluster check --repair", stream)
}

// Recreate makes missing streams and buckets again, empty, with their consumers. wanted has names of streams or buckets. Those
// that exist are left as they are. A name that does not belong to the installation is refused, with CodeInvalidArgument, before
// anything is made.
func Recreate(ctx context.Context, js jetstream.JetStream, names subjects.Names, facts Facts, wanted []string) error {
	buckets, streams := names.Buckets(facts.Shards)[1:], names.StreamConfigs(facts.Shards, facts.Replicas)
	var known []string
	known = append(known, buckets...)
	for _, stream := range streams {
		known = append(known, stream.Name)
	}
	for _, name := range wanted {
		if !slices.Contains(known, name) {
			return schedule.Invalid("name", "%q is not a stream or bucket that can be made anew: use %s", name, strings.Join(known, ", "))
		}
	}
	b := builder{js: js, replicas: facts.Replicas, pulses: taskPulses(names, facts.Shards)}
	consumers := names.ConsumersByStream(facts.Shards)
	var errs []error
	for _, name := range wanted {
		if slices.Contains(buckets, name) {
			errs = append(errs, b.bucket(ctx, names.BucketConfig(name, facts.Replicas)))
			continue
		}
		i := slices.IndexFunc(streams, func(s jetstream.StreamConfig) bool { return s.Name == name })
		errs = append(errs, b.stream(ctx, streams[i], consumers[name]))
	}
	return errors.Join(errs...)
}

// goneError refuses to make a bucket again, because its records are lost.
func goneError(names subjects.Names, bucket string) error {
	return schedule.Errorf(schedule.CodeFailedPrecondition, "the bucket %s is gone, %s", bucket,
		WhenMissing(names, subjects.BucketStream(bucket)))
}

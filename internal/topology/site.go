package topology

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Read returns the facts of an installation that exists, as the leader has them, also where its streams are mirrors of another site's. It
// changes nothing. The error has CodeNotFound if there is no installation.
func Read(ctx context.Context, js jetstream.JetStream, names subjects.Names) (Facts, error) {
	bucket := names.ClusterBucket()
	found, err := bus.LeaderLast(ctx, js, subjects.BucketStream(bucket), subjects.BucketSubject(bucket, factsKey))
	if errors.Is(err, bus.ErrNone) || bus.CodeOf(err) == jetstream.JSErrCodeStreamNotFound {
		return Facts{}, schedule.Errorf(schedule.CodeNotFound, "there is no installation with the prefix %q", names.Prefix())
	}
	if err != nil {
		return Facts{}, err
	}
	return parseFacts(bucket, found.Data)
}

func parseFacts(bucket string, text []byte) (Facts, error) {
	var facts Facts
	if err := json.Unmarshal(text, &facts); err != nil || facts.Shards < 1 || facts.Replicas < 1 {
		return Facts{}, schedule.Errorf(schedule.CodeInternal,
			"the key %q of the bucket %s does not hold the facts of a cluster: %.200s", factsKey, bucket, text)
	}
	return facts, nil
}

// ErrElsewhere is the error of [Ensure] for an installation that is active at another site.
var ErrElsewhere = schedule.Errorf(schedule.CodeFailedPrecondition,
	"the installation is active at another site: carillon site status says where")

// checkSite refuses an installation whose streams are mirrors, or take nothing because the site hands over.
func checkSite(ctx context.Context, js jetstream.JetStream, names subjects.Names) error {
	return retry(ctx, "the cluster bucket", func(ctx context.Context) error {
		stream, err := js.Stream(ctx, subjects.BucketStream(names.ClusterBucket()))
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if isElsewhere(names, stream.CachedInfo().Config) {
			return ErrElsewhere
		}
		return nil
	})
}

// isElsewhere reports whether a stream is a mirror, or takes nothing because its site hands over.
func isElsewhere(names subjects.Names, config jetstream.StreamConfig) bool {
	return config.Mirror != nil || names.IsFenced(config)
}

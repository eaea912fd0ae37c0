package topology

import (
	"reflect"

	"github.com/nats-io/nats.go/jetstream"
)

// StreamFits reports whether all that Carillon's promises rest on is in a stream as it must be. What [Ensure] leaves to
// operators, and the replicas, do not count.
func StreamFits(have, want jetstream.StreamConfig) bool {
	return reflect.DeepEqual(have, fitStream(have, want))
}

// BucketFits reports the same of the stream of a bucket.
func BucketFits(have jetstream.StreamConfig, want jetstream.KeyValueConfig) bool {
	return have.SubjectDeleteMarkerTTL == want.LimitMarkerTTL && (have.AllowMsgTTL || want.LimitMarkerTTL == 0)
}

// ConsumerFits reports whether a consumer is as the pool that shares it relies on.
func ConsumerFits(have, want jetstream.ConsumerConfig) bool { return fits(have, want) }

// FactsKey is the key of the [Facts] in the cluster bucket.
const FactsKey = factsKey

package topology

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/subjects"
)

// buildConcurrency bounds the concurrent requests. A new cluster needs some dozens of them.
const buildConcurrency = 8

// build creates what is missing, except buckets that existed once, and adapts what does not fit. If this process asked for a
// number of replicas, everything gets exactly that number; otherwise nothing that has more loses any.
func build(ctx context.Context, js jetstream.JetStream, names subjects.Names, facts Facts, exact bool) error {
	b := builder{js: js, names: names, replicas: facts.Replicas, exact: exact, pulses: taskPulses(names, facts.Shards)}
	if facts.Complete {
		b.gone = func(bucket string) error { return goneError(names, bucket) }
	}
	var first, bounded []func(context.Context) error
	for _, bucket := range names.Buckets(facts.Shards) {
		first = append(first, func(ctx context.Context) error { return b.bucket(ctx, names.BucketConfig(bucket, facts.Replicas)) })
	}
	consumers := names.ConsumersByStream(facts.Shards)
	for _, stream := range names.StreamConfigs(facts.Shards, facts.Replicas) {
		step := func(ctx context.Context) error { return b.stream(ctx, stream, consumers[stream.Name]) }
		if stream.MaxBytes > 0 {
			bounded = append(bounded, step)
		} else {
			first = append(first, step)
		}
	}
	// The streams that reserve bytes come last: they may use up everything, and then a server makes no stream at all.
	if err := sideBySide(ctx, first); err != nil {
		return err
	}
	return sideBySide(ctx, bounded)
}

func sideBySide(ctx context.Context, steps []func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(buildConcurrency)
	for _, step := range steps {
		group.Go(func() error { return step(ctx) })
	}
	return group.Wait()
}

type builder struct {
	js       jetstream.JetStream
	names    subjects.Names
	replicas int
	exact    bool
	// gone returns the error for a missing bucket; nil means to make the bucket.
	gone func(bucket string) error
	// pulses has the pulses by the name of their stream.
	pulses map[string]*nats.Msg
}

func (b builder) bucket(ctx context.Context, want jetstream.KeyValueConfig) error {
	return retry(ctx, "bucket "+want.Bucket, func(ctx context.Context) error {
		bucket, err := b.js.KeyValue(ctx, want.Bucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			if b.gone != nil {
				return b.gone(want.Bucket)
			}
			_, err := b.js.CreateKeyValue(ctx, want)
			return existsMeansAgain(err, jetstream.ErrBucketExists)
		}
		if err != nil {
			return err
		}
		info, err := streamInfo(ctx, bucket)
		if err != nil {
			return err
		}
		if isElsewhere(b.names, info.Config) {
			return ErrElsewhere
		}
		return b.update(ctx, info.Config, fitBucket(info.Config, want))
	})
}

// fitBucket returns the configuration that the stream of a bucket is to have, from the one it has.
func fitBucket(have jetstream.StreamConfig, want jetstream.KeyValueConfig) jetstream.StreamConfig {
	have.AllowMsgTTL = have.AllowMsgTTL || want.LimitMarkerTTL > 0
	have.SubjectDeleteMarkerTTL = want.LimitMarkerTTL
	return have
}

func (b builder) stream(ctx context.Context, want jetstream.StreamConfig, consumers []jetstream.ConsumerConfig) error {
	err := retry(ctx, "stream "+want.Name, func(ctx context.Context) error {
		stream, err := b.js.Stream(ctx, want.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return b.create(ctx, want)
		}
		if err != nil {
			return err
		}
		have := stream.CachedInfo().Config
		if isElsewhere(b.names, have) {
			return ErrElsewhere
		}
		return b.update(ctx, have, fitStream(have, want))
	})
	if err != nil {
		return err
	}
	for _, consumer := range consumers {
		if err := b.consumer(ctx, want.Name, consumer); err != nil {
			return err
		}
	}
	b.arm(ctx, want.Name, b.pulses[want.Name])
	return nil
}

const (
	// smallServer is the divisor of a stream's bound on a server that has no room for all of it, so that other streams get their
	// share.
	smallServer = 64
	// leastBytes is the smallest bound that is tried for a stream.
	leastBytes = 1 << 20
	// leastMessages is the smallest bound for a stream that is bounded by the number of messages.
	leastMessages = 1024
)

// create makes a stream. A server reserves the bytes of a bounded stream, and refuses the stream if it has no room for them. Then
// create tries a far smaller bound, then half of that, and so on. If nothing can be reserved at all, it bounds the number of
// messages instead, which reserves nothing. Later starts keep that bound, as if an operator had chosen it.
func (b builder) create(ctx context.Context, want jetstream.StreamConfig) error {
	bound, part := want.MaxBytes, int64(smallServer)
	for {
		_, err := b.js.CreateStream(ctx, want)
		switch {
		case !noRoom(err) || want.MaxBytes <= 0:
			return existsMeansAgain(err, jetstream.ErrStreamNameAlreadyInUse)
		case want.MaxBytes > leastBytes:
			want.MaxBytes, part = max(want.MaxBytes/part, leastBytes), 2
		default:
			want.MaxBytes, want.MaxMsgs = -1, max(bound/int64(max(want.MaxMsgSize, 1)), leastMessages)
		}
	}
}

// fitStream returns the existing configuration of a stream, changed where Carillon's promises depend on it. Ages, sizes,
// placement and the like stay as they are.
func fitStream(have, want jetstream.StreamConfig) jetstream.StreamConfig {
	have.Subjects = want.Subjects
	have.Retention = want.Retention
	have.Discard = want.Discard
	have.MaxMsgsPerSubject = want.MaxMsgsPerSubject
	if want.MaxMsgsPerSubject == 0 {
		have.MaxMsgsPerSubject = -1 // the server's way to say that there is no limit
	}
	have.Duplicates = want.Duplicates
	have.AllowMsgSchedules = want.AllowMsgSchedules
	have.AllowMsgTTL = have.AllowMsgTTL || want.AllowMsgTTL // the server does not allow to switch it off
	have.AllowRollup = want.AllowRollup
	have.AllowDirect = want.AllowDirect
	return have
}

// update changes a stream, unless the only difference is that it has more replicas than needed.
func (b builder) update(ctx context.Context, have, fit jetstream.StreamConfig) error {
	if b.exact || fit.Replicas < b.replicas {
		fit.Replicas = b.replicas
	}
	if reflect.DeepEqual(have, fit) {
		return nil
	}
	_, err := b.js.UpdateStream(ctx, fit)
	return err
}

// consumer creates the consumer of a pool, or adapts what the pool relies on. It does not touch a consumer that fits: an update
// would disturb the processes that are pulling from it.
func (b builder) consumer(ctx context.Context, stream string, want jetstream.ConsumerConfig) error {
	return retry(ctx, "consumer "+want.Durable+" of stream "+stream, func(ctx context.Context) error {
		consumer, err := b.js.Consumer(ctx, stream, want.Durable)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			_, err := b.js.CreateConsumer(ctx, stream, want)
			return existsMeansAgain(err, jetstream.ErrConsumerExists)
		}
		if err != nil {
			return err
		}
		have := consumer.CachedInfo().Config
		if fits(have, want) {
			return nil
		}
		have.FilterSubject, have.FilterSubjects = want.FilterSubject, want.FilterSubjects
		have.AckPolicy, have.AckWait, have.MaxDeliver = want.AckPolicy, want.AckWait, want.MaxDeliver
		_, err = b.js.UpdateConsumer(ctx, stream, have)
		return err
	})
}

func fits(have, want jetstream.ConsumerConfig) bool {
	return slices.Equal(filters(have), filters(want)) && have.AckPolicy == want.AckPolicy &&
		have.AckWait == want.AckWait && have.MaxDeliver == want.MaxDeliver
}

// filters returns the filters of a consumer. The server returns them in either of two fields.
func filters(c jetstream.ConsumerConfig) []string {
	if c.FilterSubject != "" {
		return []string{c.FilterSubject}
	}
	return c.FilterSubjects
}

// existsMeansAgain turns a failed creation into a second look if another process was faster.
func existsMeansAgain(err, exists error) error {
	if errors.Is(err, exists) {
		return errAgain
	}
	return err
}

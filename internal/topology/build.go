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

// buildConcurrency bounds the requests under way at once, of which a new cluster needs some dozens.
const buildConcurrency = 8

// build creates what is missing, other than buckets that once were there, and adapts what does not fit. The replicas follow the facts exactly if this process
// asked for them; otherwise nothing that has more loses any.
func build(ctx context.Context, js jetstream.JetStream, names subjects.Names, facts Facts, exact bool) error {
	b := builder{js: js, replicas: facts.Replicas, exact: exact, pulses: taskPulses(names, facts.Shards)}
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
	// Where bytes are set apart nothing may be left, and without any left a server makes no stream at all.
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
	replicas int
	exact    bool
	// gone is the error of a bucket that is missing; nil makes it.
	gone func(bucket string) error
	// pulses are those of the streams that have one, by the name of the stream.
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
		fit := info.Config
		fit.AllowMsgTTL = fit.AllowMsgTTL || want.LimitMarkerTTL > 0
		fit.SubjectDeleteMarkerTTL = want.LimitMarkerTTL
		return b.update(ctx, info.Config, fit)
	})
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
	// smallServer divides the bound of a stream where a server has no room for all of it: others are to have theirs.
	smallServer = 64
	// leastBytes is the smallest bound of a stream that is tried.
	leastBytes = 1 << 20
	// leastMessages is how many messages a stream may have at least that is bounded by their number.
	leastMessages = 1024
)

// create makes a stream. A server sets the bytes of a bounded stream apart, and refuses one for which it has no room: such a stream gets
// far fewer, or else half of that, and so on. Where nothing is left to be set apart, the number of messages is bounded instead, which takes
// no room. It is kept at that then, as if an operator had chosen it.
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

// fitStream returns the configuration a stream has, with all that Carillon's promises rest on as it must be. Ages,
// sizes, placement and the like stay as they are.
func fitStream(have, want jetstream.StreamConfig) jetstream.StreamConfig {
	have.Subjects = want.Subjects
	have.Retention = want.Retention
	have.Discard = want.Discard
	have.MaxMsgsPerSubject = want.MaxMsgsPerSubject
	if want.MaxMsgsPerSubject == 0 {
		have.MaxMsgsPerSubject = -1 // so the server says that there is no limit
	}
	have.Duplicates = want.Duplicates
	have.AllowMsgSchedules = want.AllowMsgSchedules
	have.AllowMsgTTL = have.AllowMsgTTL || want.AllowMsgTTL // the server does not take it back
	have.AllowRollup = want.AllowRollup
	have.AllowDirect = want.AllowDirect
	return have
}

// update changes a stream if there is anything to change but the replicas of one that has enough.
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

// consumer creates the consumer of a pool, or adapts what the pool relies on. One that fits is not touched: an update
// would disturb those who are pulling from it.
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

// filters returns the filters of a consumer, which the server gives back in either of two fields.
func filters(c jetstream.ConsumerConfig) []string {
	if c.FilterSubject != "" {
		return []string{c.FilterSubject}
	}
	return c.FilterSubjects
}

// existsMeansAgain turns the failure of a creation that another process was faster with into a second look.
func existsMeansAgain(err, exists error) error {
	if errors.Is(err, exists) {
		return errAgain
	}
	return err
}

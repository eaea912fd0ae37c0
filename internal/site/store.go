package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// ErrChanged means that another process has changed the record of a site since it was read.
var ErrChanged = errors.New("site: the record has been changed by another process")

// Store reads and writes the record of a site. It is safe for concurrent use.
type Store struct {
	js    jetstream.JetStream
	names subjects.Names
}

// NewStore returns the store of the site to which js leads.
func NewStore(js jetstream.JetStream, names subjects.Names) Store { return Store{js, names} }

// Load returns the record as the leader of its bucket has it, and its revision. The record is nil if the installation has only one site.
func (s Store) Load(ctx context.Context) (*Record, uint64, error) {
	return load(ctx, s.js, s.names)
}

// Peer returns the record of another site by its JetStream domain. It is nil if that has none.
func (s Store) Peer(ctx context.Context, domain string) (*Record, error) {
	there, err := At(s.js.Conn(), domain)
	if err != nil {
		return nil, err
	}
	record, _, err := load(ctx, there, s.names)
	return record, err
}

// At returns the JetStream of a domain, by the connection to another one.
func At(conn *nats.Conn, domain string) (jetstream.JetStream, error) {
	return jetstream.NewWithDomain(conn, domain)
}

func load(ctx context.Context, js jetstream.JetStream, names subjects.Names) (*Record, uint64, error) {
	bucket := names.SiteBucket()
	found, err := bus.LeaderLast(ctx, js, subjects.BucketStream(bucket), subjects.BucketSubject(bucket, subjects.KeySite))
	switch {
	case errors.Is(err, bus.ErrNone), bus.CodeOf(err) == jetstream.JSErrCodeStreamNotFound:
		return nil, 0, nil
	case err != nil:
		return nil, 0, fmt.Errorf("site: read the record: %w", err)
	case len(found.Data) == 0: // a deleted key leaves a mark
		return nil, found.Sequence, nil
	}
	var record Record
	if err := json.Unmarshal(found.Data, &record); err != nil || record.Site == "" || record.Peer == "" {
		return nil, 0, schedule.Errorf(schedule.CodeInternal, "the key %q of the bucket %s does not hold the record of a site: %.200s", subjects.KeySite, bucket, found.Data)
	}
	return &record, found.Sequence, nil
}

// Save writes a record if its revision is still the given one; revision 0 means that there must be none. The bucket is made if it is missing.
// The error is [ErrChanged] or one of NATS; after the latter, the write may or may not have happened.
func (s Store) Save(ctx context.Context, record *Record, revision uint64, replicas int) error {
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	bucket, err := s.js.KeyValue(ctx, s.names.SiteBucket())
	if errors.Is(err, jetstream.ErrBucketNotFound) && revision == 0 {
		bucket, err = s.js.CreateKeyValue(ctx, s.names.BucketConfig(s.names.SiteBucket(), replicas))
	}
	if err != nil {
		return fmt.Errorf("site: open the bucket of the record: %w", err)
	}
	if revision == 0 {
		_, err = bucket.Create(ctx, subjects.KeySite, data)
	} else {
		_, err = bucket.Update(ctx, subjects.KeySite, data, revision)
	}
	if errors.Is(err, jetstream.ErrKeyExists) || bus.IsWrongSequence(err) {
		return ErrChanged
	}
	return err
}

// Remove removes the bucket with the record: the installation has one site from then on.
func (s Store) Remove(ctx context.Context) error {
	return s.js.DeleteKeyValue(ctx, s.names.SiteBucket())
}

// lookEvery is how often a process looks at the record of its site. It costs one request.
const lookEvery = time.Second

// Await returns the record of this site as [Store.Load] does, as soon as it can be read. failed, which may be nil, is called with each failure before
// that. The error is that of ctx when it ends, or has CodeInternal if the record is damaged.
func (s Store) Await(ctx context.Context, failed func(error)) (*Record, uint64, error) {
	for {
		record, revision, err := s.Load(ctx)
		if err == nil || errors.As(err, new(*schedule.Error)) {
			return record, revision, err
		}
		if failed != nil && ctx.Err() == nil {
			failed(err)
		}
		if sleep.For(ctx, lookEvery) != nil {
			return nil, 0, ctx.Err()
		}
	}
}

// askEvery is how often a site that does not answer is asked again.
const askEvery = 250 * time.Millisecond

// Ask returns the record of another site as [Store.Peer] does, as soon as that answers. It ends with ctx; the error is then the last failure.
func (s Store) Ask(ctx context.Context, domain string) (*Record, error) {
	for last := error(nil); ; {
		record, err := s.Peer(ctx, domain)
		if err == nil {
			return record, nil
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		if sleep.For(ctx, askEvery) != nil {
			return nil, last
		}
	}
}

// ErrAway means that the record of a site was not read for so long that the other site may have taken over meanwhile.
var ErrAway = errors.New("site: the record was not read for too long")

// AwayAfter is that time. NATS needs some ten seconds to elect a leader when a server is lost; a takeover takes a person.
const AwayAfter = 15 * time.Second

// Follow reads the record again and again until ctx ends, and passes on each that differs from the one before, nil included. The first that
// it can read is always passed on. What cannot be read is tried again: the streams protect themselves meanwhile. It returns nil when ctx ends, and
// [ErrAway] if the record was not read for [AwayAfter], at a site that works and has another one: because NATS did not answer, or because the process or
// its machine was suspended. now is the record that was read before, and clock tells the time.
func (s Store) Follow(ctx context.Context, now *Record, clock func() time.Time, see func(*Record)) error {
	var last uint64
	heard := wall(clock)
	for first := true; ctx.Err() == nil; _ = sleep.For(ctx, lookEvery) {
		record, revision, err := s.awaitAtMost(ctx, AwayAfter)
		if ctx.Err() != nil {
			break
		}
		if (err != nil || wall(clock).Sub(heard) > AwayAfter) && now != nil && now.Works() {
			return ErrAway
		}
		heard = wall(clock)
		if err == nil && (first || revision != last) {
			first, last, now = false, revision, record
			see(record)
		}
	}
	return nil
}

// wall is the time of day alone: the monotonic clock of a process stands still while its machine is suspended.
func wall(clock func() time.Time) time.Time { return clock().Round(0) }

func (s Store) awaitAtMost(ctx context.Context, d time.Duration) (*Record, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return s.Await(ctx, nil)
}

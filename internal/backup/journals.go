package backup

import (
	"context"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
)

// complete stores what a stream got after its snapshot.
func (r *restoration) complete(ctx context.Context, name string) error {
	for shard := range r.manifest.Shards {
		if name == r.names.JournalStream(shard) {
			return r.entries(ctx, name)
		}
	}
	return r.tail(ctx, name, nil)
}

// entries stores the entries of journals that came after the snapshot, each at the sequence that it had: entries refer to each other by their
// sequences, and an entry that is stored twice would make its journal unreadable. Consumers begin anew, so every entry of the stream reaches
// history, which does what it makes due as far as that is still wanted, and arms the timers.
func (r *restoration) entries(ctx context.Context, name string) error {
	stream, err := r.manifest.stream(name)
	if err != nil {
		return err
	}
	return readTail(r.dir, stream, func(m *message) error {
		msg := m.again()
		msg.Header.Set(jetstream.ExpectedLastSeqHeader, strconv.FormatUint(m.Sequence-1, 10))
		return patiently(ctx, func() error { return r.entry(ctx, name, m.Sequence, msg) })
	})
}

// entry stores one entry. It is there already if an acknowledgement was lost.
func (r *restoration) entry(ctx context.Context, stream string, sequence uint64, msg *nats.Msg) error {
	err := r.bus.Publish(ctx, msg)
	if !bus.IsWrongSequence(err) {
		return err
	}
	last, lastErr := bus.LeaderSequence(ctx, r.JS, stream)
	switch {
	case lastErr != nil:
		return lastErr
	case last == sequence:
		return nil
	}
	return fmt.Errorf("entry %d follows on %d: %w", sequence, last, err)
}

package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// fetchSize is how many events are asked for at once.
	fetchSize = 256
	// fetchWait bounds the wait for events that the stream has, deleteWait the wait for the removal of a consumer.
	fetchWait  = 5 * time.Second
	deleteWait = 2 * time.Second
	// idleWait is how long the server keeps a consumer whose reader has died.
	idleWait = 30 * time.Second
)

// position is where to begin: at a sequence or, if that is 0, at a time. Zero means the first event.
type position struct {
	sequence uint64
	time     time.Time
}

// cursor walks over stored events in order. It is used by one goroutine and closed at its end.
type cursor struct {
	reader   *Reader
	query    *Query
	consumer jetstream.Consumer
	// from is where the cursor began or, after the first event, where it continues. delivered is the consumer's number of the last message.
	from      position
	delivered uint64
	// pending counts the events that have not been fetched; batch holds the fetched ones.
	pending uint64
	batch   []jetstream.Msg
	most    int
	corrupt int
	// read and bytes count what has been fetched.
	read, bytes int
}

// open makes a consumer for the events of a query from a position. The server counts the events at once. At most most of them are fetched
// at a time.
func (r *Reader) open(ctx context.Context, query *Query, from position, most int) (*cursor, error) {
	config := jetstream.ConsumerConfig{
		FilterSubjects: query.filters(r.names), AckPolicy: jetstream.AckNonePolicy,
		MemoryStorage: true, Replicas: 1, InactiveThreshold: idleWait,
	}
	switch {
	case from.sequence > 0:
		config.DeliverPolicy, config.OptStartSeq = jetstream.DeliverByStartSequencePolicy, from.sequence
	case !from.time.IsZero():
		config.DeliverPolicy, config.OptStartTime = jetstream.DeliverByStartTimePolicy, &from.time
	}
	consumer, err := r.js.CreateConsumer(ctx, r.names.EventStream(), config)
	if err != nil {
		return nil, fmt.Errorf("events: read: %w", err)
	}
	return &cursor{
		reader: r, query: query, consumer: consumer, from: from, pending: consumer.CachedInfo().NumPending,
		most: min(max(most, 1), fetchSize),
	}, nil
}

// close removes the consumer. If that fails, the server removes it after a while.
func (c *cursor) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteWait)
	defer cancel()
	info := c.consumer.CachedInfo()
	_ = c.reader.js.DeleteConsumer(ctx, info.Stream, info.Name)
}

// reopen begins anew after the last event that has arrived.
func (c *cursor) reopen(ctx context.Context) error {
	c.close(ctx)
	anew, err := c.reader.open(ctx, c.query, c.from, c.most)
	if err != nil {
		return err
	}
	c.consumer, c.pending, c.delivered = anew.consumer, anew.pending, 0
	return nil
}

// next returns the next event that can be read; false when there is none.
func (c *cursor) next(ctx context.Context) (Entry, bool, error) {
	for {
		if len(c.batch) == 0 {
			if err := c.fetch(ctx); err != nil || len(c.batch) == 0 {
				return Entry{}, false, err
			}
		}
		msg := c.batch[0]
		c.batch = c.batch[1:]
		entry, err := entryOf(msg)
		if err == nil {
			return entry, true, nil
		}
		c.corrupt++
		countCorrupt(ctx)
	}
}

// fetch fills the batch. It asks for no more events than exist, so it does not wait for new ones. The server takes sent messages for read,
// even if they are lost with the connection, so fetch counts the messages.
func (c *cursor) fetch(ctx context.Context) error {
	for c.pending > 0 {
		lost, err := c.receive(ctx)
		if err != nil {
			return fmt.Errorf("events: read: %w", err)
		}
		if len(c.batch) > 0 {
			return nil // if some are lost, the next call finds out
		}
		if !lost {
			c.pending = 0 // the counted events have been removed meanwhile
			return nil
		}
		if err := c.reopen(ctx); err != nil {
			return err
		}
	}
	return nil
}

// receive appends messages to the batch, up to a gap. lost says that a message was sent but has not arrived.
func (c *cursor) receive(ctx context.Context) (lost bool, err error) {
	limit, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	batch, err := c.consumer.Fetch(int(min(c.pending, uint64(c.most))), jetstream.FetchContext(limit))
	if err != nil {
		return false, err
	}
	for msg := range batch.Messages() { // to the end, which ends the fetch
		c.read, c.bytes = c.read+1, c.bytes+len(msg.Data())
		meta, err := msg.Metadata()
		if err != nil {
			return false, err
		}
		if lost = lost || meta.Sequence.Consumer != c.delivered+1; lost {
			continue
		}
		c.batch = append(c.batch, msg)
		c.delivered, c.pending, c.from = meta.Sequence.Consumer, meta.NumPending, position{sequence: meta.Sequence.Stream + 1}
	}
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case lost || len(c.batch) > 0:
		return lost, nil
	}
	info, err := c.consumer.Info(ctx)
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound):
		return true, nil // the consumer is gone with its node
	case batch.Error() != nil && limit.Err() == nil:
		return false, batch.Error()
	}
	return err == nil && info.Delivered.Consumer > c.delivered, err
}

func entryOf(msg jetstream.Msg) (entry Entry, err error) {
	meta, err := msg.Metadata()
	if err != nil {
		return entry, err
	}
	if err := json.Unmarshal(msg.Data(), &entry.Event); err != nil {
		return entry, err
	}
	if entry.ID == "" || entry.Kind == "" {
		return entry, fmt.Errorf("events: entry %d is no event", meta.Sequence.Stream)
	}
	entry.Sequence, entry.Stored, entry.Size = meta.Sequence.Stream, meta.Timestamp, len(msg.Data())
	return entry, nil
}

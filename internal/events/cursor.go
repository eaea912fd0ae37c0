package events

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// fetchSize is how many events are asked for at once.
	fetchSize = 256
	// fetchWait bounds the wait for events that the stream has, and deleteWait that for the end of a consumer.
	fetchWait  = 5 * time.Second
	deleteWait = 2 * time.Second
	// idleWait is how long the server keeps a consumer whose reader has died.
	idleWait = 30 * time.Second
)

// position is where to begin: at a sequence or, if that is 0, at a time; zero means the first event.
type position struct {
	sequence uint64
	time     time.Time
}

// cursor walks over stored events in order. It is used by one goroutine and closed at its end.
type cursor struct {
	js       jetstream.JetStream
	consumer jetstream.Consumer
	// pending counts the events that have not been fetched, batch holds those that have.
	pending uint64
	batch   []jetstream.Msg
	most    int
	corrupt int
}

// open makes a consumer for the events of a query from a position. The server counts them right away. At most most of
// them are fetched at once.
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
		js: r.js, consumer: consumer, pending: consumer.CachedInfo().NumPending, most: min(max(most, 1), fetchSize),
	}, nil
}

// close removes the consumer. Should that fail, the server does it in a while.
func (c *cursor) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteWait)
	defer cancel()
	info := c.consumer.CachedInfo()
	_ = c.js.DeleteConsumer(ctx, info.Stream, info.Name)
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

// fetch fills the batch. It asks for no more than there is, so it does not wait for events to come.
func (c *cursor) fetch(ctx context.Context) error {
	if c.pending == 0 {
		return nil
	}
	limit, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	batch, err := c.consumer.Fetch(int(min(c.pending, uint64(c.most))), jetstream.FetchContext(limit))
	if err != nil {
		return fmt.Errorf("events: read: %w", err)
	}
	for msg := range batch.Messages() {
		c.batch = append(c.batch, msg)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("events: read: %w", ctx.Err())
	}
	if len(c.batch) == 0 {
		// Those that were counted have been removed since, or the server has failed.
		c.pending = 0
		if err := batch.Error(); err != nil && limit.Err() == nil {
			return fmt.Errorf("events: read: %w", err)
		}
		return nil
	}
	meta, err := c.batch[len(c.batch)-1].Metadata()
	if err != nil {
		return fmt.Errorf("events: read: %w", err)
	}
	c.pending = meta.NumPending
	return nil
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
	entry.Sequence, entry.Stored = meta.Sequence.Stream, meta.Timestamp
	return entry, nil
}

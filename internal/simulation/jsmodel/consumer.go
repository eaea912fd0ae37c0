package jsmodel

import (
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// consumer is a durable pull consumer with explicit acknowledgement.
type consumer struct {
	stream  *stream
	config  jetstream.ConsumerConfig
	filters []string
	// fresh are the sequences of messages that have not been delivered yet. Some of the messages may be gone.
	fresh []uint64
	// pending is when each delivered, unacknowledged message comes again. Those in again come as soon as somebody asks, in this
	// order.
	pending    map[uint64]time.Time
	again      []uint64
	deliveries map[uint64]uint64
}

func newConsumer(st *stream, config jetstream.ConsumerConfig) *consumer {
	filters := config.FilterSubjects
	if config.FilterSubject != "" {
		filters = []string{config.FilterSubject}
	}
	if len(filters) == 0 {
		filters = []string{">"}
	}
	return &consumer{
		stream: st, config: config, filters: filters,
		pending: map[uint64]time.Time{}, deliveries: map[uint64]uint64{},
	}
}

// Delivery is a message in the hands of a client.
type Delivery struct {
	Message
	Stream, Consumer string
	// Deliveries counts the deliveries of the message, including this one.
	Deliveries uint64
}

// Deliverable returns the sequences that a consumer would deliver now: first those that come again, then new ones.
func (s *Server) Deliverable(now time.Time, stream, name string) []uint64 {
	c := s.streams[stream].consumers[name]
	if c == nil {
		return nil // it was deleted
	}
	return c.deliverable(now)
}

// HasConsumer reports whether a consumer exists. Most methods about a consumer must be called only if it exists.
func (s *Server) HasConsumer(stream, name string) bool {
	return s.streams[stream].consumers[name] != nil
}

// DeleteConsumer deletes a consumer. Its unacknowledged messages stay in a work queue, and come to its successor.
func (s *Server) DeleteConsumer(stream, name string) { delete(s.streams[stream].consumers, name) }

// pending returns the consumer if a delivery of it is unacknowledged. The successor of a deleted consumer may have the message
// as well, and sees no difference.
func (s *Server) pending(d *Delivery) (c *consumer, ok bool) {
	if c = s.streams[d.Stream].consumers[d.Consumer]; c == nil {
		return nil, false
	}
	_, ok = c.pending[d.Sequence]
	return c, ok
}

// Deliver delivers the first deliverable message.
func (s *Server) Deliver(now time.Time, stream, name string, sequence uint64) Delivery {
	c := s.streams[stream].consumers[name]
	if len(c.fresh) > 0 && c.fresh[0] == sequence {
		c.fresh = c.fresh[1:]
	}
	c.calm(sequence)
	c.pending[sequence] = now.Add(c.config.AckWait)
	c.deliveries[sequence]++
	return Delivery{
		Message: c.stream.messages[sequence].Message, Stream: stream, Consumer: name, Deliveries: c.deliveries[sequence],
	}
}

// Backlog returns how many messages of a consumer are unacknowledged, delivered or not.
func (s *Server) Backlog(stream, name string) int {
	c, count := s.streams[stream].consumers[name], 0
	for _, sequence := range slices.Concat(c.fresh, slices.Collect(maps.Keys(c.pending))) {
		if c.stream.messages[sequence] != nil {
			count++
		}
	}
	return count
}

// Delivered returns the sequence up to which a consumer has delivered everything, and beyond which it has delivered nothing.
func (s *Server) Delivered(stream, name string) uint64 {
	c := s.streams[stream].consumers[name]
	for _, sequence := range c.fresh {
		if c.stream.messages[sequence] != nil {
			return sequence - 1
		}
	}
	return c.stream.sequence
}

// Floor returns a sequence of a stream up to which a consumer regards every message that it wants as acknowledged. The server
// may know of less.
func (s *Server) Floor(stream, name string) uint64 {
	c := s.streams[stream].consumers[name]
	floor := c.stream.sequence
	for _, sequence := range slices.Concat(c.fresh, slices.Collect(maps.Keys(c.pending))) {
		if c.stream.messages[sequence] != nil {
			floor = min(floor, sequence-1)
		}
	}
	return floor
}

func (c *consumer) deliverable(now time.Time) []uint64 {
	for sequence := range c.pending {
		if c.stream.messages[sequence] == nil {
			c.settle(sequence) // replaced or removed
		}
	}
	c.expire(now)
	room := len(c.fresh)
	if most := c.config.MaxAckPending; most > 0 {
		room = max(most-len(c.pending), 0)
	}
	c.fresh = slices.DeleteFunc(c.fresh, func(sequence uint64) bool { return c.stream.messages[sequence] == nil })
	return slices.Concat(c.again, c.fresh[:min(room, len(c.fresh))])
}

// expire makes messages deliverable that were not acknowledged in time. Their next time begins now, in case nobody fetches
// them.
func (c *consumer) expire(now time.Time) {
	var expired []uint64
	for sequence, at := range c.pending {
		if !at.After(now) && !slices.Contains(c.again, sequence) {
			expired = append(expired, sequence)
		}
	}
	if len(expired) == 0 {
		return
	}
	slices.Sort(expired)
	c.again = append(c.again, expired...)
	later := now.Add(c.config.AckWait).Sub(c.pending[expired[0]])
	for _, sequence := range expired {
		c.pending[sequence] = c.pending[sequence].Add(later)
	}
}

func (c *consumer) wants(subject string) bool {
	return slices.ContainsFunc(c.filters, func(filter string) bool { return Matches(filter, subject) })
}

// calm makes a message wait for its time.
func (c *consumer) calm(sequence uint64) {
	c.again = slices.DeleteFunc(c.again, func(other uint64) bool { return other == sequence })
}

func (c *consumer) settle(sequence uint64) {
	c.calm(sequence)
	delete(c.pending, sequence)
	delete(c.deliveries, sequence)
}

// longAgo is a time in the past, for what is due already.
var longAgo = time.Unix(0, 0)

// NextDelivery returns when a consumer next delivers something again by itself: a time in the past if it would do so now, zero
// for never.
func (s *Server) NextDelivery() time.Time {
	var next time.Time
	for _, name := range s.names {
		for _, c := range s.streams[name].consumers {
			if len(c.again) > 0 {
				return longAgo
			}
			for at := range maps.Values(c.pending) {
				if next.IsZero() || at.Before(next) {
					next = at
				}
			}
		}
	}
	return next
}

// Elect gives all consumers new leaders, which may know of none of the progress since the deliveries: they deliver everything
// unacknowledged again.
func (s *Server) Elect() {
	for _, st := range s.streams {
		for _, c := range st.consumers {
			c.again = slices.Sorted(maps.Keys(c.pending))
		}
	}
}

// Ack acknowledges a delivery: a work queue removes the message.
func (s *Server) Ack(d *Delivery) { s.settle(d) }

// Term ends the deliveries of a message: a work queue removes it.
func (s *Server) Term(d *Delivery) { s.settle(d) }

func (s *Server) settle(d *Delivery) {
	st := s.streams[d.Stream]
	c, pending := s.pending(d)
	if !pending {
		return
	}
	c.settle(d.Sequence)
	if m := st.messages[d.Sequence]; m != nil && st.config.Retention == jetstream.WorkQueuePolicy {
		st.remove(m)
	}
}

// Nak gives a message back, to be delivered again after a delay.
func (s *Server) Nak(now time.Time, d *Delivery, delay time.Duration) {
	switch c, pending := s.pending(d); {
	case !pending:
	case delay > 0:
		c.calm(d.Sequence)
		c.pending[d.Sequence] = now.Add(delay)
	case !slices.Contains(c.again, d.Sequence):
		c.again = append(c.again, d.Sequence)
	}
}

// Progress extends the time for the acknowledgement. It does not undo a Nak.
func (s *Server) Progress(now time.Time, d *Delivery) {
	if c, pending := s.pending(d); pending {
		c.pending[d.Sequence] = now.Add(c.config.AckWait)
	}
}

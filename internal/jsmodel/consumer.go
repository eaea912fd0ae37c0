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
	// fresh are the sequences of messages that have not been delivered yet. Some may be gone.
	fresh []uint64
	// pending holds when each message that is delivered and not acknowledged comes again.
	pending    map[uint64]time.Time
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
	// Deliveries counts those of the message, this one included.
	Deliveries uint64
}

// Deliverable returns the sequences of what a consumer would deliver now: what comes again, then what is new.
func (s *Server) Deliverable(now time.Time, stream, name string) []uint64 {
	return s.streams[stream].consumers[name].deliverable(now)
}

// Deliver delivers the first message that is deliverable.
func (s *Server) Deliver(now time.Time, stream, name string, sequence uint64) Delivery {
	c := s.streams[stream].consumers[name]
	if len(c.fresh) > 0 && c.fresh[0] == sequence {
		c.fresh = c.fresh[1:]
	}
	c.pending[sequence] = now.Add(c.config.AckWait)
	c.deliveries[sequence]++
	return Delivery{
		Message: c.stream.messages[sequence].Message, Stream: stream, Consumer: name, Deliveries: c.deliveries[sequence],
	}
}

func (c *consumer) deliverable(now time.Time) []uint64 {
	var again []uint64
	for sequence, at := range c.pending {
		switch {
		case c.stream.messages[sequence] == nil:
			c.settle(sequence) // replaced or removed
		case !at.After(now):
			again = append(again, sequence)
		}
	}
	slices.Sort(again)
	if len(c.pending)-len(again) >= c.config.MaxAckPending && c.config.MaxAckPending > 0 {
		return again
	}
	c.fresh = slices.DeleteFunc(c.fresh, func(sequence uint64) bool { return c.stream.messages[sequence] == nil })
	return append(again, c.fresh...)
}

func (c *consumer) wants(subject string) bool {
	return slices.ContainsFunc(c.filters, func(filter string) bool { return Matches(filter, subject) })
}

func (c *consumer) settle(sequence uint64) {
	delete(c.pending, sequence)
	delete(c.deliveries, sequence)
}

// NextDelivery returns when a consumer delivers something again by itself; zero for never.
func (s *Server) NextDelivery() time.Time {
	var next time.Time
	for _, name := range s.names {
		for _, c := range s.streams[name].consumers {
			for at := range maps.Values(c.pending) {
				if next.IsZero() || at.Before(next) {
					next = at
				}
			}
		}
	}
	return next
}

// Ack acknowledges a delivery: a work queue removes the message.
func (s *Server) Ack(d *Delivery) { s.settle(d) }

// Term ends the deliveries of a message: a work queue removes it.
func (s *Server) Term(d *Delivery) { s.settle(d) }

func (s *Server) settle(d *Delivery) {
	st := s.streams[d.Stream]
	c := st.consumers[d.Consumer]
	if _, pending := c.pending[d.Sequence]; !pending {
		return
	}
	c.settle(d.Sequence)
	if m := st.messages[d.Sequence]; m != nil && st.config.Retention == jetstream.WorkQueuePolicy {
		st.remove(m)
	}
}

// Nak gives a message back, to be delivered again after a delay.
func (s *Server) Nak(now time.Time, d *Delivery, delay time.Duration) { s.postpone(d, now.Add(delay)) }

// Progress extends the time for the acknowledgement.
func (s *Server) Progress(now time.Time, d *Delivery) {
	s.postpone(d, now.Add(s.streams[d.Stream].consumers[d.Consumer].config.AckWait))
}

func (s *Server) postpone(d *Delivery, until time.Time) {
	c := s.streams[d.Stream].consumers[d.Consumer]
	if _, pending := c.pending[d.Sequence]; pending {
		c.pending[d.Sequence] = until
	}
}

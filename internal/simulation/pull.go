package simulation

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
)

type consumerName struct{ stream, name string }

// pull is what a process has asked a consumer for.
type pull struct {
	node     *node
	consumer consumerName
	stopped  chan struct{}
	over     bool
	draining bool
	inFlight int // messages on their way or waiting
	// left is how many more messages it asks for, if that is bounded.
	left    int
	bounded bool
	// waiting are the messages that have arrived. asking is where the process waits for the next one; nil while it does not.
	waiting []*message
	asking  chan *message
}

// pullBatch is how many messages of a pull are on their way or waiting, at most.
const pullBatch = 256

var errStopped = errors.New("simulation: the pull has ended")

// Pull implements bus.Bus.
func (n *node) Pull(ctx context.Context, stream string, consumer jetstream.ConsumerConfig) (bus.Deliveries, error) {
	p := &pull{node: n, consumer: consumerName{stream, consumer.Durable}, stopped: make(chan struct{})}
	err := n.do(ctx, "pull", stream+" "+consumer.Durable, func(time.Time) error {
		n.world.server.AddConsumer(stream, consumer)
		n.begin(p)
		return nil
	})
	return p, err
}

// begin begins a pull.
func (n *node) begin(p *pull) {
	n.pulls = append(n.pulls, p)
	if !slices.Contains(n.world.pulled, p.consumer) {
		n.world.pulled = append(n.world.pulled, p.consumer)
	}
	n.world.stir()
}

func (p *pull) wants(now time.Time) bool {
	return !p.node.dead && !p.over && !p.draining && !now.Before(p.node.suspended) && p.inFlight < pullBatch &&
		(!p.bounded || p.left > 0)
}

// receive accepts a message that has arrived in the process, if the process still exists.
func (p *pull) receive(d jsmodel.Delivery, now time.Time) {
	switch {
	case p.node.dead || p.over:
	case now.Before(p.node.suspended):
		p.node.world.at(p.node.suspended, func(now time.Time) { p.receive(d, now) })
	default:
		m := &message{pull: p, delivery: d}
		p.node.world.trace.note(now, p.node.name+" receives", m.String())
		p.node.noteReceived(&d)
		p.waiting = append(p.waiting, m)
		p.hand()
	}
}

// hand gives the next message to the process, if the process asks for one.
func (p *pull) hand() {
	if p.asking == nil || len(p.waiting) == 0 {
		return
	}
	p.asking <- p.waiting[0]
	p.asking, p.waiting = nil, p.waiting[1:]
	if p.inFlight--; p.inFlight == pullBatch-1 {
		p.node.world.stir()
	}
}

// Next implements bus.Deliveries. The world hands out the messages one at a time, even where several wait. Otherwise it would
// be a matter of chance whether the process begins to work on one message before it looks at the next.
func (p *pull) Next(ctx context.Context) (jetstream.Msg, error) {
	asking := make(chan *message, 1)
	p.node.note("next", func() {
		p.asking = asking
		p.node.world.at(time.Now(), func(time.Time) { p.hand() })
	})
	select {
	case msg := <-asking:
		return msg, nil
	case <-p.stopped:
		return nil, errStopped
	case <-p.node.died:
		return nil, errDead
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Drain implements bus.Deliveries.
func (p *pull) Drain() { p.node.note("drain", func() { p.draining = true }) }

// Stop implements bus.Deliveries.
func (p *pull) Stop() {
	select {
	case <-p.stopped:
		return
	default:
		close(p.stopped)
	}
	p.node.note("stop", func() {
		p.over = true
		p.node.pulls = slices.DeleteFunc(p.node.pulls, func(other *pull) bool { return other == p })
	})
}

// message is a delivery in the hands of a process.
type message struct {
	pull     *pull
	delivery jsmodel.Delivery
}

var _ jetstream.Msg = (*message)(nil)

func (m *message) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{
		Sequence:     jetstream.SequencePair{Stream: m.delivery.Sequence, Consumer: m.delivery.Sequence},
		NumDelivered: m.delivery.Deliveries, Timestamp: m.delivery.Stored,
		Stream: m.delivery.Stream, Consumer: m.delivery.Consumer,
	}, nil
}

func (m *message) Data() []byte         { return m.delivery.Data }
func (m *message) Headers() nats.Header { return m.delivery.Header }
func (m *message) Subject() string      { return m.delivery.Subject }
func (m *message) Reply() string        { return "" }

func (m *message) Ack() error {
	sent := time.Now()
	m.tell("ack", func(time.Time) { m.settle(sent) })
	return nil
}

func (m *message) DoubleAck(ctx context.Context) error {
	sent := time.Now()
	return m.pull.node.do(ctx, "ack", m.String(), func(time.Time) error {
		m.settle(sent)
		return nil
	})
}

func (m *message) settle(sent time.Time) {
	m.pull.node.world.promisedBySettling(m.pull.node, &m.delivery)
	m.pull.node.world.noteSettled(m.pull.node, &m.delivery, sent)
	m.server().Ack(&m.delivery)
}

func (m *message) Nak() error { return m.NakWithDelay(0) }

func (m *message) NakWithDelay(delay time.Duration) error {
	sent := time.Now()
	m.tell("nak", func(now time.Time) {
		m.pull.node.world.noteSettled(m.pull.node, &m.delivery, sent)
		m.server().Nak(now, &m.delivery, delay)
	})
	return nil
}

func (m *message) InProgress() error {
	m.tell("progress", func(now time.Time) { m.server().Progress(now, &m.delivery) })
	return nil
}

func (m *message) Term() error { return m.TermWithReason("") }

func (m *message) TermWithReason(string) error {
	m.tell("term", func(time.Time) { m.server().Term(&m.delivery) })
	return nil
}

// String names the message, and no other message of the same subject.
func (m *message) String() string {
	return m.delivery.Subject + " #" + strconv.FormatUint(m.delivery.Sequence, 10)
}

func (m *message) server() *jsmodel.Server { return m.pull.node.world.server }

func (m *message) tell(what string, apply func(now time.Time)) {
	m.pull.node.tell(what, m.String(), apply)
}

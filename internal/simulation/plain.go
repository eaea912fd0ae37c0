package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
)

// A process has one connection to NATS, over which plain messages keep their order. They may be lost, and never come twice.

var _ bus.Conn = (*node)(nil)

// subscription is a subscription of a process to plain NATS messages. sub stands for it in the process.
type subscription struct {
	node   *node
	sub    *nats.Subscription
	handle nats.MsgHandler
}

// whatSend is the call that sends a plain message.
const whatSend = "send"

// inboxes is how all inboxes of the simulation begin.
const inboxes = "_INBOX."

// noResponders is the status of the message that answers a request which nobody has heard.
const noResponders = "503"

// subscribe begins a subscription.
func (n *node) subscribe(subject, queue string, handle nats.MsgHandler) *nats.Subscription {
	s := &subscription{n, &nats.Subscription{Subject: subject, Queue: queue}, handle}
	n.note("subscribe "+n.visible(subject), func() { n.subscriptions = append(n.subscriptions, s) })
	return s.sub
}

// visible is a subject as the trace shows it. The names of inboxes may differ between two simulations of a seed.
func (n *node) visible(subject string) string {
	switch {
	case strings.HasPrefix(subject, inboxes):
		return "inbox"
	case n.world.names.IsPollInbox(subject):
		return "inbox of a poll"
	}
	return subject
}

// QueueSubscribe implements bus.Conn.
func (n *node) QueueSubscribe(subject, queue string, handle nats.MsgHandler) (*nats.Subscription, error) {
	return n.subscribe(subject, queue, handle), nil
}

// ChanQueueSubscribe implements bus.Conn.
func (n *node) ChanQueueSubscribe(subject, queue string, msgs chan *nats.Msg) (*nats.Subscription, error) {
	return n.subscribe(subject, queue, func(msg *nats.Msg) {
		select {
		case msgs <- msg:
		default:
		}
	}), nil
}

// Unsubscribe implements bus.Conn.
func (n *node) Unsubscribe(sub *nats.Subscription) {
	n.note("unsubscribe "+n.visible(sub.Subject), func() {
		n.subscriptions = slices.DeleteFunc(n.subscriptions, func(s *subscription) bool { return s.sub == sub })
	})
}

// Drain implements bus.Conn.
func (n *node) Drain(sub *nats.Subscription) <-chan struct{} {
	ended := make(chan struct{})
	n.note("drain "+n.visible(sub.Subject), func() {
		n.subscriptions = slices.DeleteFunc(n.subscriptions, func(s *subscription) bool { return s.sub == sub })
		close(ended)
	})
	return ended
}

// NewInbox implements bus.Conn.
func (n *node) NewInbox() string {
	return fmt.Sprintf("%s%d.%d", inboxes, n.birth, n.inboxes.Add(1))
}

// FlushTimeout implements bus.Conn.
func (n *node) FlushTimeout(time.Duration) error { return nil }

// PublishMsg implements bus.Conn.
func (n *node) PublishMsg(msg *nats.Msg) error {
	if msg.Size() > maxPayload {
		return nats.ErrMaxPayload
	}
	sent := &nats.Msg{Subject: msg.Subject, Reply: msg.Reply, Header: msg.Header, Data: msg.Data}
	n.world.submit(&call{
		node: n, what: whatSend, detail: n.visible(msg.Subject), content: msg.Subject + string(msg.Data), done: make(chan error, 1), apply: func(now time.Time) error {
			n.world.send(n, sent, now)
			return nil
		},
	})
	return nil
}

// RequestMsgWithContext implements bus.Conn.
func (n *node) RequestMsgWithContext(ctx context.Context, msg *nats.Msg) (*nats.Msg, error) {
	answers, inbox := make(chan *nats.Msg, 1), n.NewInbox()
	sub, _ := n.ChanQueueSubscribe(inbox, "", answers)
	defer n.Unsubscribe(sub)
	if err := n.PublishMsg(&nats.Msg{Subject: msg.Subject, Reply: inbox, Header: msg.Header, Data: msg.Data}); err != nil {
		return nil, err
	}
	select {
	case answer := <-answers:
		if bus.NobodyListens(answer) {
			return nil, nats.ErrNoResponders
		}
		return answer, nil
	case <-n.died:
		return nil, errDead
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// send brings a plain message to those who listen: one of each queue, and everybody without a queue.
func (w *world) send(from *node, msg *nats.Msg, now time.Time) {
	if now.Before(w.outage) {
		return
	}
	heard := w.choose(w.listeners(msg.Subject))
	for _, s := range heard {
		w.carry(s, msg, now)
	}
	if len(heard) == 0 && msg.Reply != "" {
		w.send(from, &nats.Msg{Subject: msg.Reply, Header: nats.Header{"Status": {noResponders}}}, now)
	}
}

// choose leaves one subscription of each queue.
func (w *world) choose(all []*subscription) (chosen []*subscription) {
	queues := map[string][]*subscription{}
	var order []string
	for _, s := range all {
		switch queue := s.sub.Queue; {
		case queue == "":
			chosen = append(chosen, s)
		case queues[queue] == nil:
			order = append(order, queue)
			fallthrough
		default:
			queues[queue] = append(queues[queue], s)
		}
	}
	for _, queue := range order {
		chosen = append(chosen, queues[queue][w.rng.IntN(len(queues[queue]))])
	}
	return chosen
}

// listeners are the subscriptions to a subject, of all processes that NATS does not know to be dead.
func (w *world) listeners(subject string) (all []*subscription) {
	for _, n := range w.nodes {
		for _, s := range n.subscriptions {
			if !n.dead && jsmodel.Matches(s.sub.Subject, subject) {
				all = append(all, s)
			}
		}
	}
	return all
}

// carry brings a message to a process, behind what is on its way there.
func (w *world) carry(s *subscription, msg *nats.Msg, now time.Time) {
	at := maxTime(now.Add(w.latency()), s.node.hears.Add(1))
	s.node.hears = at
	w.at(at, func(now time.Time) { s.node.hear(s, msg, now) })
}

// tellSubscribers brings a message that a stream has stored to all processes that have subscribed to its subject.
func (w *world) tellSubscribers(msg *nats.Msg, now time.Time) {
	if now.Before(w.outage) {
		return
	}
	for _, s := range w.listeners(msg.Subject) {
		w.at(now.Add(w.latency()), func(now time.Time) { s.node.hear(s, msg, now) })
	}
}

// hear handles a message of a subscription, if the process still exists.
func (n *node) hear(s *subscription, msg *nats.Msg, now time.Time) {
	switch {
	case n.dead || !slices.Contains(n.subscriptions, s):
	case now.Before(n.suspended):
		// Two messages that came at the same moment would be heard in any order.
		n.hears = maxTime(n.suspended, n.hears.Add(1))
		n.world.at(n.hears, func(now time.Time) { n.hear(s, msg, now) })
	default:
		received := *msg
		received.Sub = s.sub
		go s.handle(&received)
	}
}

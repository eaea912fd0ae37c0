package publish

import (
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
)

// acks gives each acknowledgement to whoever waits for it. The zero value is ready.
type acks struct {
	mu     sync.Mutex
	prefix string // of the subjects for acknowledgements; empty until the first message
	closed bool
	sub    *nats.Subscription
	status chan nats.Status
	last   uint64
	// waiting are the messages that have no acknowledgement yet, by the last token of its subject.
	waiting  map[uint64]chan<- answer
	watching sync.WaitGroup
}

// pending is a message that has been sent, or is just about to be.
type pending struct {
	id    uint64
	reply string
	// answer gets one value at most.
	answer <-chan answer
}

// answer is what has become of a message.
type answer struct {
	sequence uint64
	err      error
}

// tokenBase is that of the numbers in subjects.
const tokenBase = 36

// expect makes room for the acknowledgement of one more message.
func (a *acks) expect(conn *nats.Conn) (pending, error) {
	answered := make(chan answer, 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.listen(conn); err != nil {
		return pending{}, err
	}
	a.last++
	a.waiting[a.last] = answered
	var token [16]byte
	return pending{a.last, a.prefix + string(strconv.AppendUint(token[:0], a.last, tokenBase)), answered}, nil
}

// listen subscribes before the first message.
func (a *acks) listen(conn *nats.Conn) error {
	switch {
	case a.closed:
		return nats.ErrConnectionClosed
	case a.prefix != "":
		return nil
	}
	prefix := conn.NewInbox() + "."
	// Before the subscription, which fails on a closed connection: so the end of the connection cannot be missed.
	status := conn.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	sub, err := conn.Subscribe(prefix+"*", a.receive)
	if err != nil {
		conn.RemoveStatusListener(status)
		return err
	}
	a.prefix, a.sub, a.status, a.waiting = prefix, sub, status, map[uint64]chan<- answer{}
	a.watching.Go(func() { a.watch(status) })
	return nil
}

// watch ends all waiting when the connection is lost: what was acknowledged meanwhile is not sent again.
func (a *acks) watch(status <-chan nats.Status) {
	for s := range status {
		if s == nats.CLOSED {
			break
		}
		a.fail(nats.ErrDisconnected)
	}
	a.fail(nats.ErrConnectionClosed)
}

func (a *acks) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, answered := range a.waiting {
		answered <- answer{err: err}
	}
	clear(a.waiting)
}

func (a *acks) receive(msg *nats.Msg) {
	id, err := strconv.ParseUint(msg.Subject[len(msg.Sub.Subject)-1:], tokenBase, 64)
	if err != nil {
		return // not a subject that expect has made
	}
	a.mu.Lock()
	answered := a.waiting[id]
	delete(a.waiting, id)
	a.mu.Unlock()
	if answered != nil {
		answered <- decode(msg)
	}
}

// forget gives up messages, of which some may have been answered.
func (a *acks) forget(all []pending) {
	if len(all) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, sent := range all {
		delete(a.waiting, sent.id)
	}
}

// close ends the subscription and waits for the goroutine beside it.
func (a *acks) close(conn *nats.Conn) {
	a.mu.Lock()
	a.closed = true
	sub, status := a.sub, a.status
	a.sub = nil
	a.mu.Unlock()
	if sub == nil {
		return
	}
	_ = sub.Unsubscribe() // fails only on a closed connection
	conn.RemoveStatusListener(status)
	a.watching.Wait()
}

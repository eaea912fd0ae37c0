package bus

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// ackWait is how long a stream may take to acknowledge a message; a waiter may wait one ackRound longer. Without this limit, one
	// lost acknowledgement would hold up its schedule forever.
	ackWait = 5 * time.Second
	// ackRound is how often expired waiters are swept while anybody waits. One timer serves all of them.
	ackRound  = time.Second
	ackRounds = uint64(ackWait / ackRound)
)

// acks hands each acknowledgement to the caller that waits for it. The zero value is ready.
type acks struct {
	mu     sync.Mutex
	prefix string // of the subjects for acknowledgements; empty until the first message
	closed bool
	sub    *nats.Subscription
	status chan nats.Status
	// ids makes the last tokens of those subjects. Whoever receives a message sees where it is acknowledged. The random token keeps
	// that reader from guessing where other messages are acknowledged.
	ids    *rand.ChaCha8
	round  uint64      // counts the sweeps of expired waiters
	rounds *time.Timer // fires at the next sweep
	set    bool        // the timer runs
	// waiting has a waiter for each message without an acknowledgement, by the last token of the acknowledgement's subject.
	waiting  map[uint64]waiter
	watching sync.WaitGroup
}

// waiter is a caller that waits for an acknowledgement.
type waiter struct {
	answered chan<- ackAnswer
	since    uint64 // the round in which the message was sent
}

// pending is a message that was sent or is about to be sent.
type pending struct {
	id    uint64
	reply string
	// answer gets at most one value, and has room for it.
	answer chan ackAnswer
}

// ackAnswer is the outcome of a publish.
type ackAnswer struct {
	sequence uint64
	// repeated says that the stream already had a message with the same ID; sequence is the sequence of that message.
	repeated bool
	err      error
}

// ackAnswers recycles channels for one answer each. They are empty, and nobody sends to them any more.
var ackAnswers = sync.Pool{New: func() any { return make(chan ackAnswer, 1) }}

// tokenBase is the base of the numbers in subjects.
const tokenBase = 36

// expect prepares for the acknowledgement of one more message.
func (a *acks) expect(conn *nats.Conn) (pending, error) {
	answered := ackAnswers.Get().(chan ackAnswer)
	id, err := a.enter(conn, answered)
	if err != nil {
		return pending{}, err
	}
	var token [16]byte
	return pending{id, a.prefix + string(strconv.AppendUint(token[:0], id, tokenBase)), answered}, nil
}

// enter registers a waiter, and returns the number of its message.
func (a *acks) enter(conn *nats.Conn, answered chan<- ackAnswer) (uint64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.listen(conn); err != nil {
		return 0, err
	}
	id := a.ids.Uint64()
	a.waiting[id] = waiter{answered, a.round}
	a.lookLater()
	return id, nil
}

// listen subscribes before the first message.
func (a *acks) listen(conn *nats.Conn) error {
	switch {
	case a.closed:
		return nats.ErrConnectionClosed
	case a.prefix != "":
		return nil
	}
	var seed [32]byte
	_, _ = cryptorand.Read(seed[:]) // which never fails
	prefix := conn.NewInbox() + "."
	// Listen first: subscribing fails on a closed connection, so the end of the connection cannot be missed.
	status := conn.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	sub, err := conn.Subscribe(prefix+"*", a.receive)
	if err != nil {
		conn.RemoveStatusListener(status)
		return err
	}
	a.prefix, a.sub, a.status, a.waiting, a.ids = prefix, sub, status, map[uint64]waiter{}, rand.NewChaCha8(seed)
	a.rounds, a.set = time.NewTimer(ackRound), true
	a.watching.Go(func() { a.watch(status, a.rounds) })
	return nil
}

// lookLater sets the timer if anybody waits. A process that sends nothing is not woken up.
func (a *acks) lookLater() {
	if !a.set && len(a.waiting) > 0 {
		a.rounds.Reset(ackRound)
		a.set = true
	}
}

// watch fails all waiters when the connection is lost, because the server does not send acknowledgements again. It also fails waiters
// that have waited for too long.
func (a *acks) watch(status <-chan nats.Status, rounds *time.Timer) {
	defer rounds.Stop()
	for {
		select {
		case <-rounds.C:
			a.expire()
		case s, open := <-status:
			if !open || s == nats.CLOSED {
				a.fail(nats.ErrConnectionClosed)
				return
			}
			a.fail(nats.ErrDisconnected)
		}
	}
}

func (a *acks) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.waiting {
		w.answered <- ackAnswer{err: err}
	}
	clear(a.waiting)
}

// expire begins another round, and fails the waiters that have waited for more than ackRounds rounds.
func (a *acks) expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.round++
	for id, w := range a.waiting {
		if a.round-w.since > ackRounds {
			w.answered <- ackAnswer{err: jetstream.ErrAsyncPublishTimeout}
			unanswered.Add(1)
			delete(a.waiting, id)
		}
	}
	a.set = false
	a.lookLater()
}

func (a *acks) receive(msg *nats.Msg) {
	id, err := strconv.ParseUint(msg.Subject[len(msg.Sub.Subject)-1:], tokenBase, 64)
	if err != nil {
		return // expect has not made this subject
	}
	answered := decode(msg)
	if errors.Is(answered.err, jetstream.ErrInvalidJSAck) {
		return // no stream has sent this
	}
	a.mu.Lock()
	w, found := a.waiting[id]
	delete(a.waiting, id)
	a.mu.Unlock()
	if found {
		w.answered <- answered
	}
}

// forget stops waiting for messages. Some of them may have been answered already.
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

// close ends the subscription, and waits for the goroutine that watches the connection.
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

var unanswered atomic.Uint64

// Unanswered counts the messages of this process that no stream acknowledged in time although there was a connection. NATS stays silent
// like this if a stream has no leader, or refuses all writes because one has failed. It is safe for concurrent use.
func Unanswered() uint64 { return unanswered.Load() }

// countLate counts a message that was given up.
func countLate(err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		unanswered.Add(1)
	}
}

package taskqueue

import (
	"errors"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/subjects"
)

// listener waits for one sign of life from the workers of a queue: an acknowledgement of any kind. A worker with runs sends
// several of them within the time that it may be silent.
type listener struct {
	heard         atomic.Bool
	subscriptions []*nats.Subscription
}

// listen subscribes until the first sign has come, so that a busy queue costs one message and not all of them.
func listen(conn *nats.Conn, names subjects.Names, q Queue) (*listener, error) {
	l := &listener{}
	for _, subject := range names.QueueAcks(q.Namespace, q.Name) {
		subscription, err := conn.Subscribe(subject, func(*nats.Msg) { l.heard.Store(true) })
		if err == nil {
			l.subscriptions = append(l.subscriptions, subscription)
			err = subscription.AutoUnsubscribe(1)
		}
		if err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

func (l *listener) close() {
	for _, subscription := range l.subscriptions {
		_ = subscription.Unsubscribe() // it may have ended by itself
	}
}

// listeners has the listeners of the queues whose workers may be busy or dead.
type listeners struct {
	conn  *nats.Conn
	names subjects.Names
	open  map[Queue]*listener
}

// listen adds to observations what was heard since the previous ones, and goes on listening where that matters.
func (l *listeners) listen(all []observation) error {
	before := l.open
	l.open = map[Queue]*listener{}
	var failed error
	for i := range all {
		o := &all[i]
		if o.Pulling || o.Held == 0 {
			continue
		}
		if old := before[o.Queue]; old != nil {
			if o.Heard = old.heard.Load(); !o.Heard {
				l.open[o.Queue] = old
				delete(before, o.Queue)
				continue
			}
		}
		next, err := listen(l.conn, l.names, o.Queue)
		if err != nil {
			// A watcher that cannot listen must not take silence for death.
			o.Heard, failed = true, errors.Join(failed, err)
			continue
		}
		l.open[o.Queue] = next
	}
	for _, old := range before {
		old.close()
	}
	return failed
}

func (l *listeners) close() {
	for _, listener := range l.open {
		listener.close()
	}
}

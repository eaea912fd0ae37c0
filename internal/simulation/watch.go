package simulation

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/subjects"
)

var _ kv.ClusterBuckets = (*node)(nil)

// watcher shows a process the entries of a bucket that match a filter, as they change.
type watcher struct {
	node           *node
	stream, prefix string
	filter         string
	// seen is the newest entry that it has shown.
	seen    uint64
	updates chan jetstream.KeyValueEntry
	over    bool
}

// maxUpdates is how many updates wait in a process, at most. A watch that nobody reads ends when there are more.
const maxUpdates = 1024

// Watch implements kv.ClusterBuckets.
func (n *node) Watch(ctx context.Context, bucket, filter string) (jetstream.KeyWatcher, error) {
	w := &watcher{
		node: n, stream: subjects.BucketStream(bucket), prefix: subjects.BucketSubject(bucket, ""), filter: filter,
		updates: make(chan jetstream.KeyValueEntry, maxUpdates),
	}
	err := n.do(ctx, "watch", filter, func(time.Time) error {
		n.watchers = append(n.watchers, w)
		w.show()
		w.updates <- nil
		return nil
	})
	return w, err
}

// changed tells the watchers of a bucket, some time later, that something in it has changed.
func (w *world) changed(bucket string, now time.Time) {
	stream := subjects.BucketStream(bucket)
	for _, n := range w.nodes {
		for _, watch := range n.watchers {
			if watch.stream == stream && !watch.over {
				w.at(now.Add(w.latency()), watch.catchUp)
			}
		}
	}
}

// catchUp shows what has changed, when the process can be reached.
func (w *watcher) catchUp(now time.Time) {
	world := w.node.world
	switch {
	case w.over || w.node.dead:
	case now.Before(world.outage):
		world.at(world.outage.Add(world.latency()), w.catchUp)
	case now.Before(w.node.suspended):
		world.at(w.node.suspended, w.catchUp)
	default:
		world.trace.note(now, w.node.name+" is shown", w.filter)
		w.show()
	}
}

func (w *watcher) show() {
	for _, m := range w.node.world.server.Messages(w.stream, w.prefix+w.filter) {
		if m.Sequence <= w.seen {
			continue
		}
		w.seen = m.Sequence
		select {
		case w.updates <- update{m, m.Subject[len(w.prefix):]}:
		default:
			w.over = true
		}
	}
}

// Updates implements jetstream.KeyWatcher.
func (w *watcher) Updates() <-chan jetstream.KeyValueEntry { return w.updates }

// Stop implements jetstream.KeyWatcher.
func (w *watcher) Stop() error {
	w.node.note("stop watching", func() { w.over = true })
	return nil
}

// update is an entry as a watcher shows it.
type update struct {
	message jsmodel.Message
	key     string
}

func (u update) Bucket() string     { return "" }
func (u update) Key() string        { return u.key }
func (u update) Value() []byte      { return u.message.Data }
func (u update) Revision() uint64   { return u.message.Sequence }
func (u update) Created() time.Time { return u.message.Stored }
func (u update) Delta() uint64      { return 0 }

func (u update) Operation() jetstream.KeyValueOp {
	if isTombstone(&u.message) {
		return jetstream.KeyValuePurge
	}
	return jetstream.KeyValuePut
}

// PutFor implements kv.ClusterBuckets.
func (n *node) PutFor(ctx context.Context, bucket, key string, data []byte, keep time.Duration) error {
	return n.do(ctx, whatUpdate, key, func(now time.Time) error {
		_, err := n.world.server.Publish(now, &nats.Msg{
			Subject: subjects.BucketSubject(bucket, key), Header: nats.Header{jetstream.MsgTTLHeader: {keep.String()}}, Data: data,
		})
		if err == nil {
			n.world.changed(bucket, now)
		}
		return err
	})
}

package simulation

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/cache"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/subjects"
)

// node is a process with its connection to JetStream: the bus and the buckets of what runs in it. After a crash a new node
// takes its place.
type node struct {
	world  *world
	name   string
	number int
	// skew is how far its clock is off, a time.Duration. Goroutines of the process read it.
	skew atomic.Int64
	// suspended is until when the process stands still.
	suspended time.Time
	// standstill says that it stands still beyond the end of all faults.
	standstill bool
	troubled   time.Time // when something last went wrong for it
	dead       bool
	stopping   bool
	role       string
	space      string // the namespace of a worker
	// definitions are the definitions that the process read last, where roles share them; nil otherwise.
	definitions *cache.Records[wire.Definition]
	ids         *ids
	api         *frontend.Local // of a frontend
	died        chan struct{}
	pulls       []*pull
	// received is the sequence of the newest generator task of each schedule that has arrived, by the subject of its timer.
	received map[string]uint64
	watchers []*watcher
	// subscriptions are the subscriptions to plain NATS messages. sends and hears are when the last plain message from and to the process
	// arrives.
	subscriptions []*subscription
	sends, hears  time.Time
	// birth is different for each process that there ever was, and inboxes counts its inboxes.
	birth            int
	inboxes, madeIDs atomic.Uint64
	// owners are for requests about executions.
	owners *owners.Owners
	// immune says that nothing happens to the process.
	immune bool
	cancel context.CancelFunc
}

var (
	_ bus.Bus    = (*node)(nil)
	_ kv.Buckets = (*node)(nil)
)

// now is the clock of the process.
func (n *node) now() time.Time { return time.Now().Add(time.Duration(n.skew.Load())) }

const maxPayload = 1 << 20

// ask makes a call that returns a value. The first value stays here: the call may be carried out, or repeated, when nobody
// waits for it any more.
func ask[T any](ctx context.Context, n *node, what, detail string, apply func(now time.Time) (T, error)) (T, error) {
	var answer, none T
	answered := false
	err := n.do(ctx, what, detail, func(now time.Time) error {
		given, err := apply(now)
		if !answered {
			answer, answered = given, true
		}
		return err
	})
	if err != nil {
		return none, err
	}
	return answer, nil
}

// Publish implements bus.Bus.
func (n *node) Publish(ctx context.Context, msg *nats.Msg) error {
	_, err := n.PublishOnce(ctx, msg)
	return err
}

// PublishOnce implements bus.Bus.
func (n *node) PublishOnce(ctx context.Context, msg *nats.Msg) (repeated bool, err error) {
	if msg.Size() > maxPayload {
		return false, nats.ErrMaxPayload
	}
	copied := &nats.Msg{Subject: msg.Subject, Header: msg.Header, Data: msg.Data}
	detail := msg.Subject
	if id := msg.Header.Get(nats.MsgIdHdr); id != "" {
		detail += idMark + id // several events of a kind each have their own, with their place
	}
	times := 0
	return ask(ctx, n, whatPublish, detail, func(now time.Time) (bool, error) {
		times++
		ack, err := n.world.server.Publish(now, copied)
		if err == nil && !ack.Duplicate {
			n.world.noteArmed(n, copied, now, times > 1)
			n.world.published(ack.Stream, copied, now)
			if n.role == roleFrontend {
				n.world.promises.guarded[copied.Subject+n.ids.prefix] = now
			}
		}
		if n.world.isControl(copied.Subject) { // it is a plain NATS message as well, whatever the stream says
			n.world.tellSubscribers(copied, now)
		}
		return ack.Duplicate, err
	})
}

// PublishAll implements bus.Bus.
func (n *node) PublishAll(ctx context.Context, msgs []*nats.Msg) error {
	errs := make(chan error, len(msgs))
	for _, msg := range msgs {
		go func() { errs <- n.Publish(ctx, msg) }()
	}
	var failed error
	for range msgs {
		if err := <-errs; err != nil {
			failed = err
		}
	}
	return failed
}

// Last implements bus.Bus.
func (n *node) Last(ctx context.Context, stream, subject string) (bus.Message, error) {
	return ask(ctx, n, whatLast, subject, func(time.Time) (bus.Message, error) {
		found, ok := n.world.server.Last(stream, subject)
		if !ok {
			return bus.Message{}, bus.ErrNone
		}
		return bus.Message{Sequence: found.Sequence, Header: found.Header, Data: found.Data}, nil
	})
}

// Next implements bus.Bus.
func (n *node) Next(ctx context.Context, stream, subject string, from uint64) (bus.Message, error) {
	return ask(ctx, n, whatLast, subject+" from "+strconv.FormatUint(from, 10), func(time.Time) (bus.Message, error) {
		for _, m := range n.world.server.Messages(stream, subject) {
			if m.Sequence >= from {
				return bus.Message{Subject: m.Subject, Sequence: m.Sequence, Header: m.Header, Data: m.Data}, nil
			}
		}
		return bus.Message{}, bus.ErrNone
	})
}

// Remove implements bus.Bus.
func (n *node) Remove(ctx context.Context, stream string, sequence uint64) error {
	return n.do(ctx, whatRemove, stream+" "+strconv.FormatUint(sequence, 10), func(time.Time) error {
		n.world.promisedByRemove(n, stream, sequence)
		n.world.removing(stream, sequence)
		n.world.executions.removing(stream, sequence)
		n.world.server.Remove(stream, sequence)
		return nil
	})
}

// Purge implements bus.Bus.
func (n *node) Purge(ctx context.Context, stream, subject string) error {
	return n.do(ctx, whatPurge, subject, func(time.Time) error {
		n.world.server.Purge(stream, subject)
		return nil
	})
}

// Backlog implements bus.Bus.
func (n *node) Backlog(ctx context.Context, stream, consumer string) (int, error) {
	return ask(ctx, n, whatBacklog, stream+" "+consumer, func(time.Time) (int, error) {
		if !n.world.server.HasConsumer(stream, consumer) {
			return 0, jetstream.ErrConsumerNotFound
		}
		return n.world.server.Backlog(stream, consumer), nil
	})
}

// Delivered implements bus.Bus.
func (n *node) Delivered(ctx context.Context, stream, consumer string) (uint64, error) {
	return ask(ctx, n, whatBacklog, "delivered of "+stream+" "+consumer, func(time.Time) (uint64, error) {
		if !n.world.server.HasConsumer(stream, consumer) {
			return 0, nil
		}
		return n.world.server.Delivered(stream, consumer), nil
	})
}

// Subjects implements bus.Bus.
func (n *node) Subjects(ctx context.Context, stream, filter string) (int, error) {
	return ask(ctx, n, whatBacklog, stream+" "+filter, func(time.Time) (int, error) {
		return len(n.world.server.Messages(stream, filter)), nil
	})
}

// Connected implements bus.Bus.
func (n *node) Connected() bool {
	return !n.Closed() && time.Now().UnixNano() >= n.world.reachable.Load()
}

// Closed implements bus.Bus.
func (n *node) Closed() bool {
	select {
	case <-n.died:
		return true
	default:
		return false
	}
}

// MaxPayload implements bus.Bus.
func (n *node) MaxPayload() int64 { return maxPayload }

// Flush implements bus.Bus.
func (n *node) Flush(context.Context) error { return nil }

// Close implements bus.Bus.
func (n *node) Close() {}

// Get implements kv.Buckets. The replica that answers may not have seen the newest writes.
func (n *node) Get(ctx context.Context, bucket, key string) (kv.Entry, error) {
	return n.get(ctx, whatGet, bucket, key)
}

// GetLeader implements kv.Buckets.
func (n *node) GetLeader(ctx context.Context, bucket, key string) (kv.Entry, error) {
	return n.get(ctx, whatLeader, bucket, key)
}

func (n *node) get(ctx context.Context, what, bucket, key string) (kv.Entry, error) {
	stream, subject := subjects.BucketStream(bucket), subjects.BucketSubject(bucket, key)
	return ask(ctx, n, what, key, func(time.Time) (kv.Entry, error) {
		sequence := n.world.server.LastSequence(stream)
		if what == whatGet {
			sequence = n.world.seen(stream)
		}
		m, ok := n.world.server.LastAt(stream, subject, sequence)
		if !ok || m.Header.Get("KV-Operation") != "" {
			return kv.Entry{}, kv.ErrNotFound
		}
		return kv.Entry{Data: m.Data, Revision: m.Sequence}, nil
	})
}

// seen is the last sequence of a stream that the answering replica knows.
func (w *world) seen(stream string) uint64 {
	sequence := w.server.LastSequence(stream)
	return max(sequence-min(sequence, w.lag), w.caughtUp[stream])
}

// mostMatching is how many entries fit into one answer of the model: few, so that there are often more. (The server looks at
// 1,024 subjects, deleted ones included, and returns none if there are more.)
const mostMatching = 3

// GetMatching implements kv.Buckets. The replica that answers may not have seen the newest writes. As in NATS, the answer says
// how far the replica knows the bucket only if the bucket has something that matches.
func (n *node) GetMatching(ctx context.Context, bucket string, filters []string) (kv.Matching, error) {
	stream, prefix := subjects.BucketStream(bucket), subjects.BucketSubject(bucket, "")
	found, err := ask(ctx, n, whatGet, strings.Join(filters, " "), func(time.Time) (found kv.Matching, err error) {
		seen := n.world.seen(stream)
		for _, filter := range filters {
			for _, m := range n.world.server.MessagesAt(stream, prefix+filter, seen) {
				found.UpTo = seen
				if m.Header.Get("KV-Operation") == "" {
					entry := kv.Entry{Data: m.Data, Revision: m.Sequence}
					found.Entries = append(found.Entries, kv.NamedEntry{Key: m.Subject[len(prefix):], Entry: entry})
				}
			}
		}
		return found, nil
	})
	if len(found.Entries) > mostMatching {
		found.Entries, found.Rest = found.Entries[:mostMatching], true
	}
	return found, err
}

// Newest implements kv.Buckets.
func (n *node) Newest(ctx context.Context, bucket string) (uint64, error) {
	return ask(ctx, n, whatLeader, "newest of "+bucket, func(time.Time) (uint64, error) {
		return n.world.server.LastSequence(subjects.BucketStream(bucket)), nil
	})
}

// Create implements kv.Buckets.
func (n *node) Create(ctx context.Context, bucket, key string, data []byte) (uint64, error) {
	return n.write(ctx, whatCreate, bucket, key, data, nil, func(last jsmodel.Message, ok bool) bool {
		return !ok || last.Header.Get("KV-Operation") != ""
	})
}

// Update implements kv.Buckets.
func (n *node) Update(ctx context.Context, bucket, key string, data []byte, revision uint64) (uint64, error) {
	return n.write(ctx, whatUpdate, bucket, key, data, nil, func(last jsmodel.Message, ok bool) bool {
		return last.Sequence == revision
	})
}

// Delete implements kv.Buckets.
func (n *node) Delete(ctx context.Context, bucket, key string, revision uint64, note kv.Note) error {
	header := nats.Header{
		"KV-Operation": {"PURGE"}, jetstream.MsgRollup: {jetstream.MsgRollupSubject},
		jetstream.MsgTTLHeader: {subjects.TombstoneAge.String()},
	}
	note.AddTo(header)
	_, err := n.write(ctx, whatDelete, bucket, key, nil, header, func(last jsmodel.Message, _ bool) bool {
		return last.Sequence == revision
	})
	return err
}

// Trace implements kv.Buckets.
func (n *node) Trace(ctx context.Context, bucket, key string) (kv.Note, uint64, error) {
	type trace struct {
		note     kv.Note
		revision uint64
	}
	found, err := ask(ctx, n, whatLeader, "trace of "+key, func(time.Time) (trace, error) {
		m, _ := n.world.server.Last(subjects.BucketStream(bucket), subjects.BucketSubject(bucket, key))
		if m.Header.Get("KV-Operation") == "" {
			return trace{}, nil
		}
		return trace{kv.NoteIn(m.Header), m.Sequence}, nil
	})
	return found.note, found.revision, err
}

func (n *node) write(
	ctx context.Context, what, bucket, key string, data []byte, header nats.Header,
	allowed func(last jsmodel.Message, ok bool) bool,
) (uint64, error) {
	stream, subject := subjects.BucketStream(bucket), subjects.BucketSubject(bucket, key)
	if len(data) > maxPayload {
		return 0, nats.ErrMaxPayload
	}
	sent := time.Now()
	return ask(ctx, n, what, key, func(now time.Time) (uint64, error) {
		before, there := n.world.server.Last(stream, subject)
		if !allowed(before, there) {
			return 0, kv.ErrConflict
		}
		ack, err := n.world.server.Publish(now, &nats.Msg{Subject: subject, Header: header, Data: data})
		if err != nil {
			return 0, err
		}
		switch {
		case bucket == n.world.names.ClusterBucket():
			n.world.wroteCluster(key, data, now)
		case what == whatDelete:
			n.world.wrote(n, key, data, now)
			n.world.promisedByDeletion(n, key, before)
		default:
			n.world.wrote(n, key, data, now)
			n.world.promisedByRecord(n, key, before, data, sent)
		}
		return ack.Sequence, nil
	})
}

// Names implements kv.Buckets.
func (n *node) Names(ctx context.Context, bucket, filter string) ([]string, bool, error) {
	prefix := subjects.BucketSubject(bucket, "")
	names, err := ask(ctx, n, whatKeys, "and traces of "+filter, func(time.Time) (names []string, err error) {
		for _, m := range n.world.server.Messages(subjects.BucketStream(bucket), prefix+filter) {
			names = append(names, m.Subject[len(prefix):])
		}
		return names, nil
	})
	return names, false, err
}

// Keys implements kv.Buckets.
func (n *node) Keys(ctx context.Context, bucket, filter string) ([]string, error) {
	prefix := subjects.BucketSubject(bucket, "")
	return ask(ctx, n, whatKeys, filter, func(time.Time) (keys []string, err error) {
		for _, m := range n.world.server.Messages(subjects.BucketStream(bucket), prefix+filter) {
			if m.Header.Get("KV-Operation") == "" {
				keys = append(keys, m.Subject[len(prefix):])
			}
		}
		return keys, nil
	})
}

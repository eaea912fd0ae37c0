package consistency

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// trail is the messages that a stream has when it is walked, read one at a time from the oldest on, from any replica. What is
// written anew meanwhile moves behind the end. A list of them would be made in one piece, while which the stream answers nobody, and
// be out of date before a slow reader comes to its end.
type trail struct {
	js     jetstream.JetStream
	name   string
	stream jetstream.Stream
	// last is the sequence of the message that was read last, end that at which to end.
	last, end uint64
}

// next returns the subject of the next message that is not the trace of a deleted record; empty after the last one. After an error it
// may be called again.
func (t *trail) next(ctx context.Context) (string, error) {
	if err := t.open(ctx); err != nil {
		return "", err
	}
	for t.last < t.end {
		msg, err := t.stream.GetMsg(ctx, t.last+1, jetstream.WithGetMsgSubject(">"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("consistency: read %s: %w", t.name, err)
		}
		if t.last = msg.Sequence; t.last <= t.end && !kv.IsTombstone(msg.Header) {
			return msg.Subject, nil
		}
	}
	return "", nil
}

func (t *trail) open(ctx context.Context) (err error) {
	if t.stream != nil {
		return nil
	}
	stream, err := t.js.Stream(ctx, t.name)
	if err != nil {
		return fmt.Errorf("consistency: open %s: %w", t.name, err)
	}
	t.stream, t.end = stream, stream.CachedInfo().State.LastSeq
	return nil
}

// trails are what is stored about the schedules of a shard: their records, and their tasks and timers.
func (r *reader) trails(shard int) []*trail {
	lane := r.lanes.Of(shard, r.js)
	return []*trail{
		{js: lane, name: subjects.BucketStream(r.names.StateBucket(shard))},
		{js: lane, name: r.names.TaskStream(shard)},
	}
}

// owner returns the schedule that a message is about, and whether it is the definition of that. It is false for messages about none.
func (r *reader) owner(shard int, subject string) (key schedule.Key, definition, ok bool) {
	if name, is := strings.CutPrefix(subject, subjects.BucketSubject(r.names.StateBucket(shard), "")); is {
		key, err := subjects.ParseStateKey(name)
		return key, err == nil && name == kv.Definition(key).String(), err == nil
	}
	if task, err := r.names.ParseTask(subject); err == nil {
		return task.Key, false, true
	}
	key, _, ok = parseTimer(r.names, subject)
	return key, false, ok
}

// defined reports whether a schedule has a definition, as any replica has it.
func (r *reader) defined(ctx context.Context, shard int, key schedule.Key) (bool, error) {
	var definition Stored[schedule.Definition]
	err := read(ctx, r.buckets.Get, r.names.StateBucket(shard), kv.Definition(key).String(), &definition)
	return definition.there(), err
}

package consistency

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// step is how many messages of a trail to read at once.
const step = 16

// trail is the messages that a stream has when the walk begins, from the oldest on, from any replica. A message that is written
// again meanwhile moves behind the end. A trail is better than a list of the stream: while it makes a list, the stream answers
// nobody, and the list would be out of date before a slow reader reaches its end.
type trail struct {
	streams Streams
	shard   int
	name    string
	// passedBy names a consumer of the stream if the trail has only the messages that this consumer has passed over. If it is
	// empty, the trail has all messages.
	passedBy string
	// journals is set for the stream of journals.
	journals bool
	// last is the sequence of the message that was read last, end the sequence at which to end. end is 0 until it is known.
	last, end uint64
}

// next returns the subjects of the next few messages, without those of deleted records. It returns none after the last message.
// After an error it may be called again.
func (t *trail) next(ctx context.Context) (met []string, err error) {
	if err := t.open(ctx); err != nil {
		return nil, err
	}
	for more := true; more && len(met) == 0 && t.last < t.end; {
		var messages []bus.Message
		messages, more, err = t.streams.Since(ctx, t.shard, t.name, t.last, step)
		if err != nil {
			return nil, fmt.Errorf("consistency: %w", err)
		}
		for i := range messages {
			if t.last = messages[i].Sequence; t.last <= t.end && !kv.IsTombstone(messages[i].Header) {
				met = append(met, messages[i].Subject)
			}
		}
	}
	return met, nil
}

func (t *trail) open(ctx context.Context) error {
	if t.end > 0 {
		return nil
	}
	end, err := t.streams.End(ctx, t.shard, t.name)
	if t.passedBy != "" {
		end, err = t.streams.Floor(ctx, t.name, t.passedBy)
	}
	if err != nil {
		return fmt.Errorf("consistency: open %s: %w", t.name, err)
	}
	t.end = end
	return nil
}

// trails returns what is stored about the schedules of a shard: their records, their tasks and timers, and completions that
// nobody will take.
func (r *reader) trails(shard int) []*trail {
	return []*trail{
		{streams: r.streams, shard: shard, name: subjects.BucketStream(r.names.StateBucket(shard))},
		{streams: r.streams, shard: shard, name: r.names.TaskStream(shard)},
		{streams: r.streams, shard: shard, name: r.names.CallbackStream(shard), passedBy: subjects.PoolInvoker},
	}
}

// owner returns the schedule that a message is about, and whether the message is its definition. ok is false if it is about none, as the
// messages of executions are.
func (r *reader) owner(shard int, subject string) (key schedule.Key, definition, ok bool) {
	if name, is := strings.CutPrefix(subject, subjects.BucketSubject(r.names.StateBucket(shard), "")); is {
		key, err := subjects.ParseStateKey(name)
		return key, err == nil && name == kv.Definition(key).String(), err == nil
	}
	if task, err := r.names.ParseTask(subject); err == nil {
		return task.Key, false, task.Role != subjects.RoleExecution
	}
	key, _, ok = parseTimer(r.names, subject)
	return key, false, ok
}

// owners returns the schedules that some messages are about.
func (r *reader) owners(shard int, met []string) (keys []schedule.Key) {
	for _, subject := range met {
		if key, _, ok := r.owner(shard, subject); ok && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// undefined returns those of some schedules of a shard that have no known definition, according to any replica.
func (r *reader) undefined(ctx context.Context, shard int, keys []schedule.Key) (gone []schedule.Key, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = kv.Definition(key).String()
	}
	found, err := r.buckets.GetMatching(ctx, r.names.StateBucket(shard), names)
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		if !slices.ContainsFunc(found.Entries, func(e kv.NamedEntry) bool { return e.Key == names[i] }) {
			gone = append(gone, key)
		}
	}
	return gone, nil
}

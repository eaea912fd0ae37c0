package consistency

import (
	"context"
	"fmt"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// glance looks at one schedule. It asks any replica, in two requests. Only if that shows a fault, or is not enough, does it look
// at the leader. Most schedules wait for their time and have no fault.
func (c *Checker) glance(ctx context.Context, key schedule.Key) ([]Finding, error) {
	s, told, err := c.reader.glance(ctx, key)
	if err != nil || told && len(inspect(s)) == 0 {
		return nil, err
	}
	return c.look(ctx, key)
}

// glance makes a snapshot of a schedule that has no tasks. told is false if the schedule has tasks, or if more is stored of it
// than fits into an answer: then two requests are not enough. It does not look for completions. They can explain an apparent
// fault, but never cause one.
func (r *reader) glance(ctx context.Context, key schedule.Key) (s Snapshot, told bool, err error) {
	v := newSurvey(r.store.ShardOf(key))
	stream := r.names.TaskStream(v.shard)
	messages, rest, err := r.streams.Newest(ctx, v.shard, stream, r.tasksOf(v.shard, key)...)
	if err != nil || rest {
		return Snapshot{}, false, err
	}
	for i := range messages {
		if v.addMessage(r.names, messages[i].Subject) {
			return Snapshot{}, false, nil
		}
	}
	records, err := r.buckets.GetMatching(ctx, r.names.StateBucket(v.shard), []string{subjects.StateKey(key, ">")})
	if err != nil || records.Rest {
		return Snapshot{}, false, err
	}
	entries := make(map[string]kv.Entry, len(records.Entries))
	for _, record := range records.Entries {
		v.addRecord(record.Key)
		entries[record.Key] = record.Entry
	}
	s, err = r.snapshot(ctx, of(entries), v, key)
	return s, true, err
}

// of returns a get for entries that have been read already.
func of(entries map[string]kv.Entry) get {
	return func(_ context.Context, _, key string) (kv.Entry, error) {
		if entry, there := entries[key]; there {
			return entry, nil
		}
		return kv.Entry{}, fmt.Errorf("%w: %s", kv.ErrNotFound, key)
	}
}

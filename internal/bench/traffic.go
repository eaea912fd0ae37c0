package bench

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/subjects"
)

// streamKinds returns the kind of every stream of an installation, by its name.
func streamKinds(names subjects.Names, shards int) map[string]string {
	kinds := map[string]string{
		names.ActionStream():                         "actions",
		names.ControlStream():                        "control",
		names.EventStream():                          "events",
		names.ProgressStream():                       "progress",
		names.DeadLetterStream():                     "dead_letters",
		names.WorkerDeadLetterStream():               "dead_letters",
		names.BacklogStream():                        kindBacklog,
		names.HeartbeatStream():                      "heartbeats",
		subjects.BucketStream(names.ClusterBucket()): "cluster",
		subjects.BucketStream(names.StateBucket(0)):  "state",
		names.TaskStream(0):                          "tasks",
		names.CallbackStream(0):                      "callbacks",
	}
	for shard := range shards {
		kinds[names.TaskStream(shard)], kinds[names.CallbackStream(shard)] = "tasks", "callbacks"
		kinds[subjects.BucketStream(names.StateBucket(shard))], kinds[names.JournalStream(shard)] = "state", kindJournals
	}
	return kinds
}

// traffic is how many messages have been stored so far, by kind of stream, and how many bytes the streams contain.
type traffic struct {
	messages map[string]uint64
	bytes    uint64
	// journals is how many bytes those of the journals are.
	journals uint64
}

// readTraffic asks for the last sequence of each stream. Each stored message gets one, including a record that overwrites and a
// message that replaces another.
func readTraffic(ctx context.Context, js jetstream.JetStream, kinds map[string]string) (traffic, error) {
	t := traffic{messages: map[string]uint64{}}
	for name, kind := range kinds {
		stream, err := js.Stream(ctx, name)
		if err != nil {
			return t, fmt.Errorf("bench: read stream %s: %w", name, err)
		}
		state := stream.CachedInfo().State
		t.messages[kind] += state.LastSeq
		t.bytes += state.Bytes
		if kind == kindJournals {
			t.journals += state.Bytes
		}
	}
	return t, nil
}

// kindJournals is the kind of the streams with the journals of workflow IDs.
const kindJournals = "journals"

// journalSize is the mean size of the entries of journals since an earlier reading, with what NATS adds to each; 0 if there are none.
func (t traffic) journalSize(before traffic) int {
	entries := t.messages[kindJournals] - before.messages[kindJournals]
	if entries == 0 {
		return 0
	}
	return int((t.journals - before.journals) / entries)
}

// each divides the messages stored since an earlier reading by a number of actions. Kinds without any are left out.
func (t traffic) each(before traffic, actions int) (all Rate, byStream map[string]Rate) {
	if actions == 0 {
		return 0, nil
	}
	byStream = map[string]Rate{}
	for kind, count := range t.messages {
		if stored := count - before.messages[kind]; stored > 0 {
			byStream[kind] = Rate(float64(stored) / float64(actions))
		}
	}
	for rate := range maps.Values(byStream) {
		all += rate
	}
	return all, byStream
}

// rawStream and rawSubject are the scratch stream of [rawPuts].
func rawStream(names subjects.Names) string { return names.EventStream() + "_BENCH" }

func rawSubject(names subjects.Names, publisher int) string {
	return names.Prefix() + ".bench." + strconv.Itoa(publisher)
}

package subjects_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestEveryTaskReachesOnePool: the consumers of a task stream cover all tasks and callbacks, each once, and no timer.
func TestEveryTaskReachesOnePool(t *testing.T) {
	t.Parallel()
	n := subjects.Default()
	for _, id := range awkward {
		key := schedule.Key{Namespace: "default", ID: id}
		for subject, pool := range map[string]string{
			n.Generate(2, key, subjects.WhatWake):                                  subjects.PoolGenerator,
			n.Generate(2, key, subjects.WhatDue):                                   subjects.PoolGenerator,
			n.Generate(2, key, subjects.WhatGuard):                                 subjects.PoolGenerator,
			n.GenerateGuard(2, key, 1):                                             subjects.PoolGenerator,
			n.InvokeWake(2, key):                                                   subjects.PoolInvoker,
			n.InvokeEnqueue(2, key, schedule.SourceAuto, wire.Span{}):              subjects.PoolInvoker,
			n.Callback(2, key, id, "r1"):                                           subjects.PoolInvoker,
			n.Timeout(2, key, "r1"):                                                subjects.PoolInvoker,
			n.Backfill(2, key, "b1"):                                               subjects.PoolBackfiller,
			n.ExecutionDue(2, key):                                                 subjects.PoolHistory,
			n.ExecutionTimer(2, key, time.Unix(1, 0)):                              "",
			n.DueTimer(2, key):                                                     "",
			n.GuardTimer(2, key, 1):                                                "",
			n.RetryTimer(2, key):                                                   "",
			n.BackfillTimer(2, key, "b1"):                                          "",
			n.TimeoutTimer(2, key, "r1"):                                           "",
			n.Generate(1, key, subjects.WhatWake):                                  "", // of another shard
			strings.Replace(n.InvokeWake(2, key), "carillon.", "carillon-too.", 1): "",
		} {
			pools := []string{}
			for _, consumer := range n.PoolConsumers(2) {
				stored := slices.ContainsFunc(n.StreamConfigs(3, 1), func(s jetstream.StreamConfig) bool {
					return s.Name == consumer.Stream && matchesAny(s.Subjects, subject)
				})
				if stored && matchesAny(consumer.Config.FilterSubjects, subject) {
					pools = append(pools, consumer.Config.Durable)
				}
			}
			require.Equal(t, strings.Fields(pool), pools, subject)
		}
	}
}

// TestFiltersDoNotOverlap: work-queue retention demands it. All filters end in ">", so two overlap if one is the beginning of the
// other.
func TestFiltersDoNotOverlap(t *testing.T) {
	t.Parallel()
	for _, consumers := range subjects.Default().ConsumersByStream(12) { // 1 and 11 begin alike
		var filters []string
		for _, consumer := range consumers {
			filters = append(filters, consumer.FilterSubjects...)
		}
		for i, a := range filters {
			require.True(t, strings.HasSuffix(a, ".>"))
			for _, b := range filters[i+1:] {
				a, b := strings.TrimSuffix(a, ">"), strings.TrimSuffix(b, ">")
				require.False(t, strings.HasPrefix(a, b) || strings.HasPrefix(b, a), "%s %s", a, b)
			}
		}
	}
}

// TestEverySubjectHasOneStream: no subject is lost, and no two streams store the same one.
func TestEverySubjectHasOneStream(t *testing.T) {
	t.Parallel()
	n, key := subjects.Default(), schedule.Key{Namespace: "default", ID: "a.b"}
	all := map[string]string{
		n.Callback(0, key, "q", "r1"):                      n.CallbackStream(0),
		n.Callback(1, key, "q", "r1"):                      n.CallbackStream(1),
		n.Callback(11, key, "q", "r1"):                     n.CallbackStream(11),
		n.CallbackAnchor(1):                                n.CallbackStream(1),
		n.Action("default", "q", "w"):                      n.ActionStream(),
		n.ActionAnchor():                                   n.ActionStream(),
		n.Backlog(backQueue):                               n.BacklogStream(),
		n.BacklogAnchor():                                  n.BacklogStream(),
		n.BacklogHint(backQueue):                           "",
		n.Poll(backQueue):                                  "",
		n.TaskAnchor(1):                                    n.TaskStream(1),
		n.TaskAnchor(11):                                   n.TaskStream(11),
		n.PulseTimer(3):                                    n.TaskStream(3),
		n.Pulse(3):                                         n.TaskStream(3),
		n.Control("default", "q", "w"):                     n.ControlStream(),
		n.Progress("default", "q", "w"):                    n.ProgressStream(),
		n.DeadLetter(subjects.PoolGenerator):               n.DeadLetterStream(),
		n.WorkerDeadLetter("default", "a.b"):               n.WorkerDeadLetterStream(),
		completionLetter(n):                                n.WorkerDeadLetterStream(),
		n.SharedWorkerDeadLetter():                         n.WorkerDeadLetterStream(),
		n.Event(key, schedule.EventStarted):                n.EventStream(),
		n.API("default", subjects.ThingSchedule, "create"): "",
		n.Journal(1, key):                                  n.JournalStream(1),
		n.Journal(11, key):                                 n.JournalStream(11),
		n.Heartbeat(key, "r", 5):                           n.HeartbeatStream(),
		n.ExecutionTimer(1, key, time.Unix(1, 0)):          n.TaskStream(1),
		n.ExecutionDue(1, key):                             n.TaskStream(1),
		n.Execution(1, "default", "start"):                 "",
		n.QueryAnswer("default", "q"):                      "",
	}
	for _, subject := range scheduleSubjects(n, key) {
		switch {
		case strings.HasPrefix(subject, "carillon.event."):
		case subjects.IsCallback(subject):
			all[subject] = n.CallbackStream(0)
		default:
			all[subject] = n.TaskStream(0)
		}
	}
	for subject, want := range all {
		streams := []string{}
		for _, config := range n.StreamConfigs(12, 3) {
			if matchesAny(config.Subjects, subject) {
				streams = append(streams, config.Name)
			}
		}
		require.Equal(t, strings.Fields(want), streams, subject)
	}
}

// TestAnchors: the anchor is in the same stream as what a pool stores, and no pool or worker takes it.
func TestAnchors(t *testing.T) {
	t.Parallel()
	n, key := subjects.Default(), schedule.Key{Namespace: "default", ID: "a.b"}
	for _, id := range awkward {
		key := schedule.Key{Namespace: "default", ID: id}
		for subject, want := range map[string]string{
			n.Action("default", id, id):               n.ActionAnchor(),
			n.Backlog(backQueue):                      n.BacklogAnchor(),
			n.BacklogHint(backQueue):                  "",
			n.Generate(11, key, subjects.WhatDue):     n.TaskAnchor(11),
			n.InvokeWake(0, key):                      n.TaskAnchor(0),
			n.Backfill(2, key, "b1"):                  n.TaskAnchor(2),
			n.TimeoutTimer(3, key, "r1"):              n.TaskAnchor(3),
			n.Timeout(3, key, "r1"):                   n.TaskAnchor(3),
			n.Callback(2, key, id, "r1"):              n.CallbackAnchor(2),
			n.Event(key, schedule.EventStarted):       "",
			n.Control("default", id, id):              "",
			subjects.StateKey(key, "definition"):      "",
			n.DeadLetter(subjects.PoolInvoker):        "",
			n.Prefix():                                "",
			"$KV.carillon-state-0.default.a.invoker.": "",
		} {
			anchor, ok := subjects.AnchorOf(subject)
			require.Equal(t, want, anchor, subject)
			require.Equal(t, want != "", ok, subject)
		}
	}
	for shard := range 12 {
		for _, consumer := range n.PoolConsumers(shard) {
			for _, nobodys := range []string{n.TaskAnchor(shard), n.CallbackAnchor(shard), n.Pulse(shard)} {
				require.False(t, matchesAny(consumer.Config.FilterSubjects, nobodys), consumer.Stream)
			}
		}
	}
	require.False(t, matches(n.WorkerConsumer(key.Namespace, "q").FilterSubject, n.ActionAnchor()))
	require.False(t, matches(n.BacklogConsumer(backQueue).FilterSubject, n.BacklogAnchor()))
}

func TestStreamsAreSafe(t *testing.T) {
	t.Parallel()
	configs := subjects.Default().StreamConfigs(4, 3)
	require.Len(t, configs, 8+3*4)
	for _, config := range configs {
		require.Equal(t, 3, config.Replicas, config.Name)
		require.Equal(t, jetstream.FileStorage, config.Storage, config.Name)
		if config.AllowMsgSchedules {
			require.Equal(t, jetstream.DiscardOld, config.Discard, "refused by the server otherwise")
			require.EqualValues(t, 1, config.MaxMsgsPerSubject)
		}
	}
	bucket := subjects.Default().BucketConfig("b", 3)
	require.Equal(t, 3, bucket.Replicas)
	require.Equal(t, jetstream.FileStorage, bucket.Storage)
}

func TestWorkerConsumers(t *testing.T) {
	t.Parallel()
	n := subjects.Default()
	config := n.WorkerConsumer("default", "a.b")
	require.Equal(t, "worker_default_a=2Eb", config.Durable)
	require.True(t, matches(config.FilterSubject, n.Action("default", "a.b", "w")))
	require.False(t, matches(config.FilterSubject, n.Action("default", "a", "b")))
	require.False(t, matches(config.FilterSubject, n.Action("other", "a.b", "w")))

	long := strings.Repeat("q.", 100)
	names := []string{
		subjects.WorkerConsumerName("default", long), subjects.WorkerConsumerName("default", long+"1"),
		subjects.WorkerConsumerName("default", long+"2"), subjects.WorkerConsumerName("other", long),
		subjects.WorkerConsumerName("default", "q"), subjects.WorkerConsumerName("default", "Q"),
	}
	slices.Sort(names)
	require.Len(t, slices.Compact(names), 6)
}

func matchesAny(filters []string, subject string) bool {
	return slices.ContainsFunc(filters, func(filter string) bool { return matches(filter, subject) })
}

// matches reports whether a subject matches a filter.
func matches(filter, subject string) bool {
	wanted, tokens := strings.Split(filter, "."), strings.Split(subject, ".")
	for i, want := range wanted {
		switch {
		case i >= len(tokens):
			return false
		case want == ">":
			return true
		case want != "*" && want != tokens[i]:
			return false
		}
	}
	return len(wanted) == len(tokens)
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	names := subjects.Default()
	require.Equal(t, []string{names.ClusterBucket(), names.StateBucket(0), names.StateBucket(1)}, names.Buckets(2))
	require.Equal(t, "KV_carillon-cluster", subjects.BucketStream(names.ClusterBucket()))
	require.Equal(t, "$KV.carillon-cluster.places.default", subjects.BucketSubject(names.ClusterBucket(), "places.default"))
}

// completionLetter is the subject of a letter about a completion.
func completionLetter(n subjects.Names) string {
	subject, _ := n.CompletionDeadLetter(n.Callback(0, schedule.Key{Namespace: "default", ID: "a"}, "q", "r1"), 100)
	return subject
}

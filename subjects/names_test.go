package subjects_test

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// awkward are IDs that must survive being a token.
var awkward = []string{
	"plain", "with space", "dot.ted", "..", "*", ">", "a.*.>", "=", "=2E", "$JS.API", "🔔🔔", "日本", "tab\there", "\x00",
	strings.Repeat("x", 255), strings.Repeat(".", 255), strings.Repeat("é", 127) + "!",
}

func TestPrefixIsChecked(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"a", "carillon", "two-words", "0", strings.Repeat("x", 32)} {
		names, err := subjects.New(prefix)
		require.NoError(t, err)
		require.Equal(t, prefix, names.Prefix())
	}
	for _, prefix := range []string{"", "Upper", "a.b", "a_b", "a b", "*", ">", "ü", strings.Repeat("x", 33)} {
		_, err := subjects.New(prefix)
		require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeInvalidArgument}, prefix)
	}
	require.Equal(t, subjects.DefaultPrefix, subjects.Default().Prefix())
}

// TestGoldenNames has the names on disk and on the wire. They cannot change without a new format version.
func TestGoldenNames(t *testing.T) {
	t.Parallel()
	n, key := subjects.Default(), schedule.Key{Namespace: "default", ID: "a.b"}
	span := wire.Span{From: time.Unix(0, 35), To: time.Unix(0, 36)}
	for want, have := range map[string]string{
		"carillon.task.3.generate.default.a=2Eb.wake-7":  n.GenerateWake(3, key, 7),
		"carillon.task.3.generate.default.a=2Eb.due":     n.Generate(3, key, subjects.WhatDue),
		"carillon.task.3.generate.default.a=2Eb.guard":   n.Generate(3, key, subjects.WhatGuard),
		"carillon.task.3.generate.default.a=2Eb.guard-7": n.GenerateGuard(3, key, 7),
		"carillon.task.3.invoke.default.a=2Eb.wake":      n.InvokeWake(3, key),
		"carillon.task.3.invoke.default.a=2Eb.deleted":   n.InvokeDeleted(3, key),
		"carillon.task.3.invoke.default.a=2Eb.auto-z-10": n.InvokeEnqueue(3, key, schedule.SourceAuto, span),
		"carillon.task.3.invoke.>":                       n.InvokerTasks(3),
		"carillon.task.3.backfill.default.a=2Eb.b1":      n.Backfill(3, key, "b1"),
		"carillon.timer.3.due.default.a=2Eb":             n.DueTimer(3, key),
		"carillon.timer.3.guard.default.a=2Eb.7":         n.GuardTimer(3, key, 7),
		"carillon.timer.3.guard.default.a=2Eb.*":         n.GuardTimers(3, key),
		"carillon.timer.3.retry.default.a=2Eb":           n.RetryTimer(3, key),
		"carillon.timer.3.backfill.default.a=2Eb.b1":     n.BackfillTimer(3, key, "b1"),
		"carillon.timer.3.timeout.default.a=2Eb.r1":      n.TimeoutTimer(3, key, "r1"),
		"carillon.timer.3.timeout.>":                     n.TimeoutTimers(3),
		"carillon.callback.3.>":                          n.Callbacks(3),
		"carillon.callback.3.default.q=20q.a=2Eb.r1":     n.Callback(3, key, "q q", "r1"),
		"namespace.default":                              subjects.NamespaceKey("default"),
		"job.default.j1":                                 subjects.JobKey("default", "j1"),
		"rate.default":                                   subjects.StartRateKey("default"),
		"places.default":                                 subjects.PlacesKey("default"),
		"carillon.action.default.q=20q.w=20w":            n.Action("default", "q q", "w w"),
		"carillon.action.default.q=20q.>":                n.ActionQueue("default", "q q"),
		"carillon.anchor.action":                         n.ActionAnchor(),
		"carillon.execution.3.default.start-task":        n.Execution(3, "default", subjects.VerbStartTask),
		"carillon.anchor.backlog":                        n.BacklogAnchor(),
		"carillon.poll.default.workflow.a=2Eb":           n.Poll(backQueue),
		"carillon.standing-offer.default.workflow.a=2Eb": n.StandingOffer(backQueue),
		"carillon.pollers.default.workflow.a=2Eb":        n.Pollers(backQueue),
		"carillon.pollers.*.*.*":                         n.AllPollers(),
		"carillon.task-rates.default.workflow.a=2Eb":     n.TaskRates(backQueue),
		"carillon.task-rates.*.*.*":                      n.AllTaskRates(),
		"carillon.poll-inbox.g.":                         n.PollInbox("g"),
		"carillon.worker-beats":                          n.WorkerBeats(),
		"carillon.worker-roster":                         n.WorkerRoster(),
		"carillon.worker-stops":                          n.WorkerStops(),
		"carillon.backlog.default.workflow.a=2Eb":        n.Backlog(backQueue),
		"carillon.backlog.>":                             n.Backlogs(),
		"carillon.backlog.default.workflow.a=2Eb.1":      n.BacklogAt(backQueue, 1),
		"carillon.backlog.default.workflow.a=2Eb.*":      n.OtherBacklogs(backQueue),
		"backlog-5_default_workflow_a=2Eb":               n.BacklogConsumerAt(backQueue, 5).Durable,
		"carillon.backlog-hint.default.workflow.a=2Eb":   n.BacklogHint(backQueue),
		"carillon.backlog-hint.*.*.*":                    n.BacklogHints(),
		"CARILLON_BACKLOG":                               n.BacklogStream(),
		"backlog_default_workflow_a=2Eb":                 n.BacklogConsumer(backQueue).Durable,
		"carillon.anchor.task.3":                         n.TaskAnchor(3),
		"carillon.timer.3.pulse":                         n.PulseTimer(3),
		"carillon.timer.3.pulsed":                        n.Pulse(3),
		"carillon.anchor.>":                              n.Anchors(),
		"carillon.control.default.q=20q.w=20w":           n.Control("default", "q q", "w w"),
		"carillon.control.default.q=20q.>":               n.ControlQueue("default", "q q"),
		"carillon.progress.default.q=20q.w=20w":          n.Progress("default", "q q", "w w"),
		"carillon.event.default.a=2Eb.started":           n.Event(key, schedule.EventStarted),
		"carillon.event.default.a=2Eb.>":                 n.Events(key),
		"carillon.event.default.>":                       n.Events(schedule.Key{Namespace: "default"}),
		"carillon.event.>":                               n.Events(schedule.Key{}),
		"carillon.dlq.worker.default.q=20q":              n.WorkerDeadLetter("default", "q q"),
		"carillon.dlq.worker":                            n.SharedWorkerDeadLetter(),
		"carillon.dlq.invoker":                           n.DeadLetter(subjects.PoolInvoker),
		"carillon.api.default.schedule.create":           n.API("default", subjects.ThingSchedule, "create"),
		"carillon.api.*.schedule.create":                 n.API("*", subjects.ThingSchedule, "create"),
		"carillon-cluster":                               n.ClusterBucket(),
		"carillon-state-3":                               n.StateBucket(3),
		"CARILLON_TASKS_3":                               n.TaskStream(3),
		"CARILLON_ACTIONS":                               n.ActionStream(),
		"CARILLON_CONTROL":                               n.ControlStream(),
		"CARILLON_PROGRESS":                              n.ProgressStream(),
		"CARILLON_EVENTS":                                n.EventStream(),
		"CARILLON_WORKER_DLQ":                            n.WorkerDeadLetterStream(),
		"CARILLON_DLQ":                                   n.DeadLetterStream(),
		"carillon":                                       n.ServiceName(),
		"carillon.consumer.ns.a=2Eb":                     n.WorkerConsumerRequest("ns", "a.b"),
		"carillon.consumer.*.*":                          n.WorkerConsumerRequests(),
		"carillon.processes":                             n.Processes(),
		"default.a=2Eb.definition":                       subjects.StateKey(key, subjects.KindDefinition),
		"default.a=2Eb.backfill.b1":                      subjects.BackfillKey(key, "b1"),
		"default.a=2Eb.backfill.*":                       subjects.BackfillKeys(key),
		"default.*.definition":                           subjects.DefinitionKeys("default"),
		"worker_default_q=20q":                           subjects.WorkerConsumerName("default", "q q"),
	} {
		require.Equal(t, want, have)
	}
}

// TestWhatWorkersAskAFrontendParsesBack: every queue can be read from the subject, and nothing else passes for one.
func TestWhatWorkersAskAFrontendParsesBack(t *testing.T) {
	t.Parallel()
	n := subjects.Default()
	for _, queue := range awkward {
		if schedule.ValidateID("taskQueue", queue) != nil {
			continue // no task queue has this name
		}
		namespace, parsed, err := n.ParseWorkerConsumerRequest(n.WorkerConsumerRequest("team-1", queue))
		require.NoError(t, err)
		require.Equal(t, []string{"team-1", queue}, []string{namespace, parsed})
		ack, err := n.ParseWorkerAck("carillon.ack.team-1." + subjects.Escape(queue) + ".3.17.4.1700000000000000000.0")
		require.NoError(t, err)
		require.Equal(t, subjects.WorkerAck{
			Filter: strings.TrimSuffix(n.ActionQueue("team-1", queue), ">"), Sequence: 17,
			Subject: "$JS.ACK.CARILLON_ACTIONS." + subjects.WorkerConsumerName("team-1", queue) + ".3.17.4.1700000000000000000.0",
		}, ack)
	}
	for _, subject := range []string{
		"", "carillon.consumer", "carillon.consumer.team-1", "carillon.consumer.Team.q", "carillon.consumer.team-1.=zz", "carillon.consumer.team-1.q.x",
		"carillon.consumer.team-1.>", "other.consumer.team-1.q",
	} {
		_, _, err := n.ParseWorkerConsumerRequest(subject)
		require.Error(t, err, subject)
	}
	for subject, stored := range map[string]string{
		"carillon.report.callback.2.team-1.q.w.r": "carillon.callback.2.team-1.q.w.r", "carillon.report.progress.team-1.q.w": "carillon.progress.team-1.q.w",
		"carillon.report.dlq.worker.team-1.q": n.WorkerDeadLetter("team-1", "q"), "carillon.report.dlq.invoker": "", "carillon.report.dlq.worker": "",
		"carillon.report.task.0.invoke.a.b.wake": "", "carillon.report.": "", "carillon.callback.2.a.b.c.d": "", "other.report.callback.2.a.b.c.d": "",
	} {
		parsed, err := n.ParseReport(subject)
		require.Equal(t, stored, parsed)
		require.Equal(t, stored == "", err != nil, subject)
	}
	for _, subject := range []string{
		"", "carillon.ack.team-1.q", "carillon.ack.team-1.q.1.2.3.4", "carillon.ack.team-1.q.1.2.3.4.5.6", "carillon.ack.team-1.q.1.x.3.4.5",
		"carillon.ack.team-1.q.1.-2.3.4.5", "carillon.ack.team-1.*.1.2.3.4.5", "carillon.ack.Team.q.1.2.3.4.5", "carillon.ack.team-1.q.1.2.3.4.>",
		"carillon.ack.team-1.q.1.+2.3.4.5", "carillon.ack.team-1.q.1.9223372036854775808.3.4.5", "other.ack.team-1.q.1.2.3.4.5",
	} {
		_, err := n.ParseWorkerAck(subject)
		require.Error(t, err, subject)
	}
}

func TestTaskSubjectsParseBack(t *testing.T) {
	t.Parallel()
	n := subjects.Default()
	span := wire.Span{From: time.Unix(0, math.MinInt64), To: time.Unix(0, math.MaxInt64)}
	rapid.Check(t, func(t *rapid.T) {
		key := schedule.Key{Namespace: "team-1", ID: anyID().Draw(t, "id")}
		shard := rapid.IntRange(0, 255).Draw(t, "shard")
		queue := anyID().Draw(t, "queue")
		for subject, want := range map[string]subjects.Task{
			n.Generate(shard, key, subjects.WhatDue):   {Role: "generate", What: "due"},
			n.InvokeWake(shard, key):                   {Role: "invoke", What: "wake"},
			n.InvokeDeleted(shard, key):                {Role: "invoke", What: "deleted"},
			n.Backfill(shard, key, "b1"):               {Role: "backfill", What: "b1"},
			n.Callback(shard, key, queue, "r1"):        {Role: "callback", What: "r1", Queue: queue},
			n.InvokeEnqueue(shard, key, "auto", span):  {Role: "invoke", What: "auto--1y2p0ij32e8e8-1y2p0ij32e8e7"},
			n.InvokeEnqueue(shard, key, "b1-x_", span): {Role: "invoke", What: "b1-x_--1y2p0ij32e8e8-1y2p0ij32e8e7"},
		} {
			want.Shard, want.Key = shard, key
			have, err := n.ParseTask(subject)
			require.NoError(t, err)
			require.Equal(t, want, have)
			requireSubject(t, subject)
		}
	})
}

// TestHandOffsAreTold: they can be distinguished from everything else that the invoker is sent.
func TestHandOffsAreTold(t *testing.T) {
	t.Parallel()
	n, key := subjects.Default(), schedule.Key{Namespace: "default", ID: "a"}
	parse := func(subject string) subjects.Task {
		task, err := n.ParseTask(subject)
		require.NoError(t, err)
		return task
	}
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.StringMatching(`[A-Za-z0-9_-]{1,40}`).Filter(func(s string) bool { return !strings.HasPrefix(s, "end-") }).Draw(t, "source")
		span := wire.Span{From: time.Unix(0, rapid.Int64().Draw(t, "from")), To: time.Unix(0, rapid.Int64().Draw(t, "to"))}
		task := parse(n.InvokeEnqueue(0, key, source, span))
		require.True(t, task.IsHandOff() && task.IsHandOffOf(source, span) && !task.IsWake() && !task.IsEnd(), task.What)
		span.To = span.To.Add(1)
		require.False(t, task.IsHandOffOf(source, span))
	})
	for _, subject := range []string{
		n.InvokeWake(0, key), n.InvokeDeleted(0, key), n.InvokeEnd(0, key, schedule.ControlCancel, "r-1-2"), n.Timeout(0, key, "r-1-2"),
		n.Callback(0, key, "q", "r-1-2"), n.Backfill(0, key, "b-1-2"), n.GenerateWake(0, key, 3), n.InvokeWake(0, key) + "-1", n.InvokeWake(0, key) + "--",
	} {
		require.False(t, parse(subject).IsHandOff(), subject)
	}
}

func TestParseTaskRefusesOtherSubjects(t *testing.T) {
	t.Parallel()
	n, key := subjects.Default(), schedule.Key{Namespace: "default", ID: "a"}
	other, err := subjects.New("other")
	require.NoError(t, err)
	for _, subject := range []string{
		"", "carillon", "carillon.", "carillon.task.0.generate.default.a", "carillon.task.0.generate.default.a.wake.more",
		"carillon.task.x.generate.default.a.wake", "carillon.task.-1.generate.default.a.wake",
		"carillon.task.0.generate.default.=zz.wake", "carillon.task.0.generate.default..wake",
		"carillon.task.0.generate..a.wake", "carillon.task.0.generate.default.a.", "carillon.task.0..default.a.wake",
		n.DueTimer(0, key), n.TimeoutTimer(0, key, "r1"), n.Action("default", "q", "w"), n.Event(key, schedule.EventStarted),
		other.Generate(0, key, subjects.WhatWake),
	} {
		_, err := n.ParseTask(subject)
		require.Error(t, err, subject)
	}
}

func TestStateKeysParseBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := schedule.Key{Namespace: "team-1", ID: anyID().Draw(t, "id")}
		keys := []string{subjects.BackfillKey(key, "b1")}
		for _, kind := range []string{subjects.KindDefinition, subjects.KindGenerator, subjects.KindInvoker, subjects.KindResult} {
			keys = append(keys, subjects.StateKey(key, kind))
		}
		for _, text := range keys {
			require.Regexp(t, kvKey, text)
			have, err := subjects.ParseStateKey(text)
			require.NoError(t, err)
			require.Equal(t, key, have)
		}
	})
	for _, text := range []string{"", "default", "default.a", "default.=zz.definition", "default..definition"} {
		_, err := subjects.ParseStateKey(text)
		require.Error(t, err, text)
	}
}

func TestNamespaceOfAPI(t *testing.T) {
	t.Parallel()
	n := subjects.Default()
	namespace, err := n.NamespaceOfAPI(n.API("team-1", subjects.ThingSchedule, "create"))
	require.NoError(t, err)
	require.Equal(t, "team-1", namespace)
	for _, subject := range []string{"", "carillon.api", "carillon.api.default", "other.api.default.schedule.create"} {
		_, err := n.NamespaceOfAPI(subject)
		require.Error(t, err, subject)
	}
}

// TestDifferentThingsHaveDifferentNames builds every name for all pairs of awkward IDs, and finds none twice.
func TestDifferentThingsHaveDifferentNames(t *testing.T) {
	t.Parallel()
	n := subjects.Default()
	seen := map[string]string{}
	add := func(name, what string) {
		require.NotContains(t, seen, name, what)
		seen[name] = what
	}
	for _, id := range awkward {
		key := schedule.Key{Namespace: "default", ID: id}
		for _, name := range append(scheduleSubjects(n, key), scheduleKeys(key)...) {
			add(name, id)
		}
		for _, other := range awkward {
			what := id + " " + other
			add(n.Callback(0, key, other, "r1"), what)
			add(n.Action("default", id, other), what)
			add(n.Control("default", id, other), what)
		}
	}
}

func TestHandOffsDoNotReplaceEachOther(t *testing.T) {
	t.Parallel()
	n, key := subjects.Default(), schedule.Key{Namespace: "default", ID: "a"}
	at := func(sec int64) time.Time { return time.Unix(sec, 1) }
	seen := map[string]bool{}
	for _, source := range []string{schedule.SourceAuto, "b1", "b2"} {
		for from := range int64(3) {
			for to := range int64(3) {
				seen[n.InvokeEnqueue(0, key, source, wire.Span{From: at(from - 1), To: at(to - 1)})] = true
			}
		}
	}
	require.Len(t, seen, 27)
	local := wire.Span{From: at(1).In(time.FixedZone("", 3600)), To: at(2)}
	require.Equal(t, n.InvokeEnqueue(0, key, "b1", wire.Span{From: at(1).UTC(), To: at(2)}), n.InvokeEnqueue(0, key, "b1", local))
}

// TestSubjectsAreValidAndShort: NATS refuses subjects longer than a line of its protocol. By default a line has 4096 bytes, which
// also hold the reply subject.
func TestSubjectsAreValidAndShort(t *testing.T) {
	t.Parallel()
	n, err := subjects.New(strings.Repeat("x", 32))
	require.NoError(t, err)
	for _, id := range awkward {
		key := schedule.Key{Namespace: strings.Repeat("n", 64), ID: id}
		all := append(scheduleSubjects(n, key), n.Callback(255, key, id, "r1"), n.Action(key.Namespace, id, id), n.Control(key.Namespace, id, id))
		for _, subject := range all {
			requireSubject(t, subject)
			require.Less(t, len(subject), 2048, subject)
		}
		for _, text := range scheduleKeys(key) {
			require.Regexp(t, kvKey, text)
		}
		name := subjects.WorkerConsumerName(key.Namespace, id)
		require.Regexp(t, `^[-_=a-zA-Z0-9]+$`, name)
		require.LessOrEqual(t, len(name), 255, "a consumer is a folder on disk")
	}
}

// TestNamespaceStandsAtAFixedPlace: permissions need it to confine a client to one namespace. Whatever the ID, the same number of
// tokens stands before the namespace.
func TestNamespaceStandsAtAFixedPlace(t *testing.T) {
	t.Parallel()
	n := subjects.Default()
	for _, id := range awkward {
		key := schedule.Key{Namespace: "team-1", ID: id}
		for subject, place := range map[string]int{
			n.API(key.Namespace, subjects.ThingSchedule, "create"): 2,
			n.Action(key.Namespace, id, id):                        2,
			n.Control(key.Namespace, id, id):                       2,
			n.ControlQueue(key.Namespace, id):                      2,
			n.ActionAnyQueue(key.Namespace, id):                    2,
			n.Actions(key.Namespace):                               2,
			n.ActionQueue(key.Namespace, id):                       2,
			n.Progress(key.Namespace, id, id):                      2,
			n.Alive(key.Namespace, id, "r1"):                       2,
			n.AliveQueue(key.Namespace, id):                        2,
			n.WorkerConsumerRequest(key.Namespace, id):             2,
			n.Event(key, schedule.EventStarted):                    2,
			n.Callback(0, key, id, "r1"):                           3,
			n.Generate(0, key, subjects.WhatWake):                  4,
			n.InvokeWake(0, key):                                   4,
			n.GenerateWake(0, key, 2):                              4,
			n.InvokeDeleted(0, key):                                4,
			n.InvokeEnqueue(0, key, "auto", wire.Span{}):           4,
			n.InvokeEnd(0, key, schedule.ControlCancel, "r1"):      4,
			n.Backfill(0, key, "b1"):                               4,
			n.DueTimer(0, key):                                     4,
			n.GuardTimer(0, key, 2):                                4,
			n.GuardTimers(0, key):                                  4,
			n.RetryTimer(0, key):                                   4,
			n.BackfillTimer(0, key, "b1"):                          4,
			n.TimeoutTimer(0, key, "r1"):                           4,
			subjects.StateKey(key, "definition"):                   0,
			subjects.BackfillKey(key, "b1"):                        0,
			n.Events(schedule.Key{Namespace: "team-1"}):            2,
		} {
			require.Equal(t, "team-1", strings.Split(subject, ".")[place], subject)
		}
	}
	require.Equal(t, subjects.Escape("a.b"), strings.Split(n.Action("team-1", "a.b", "w"), ".")[3], "the queue follows")
	require.Equal(t, subjects.Escape("a.b"), strings.Split(n.Control("team-1", "a.b", "w"), ".")[3])
	require.Equal(t, subjects.Escape("a.b"), strings.Split(n.Callback(0, schedule.Key{Namespace: "team-1", ID: "x"}, "a.b", "r"), ".")[4])
}

// TestShardsAreForEver: records stay where the hash pointed when they were written.
func TestShardsAreForEver(t *testing.T) {
	t.Parallel()
	for _, golden := range []struct {
		namespace, id string
		of4, of64     int
	}{
		{"default", "nightly", 1, 25},
		{"default", "nightly-2", 1, 61},
		{"team-1", "nightly", 2, 62},
		{"default", "a.b", 3, 11},
		{"default", "🔔", 3, 27},
		{"", "", 2, 38},
	} {
		key := schedule.Key{Namespace: golden.namespace, ID: golden.id}
		require.Equal(t, golden.of4, subjects.ShardOf(key, 4), key)
		require.Equal(t, golden.of64, subjects.ShardOf(key, 64), key)
	}
}

func TestShardsAreEven(t *testing.T) {
	t.Parallel()
	const perShard = 1000
	for _, shards := range []int{1, 2, 3, 4, 16, 100} {
		for _, pattern := range []string{"%d", "job-%06d", "report.eu-%d.daily"} {
			counts := make([]int, shards)
			for i := range shards * perShard {
				counts[subjects.ShardOf(schedule.Key{Namespace: "default", ID: fmt.Sprintf(pattern, i)}, shards)]++
			}
			for shard, count := range counts {
				// Six standard deviations: by chance, not even the busiest of 100 shards reaches that.
				require.InDelta(t, perShard, count, 6*math.Sqrt(perShard), "%s: shard %d of %d", pattern, shard, shards)
			}
		}
	}
}

func TestShardKeepsNamespaceAndIDApart(t *testing.T) {
	t.Parallel()
	const many = 1 << 30
	require.NotEqual(t,
		subjects.ShardOf(schedule.Key{Namespace: "ab", ID: "c"}, many), subjects.ShardOf(schedule.Key{Namespace: "a", ID: "bc"}, many))
}

func scheduleSubjects(n subjects.Names, key schedule.Key) []string {
	return []string{
		n.Generate(0, key, subjects.WhatWake), n.Generate(0, key, subjects.WhatDue), n.Generate(0, key, subjects.WhatGuard),
		n.GenerateWake(0, key, 1), n.GenerateGuard(0, key, 1),
		n.InvokeWake(0, key), n.InvokeEnqueue(0, key, schedule.SourceAuto, wire.Span{}), n.Backfill(0, key, "b1"),
		n.DueTimer(0, key), n.GuardTimer(0, key, 1), n.RetryTimer(0, key), n.BackfillTimer(0, key, "b1"),
		n.TimeoutTimer(0, key, "r1"), n.Event(key, schedule.EventCreated), n.Event(key, schedule.EventStarted),
	}
}

func scheduleKeys(key schedule.Key) []string {
	return []string{
		subjects.StateKey(key, subjects.KindDefinition), subjects.StateKey(key, subjects.KindGenerator),
		subjects.StateKey(key, subjects.KindInvoker), subjects.StateKey(key, subjects.KindResult), subjects.BackfillKey(key, "b1"),
	}
}

// kvKey matches what a NATS KV bucket accepts as a key.
var kvKey = regexp.MustCompile(`^[-/_=a-zA-Z0-9]+(\.[-/_=a-zA-Z0-9]+)*$`)

// requireSubject checks that text is a subject that one can publish to: tokens without wildcards, spaces and the like.
func requireSubject(t require.TestingT, text string) {
	require.Regexp(t, `^[-_=a-zA-Z0-9]+(\.[-_=a-zA-Z0-9]+)+$`, text)
}

func TestDeadLetterSubjectsParseBack(t *testing.T) {
	t.Parallel()
	n := subjects.Default()
	rapid.Check(t, func(t *rapid.T) {
		queue := anyID().Draw(t, "queue")
		for subject, want := range map[string]subjects.LetterOwner{
			n.DeadLetter(subjects.PoolInvoker):  {Pool: "invoker"},
			n.SharedWorkerDeadLetter():          {Pool: "worker"},
			n.WorkerDeadLetter("team-1", queue): {Pool: "worker", Namespace: "team-1", TaskQueue: queue},
		} {
			have, err := n.ParseDeadLetter(subject)
			require.NoError(t, err)
			require.Equal(t, want, have)
			requireSubject(t, subject)
		}
		namespace, read, id, err := n.ParseAction(n.Action("team-1", queue, queue))
		require.NoError(t, err)
		require.Equal(t, []string{"team-1", queue, queue}, []string{namespace, read, id})
	})
	for _, subject := range []string{
		"", "carillon.dlq", "carillon.dlq.", "carillon.dlq.worker.a", "carillon.dlq.worker..q", "carillon.dlq.worker.a.", "carillon.dlq.worker.a.=zz",
		"carillon.dlq.worker.a.q.more", "carillon.dlq.invoker.a.q", "other.dlq.worker.a.q", "worker",
	} {
		_, err := n.ParseDeadLetter(subject)
		require.Error(t, err, subject)
	}
	for _, subject := range []string{
		"", "carillon.action.a.q", "carillon.action.a.q.w.more", "carillon.action..q.w", "carillon.action.a.=zz.w", "carillon.action.a.q.", "other.action.a.q.w",
		n.ActionAnchor(),
	} {
		_, _, _, err := n.ParseAction(subject)
		require.Error(t, err, subject)
	}
}

// TestACompletionsLetterIsOfItsQueue: whatever a worker may send, the letter is on a subject of the worker's own queue.
func TestACompletionsLetterIsOfItsQueue(t *testing.T) {
	t.Parallel()
	n := subjects.Default()
	parts := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		queue := anyID().Draw(t, "queue")
		rest := rapid.OneOf(rapid.StringMatching(`[a-z=.*>A-F0-9-]{1,40}`), rapid.Just("a.r1"), rapid.Just("x")).Draw(t, "rest")
		size := rapid.IntRange(0, 1<<20).Draw(t, "size")
		subject, ok := n.CompletionDeadLetter("carillon.callback.7.team-1."+subjects.Escape(queue)+"."+rest, size)
		require.True(t, ok)
		owner, err := n.ParseDeadLetter(subject)
		require.NoError(t, err)
		require.Equal(t, subjects.LetterOwner{Pool: subjects.PoolInvoker, Namespace: "team-1", TaskQueue: queue}, owner)
		require.Equal(t, size > 16<<10, strings.HasSuffix(subject, ".large"))
		requireSubject(t, subject)
	})
	for i := range 1000 {
		subject, _ := n.CompletionDeadLetter(n.Callback(0, schedule.Key{Namespace: "default", ID: "a"}, "q", fmt.Sprint(i)), 0)
		parts[subject] = true
	}
	require.Len(t, parts, 32)
	for _, subject := range []string{
		"", "carillon.callback.0.default.q", "carillon.callback.0..q.x", "carillon.callback.0.default..x", "other.callback.0.default.q.a.r",
		n.InvokeWake(0, schedule.Key{Namespace: "default", ID: "a"}),
	} {
		_, ok := n.CompletionDeadLetter(subject, 0)
		require.False(t, ok, subject)
	}
}

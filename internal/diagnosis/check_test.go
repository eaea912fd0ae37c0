package diagnosis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/presence"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/subjects"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// well returns the facts of an installation without a fault.
func well() *Facts {
	pools := func() []Consumer {
		return []Consumer{
			{Name: subjects.PoolGenerator, Waiting: 1}, {Name: subjects.PoolInvoker, Waiting: 2},
			{Name: subjects.PoolBackfiller, Waiting: 1}, {Name: subjects.PoolHistory, Waiting: 1},
		}
	}
	return &Facts{
		Time: noon, Prefix: "carillon", Namespaces: 1,
		Cluster: &topology.Facts{FormatVersion: 1, Shards: 2, Replicas: 3},
		NATS: NATS{
			URL: "nats://n1:4222", Server: "n1", Version: "2.15.2", Cluster: "c", Servers: []string{"n1", "n2", "n3"},
			JetStream: true, StoreLimit: -1, RoundTrip: time.Millisecond,
		},
		Streams: []Stream{
			{Name: "KV_carillon-cluster", Bucket: "carillon-cluster", Replicas: 3, Leader: "n1", MaxBytes: -1},
			{
				Name: "CARILLON_EVENTS", Replicas: 3, Leader: "n2", MaxBytes: -1, Messages: 10, First: noon.Add(-time.Hour),
				MaxAge: 30 * 24 * time.Hour, Peers: []Peer{{Name: "n1", Current: true}, {Name: "n3", Current: true}},
			},
			{Name: "CARILLON_DLQ", Replicas: 3, Leader: "n3", MaxBytes: -1},
			{Name: "CARILLON_TASKS_0", Replicas: 3, Leader: "n3", MaxBytes: -1, Consumers: pools(), Pulse: noon.Add(-time.Second)},
			{Name: "CARILLON_TASKS_1", Replicas: 3, Leader: "n3", MaxBytes: -1, Consumers: pools()},
		},
		Frontends: []Frontend{{ID: "f1", Version: "1.0.0"}},
		Processes: []presence.Process{
			{Host: "h1", PID: 7, Roles: []string{"frontend"}, Zones: "2026f", ZonesDigest: "a1"},
			{Host: "h2", PID: 8, Roles: []string{"generator", "invoker"}, Zones: "2026f", ZonesDigest: "a1"},
		},
		Queues: []Queue{{Namespace: "default", Name: "default", Worker: true}},
	}
}

// unask makes nobody ask for the tasks of the invoker. Some tasks of each shard are in hand.
func unask(f *Facts, held int) {
	for _, s := range f.Streams[3:] {
		s.Consumers[1].Unasked, s.Consumers[1].Held = true, held
	}
}

// TestProgressMayFillItsStream: the stream drops its oldest messages, and nobody has to do anything.
func TestProgressMayFillItsStream(t *testing.T) {
	t.Parallel()
	facts := well()
	facts.Streams = append(facts.Streams, Stream{Name: "CARILLON_PROGRESS", Replicas: 3, Leader: "n3", Bytes: 100, MaxBytes: 100, Rolls: true})
	for _, check := range Checks(facts) {
		assert.Equal(t, OK, check.Status, check)
	}
}

func TestAllIsWell(t *testing.T) {
	t.Parallel()
	checks := Checks(well())
	require.Len(t, checks, 16)
	for _, c := range checks {
		assert.Equal(t, OK, c.Status, "%+v", c)
		assert.NotEmpty(t, c.Detail)
		assert.Empty(t, c.Next)
	}
	assert.Equal(t, OK, Worst(checks))
}

// TestWhatIsWrong changes one thing at a time. One check reports it, and says what it is and what to do.
func TestWhatIsWrong(t *testing.T) {
	t.Parallel()
	events, tasks := 1, 3
	for name, test := range map[string]struct {
		change func(*Facts)
		check  string
		status Status
		detail string
	}{
		"no JetStream":    {func(f *Facts) { f.NATS.JetStream = false }, "nats", Failed, "without JetStream"},
		"no installation": {func(f *Facts) { f.Cluster = nil }, "installation", Failed, "there is none with the prefix carillon"},
		"stream missing": {func(f *Facts) { f.Streams[events] = Stream{Name: "CARILLON_EVENTS", Missing: true} },
			"installation", Failed, "missing: stream CARILLON_EVENTS"},
		"bucket unfit":     {func(f *Facts) { f.Streams[0].Unfit = true }, "installation", Failed, "bucket carillon-cluster"},
		"consumer missing": {func(f *Facts) { f.Streams[tasks].Consumers[1] = Consumer{Name: "invoker", Missing: true} }, "installation", Failed, "consumer invoker of stream CARILLON_TASKS_0"},
		"consumer unfit":   {func(f *Facts) { f.Streams[tasks].Consumers[1].Unfit = true }, "installation", Failed, "not as it must be: consumer invoker"},
		"bucket missing": {func(f *Facts) {
			f.Streams[0] = Stream{Name: "KV_carillon-state-1", Bucket: "carillon-state-1", Missing: true}
		},
			"installation", Failed, "missing: bucket carillon-state-1"},
		"no writes": {func(f *Facts) { f.Streams[events].Refused = "no space left on device" }, "storage", Failed,
			"NATS refuses all writes since one has failed: stream CARILLON_EVENTS: no space left on device"},
		"account fills":    {func(f *Facts) { f.NATS.Stored, f.NATS.StoreLimit = 85, 100 }, "storage", Warning, "the account is 85 % full"},
		"account full":     {func(f *Facts) { f.NATS.Stored, f.NATS.StoreLimit = 99, 100 }, "storage", Failed, "99 B stored of 100 B"},
		"stream full":      {func(f *Facts) { f.Streams[events].Bytes, f.Streams[events].MaxBytes = 96, 100 }, "storage", Failed, "stream CARILLON_EVENTS is 96 % full"},
		"no leader":        {func(f *Facts) { f.Streams[events].Leader = "" }, "replicas", Failed, "no leader: stream CARILLON_EVENTS"},
		"peer offline":     {func(f *Facts) { f.Streams[events].Peers[1].Offline = true }, "replicas", Warning, "stream CARILLON_EVENTS on n3"},
		"peer behind":      {func(f *Facts) { f.Streams[events].Peers[0].Current = false }, "replicas", Warning, "stream CARILLON_EVENTS on n1"},
		"too few replicas": {func(f *Facts) { f.Streams[events].Replicas = 1 }, "replicas", Warning, "fewer than 3 replicas"},
		"clock ahead":      {func(f *Facts) { f.NATS.Skew = 2 * time.Second }, "clock", Warning, "the servers are 2s ahead of this machine"},
		"clock behind":     {func(f *Facts) { f.NATS.Skew = -time.Minute }, "clock", Failed, "the servers are 1m0s behind this machine"},
		"no frontend":      {func(f *Facts) { f.Frontends = nil }, "frontends", Failed, "none answers"},
		"index being built": {func(f *Facts) {
			f.Processes[0].Index = &presence.Index{Read: 100, Total: 400, Since: noon.Add(-20 * time.Second)}
		}, "search", Warning, "the index is being built: frontend on h1 (process 7): 25 % (100 of 400 messages), about 1m0s left"},
		"index that does not begin": {func(f *Facts) { f.Processes[0].Index = &presence.Index{Since: noon.Add(-time.Minute)} },
			"search", Warning, "nothing of it is there yet"},
		"index almost there": {func(f *Facts) {
			f.Processes[0].Index = &presence.Index{Read: 400, Total: 400, Since: noon.Add(-time.Minute)}
		}, "search", Warning, "(process 7): 99 % (400 of 400 messages)"},
		"index behind": {func(f *Facts) { f.Processes[0].Index = &presence.Index{Ready: true, UpTo: noon.Add(-2 * time.Minute)} },
			"search", Warning, "the index is behind: frontend on h1 (process 7): by 2m0s"},
		"no invoker": {func(f *Facts) { unask(f, 0) },
			"invoker", Failed, "no process of the pool is there"},
		"half an invoker": {func(f *Facts) { f.Streams[tasks].Consumers[1].Unasked = true }, "invoker", Warning, "nobody asks for the tasks of stream CARILLON_TASKS_0"},
		"invokers that are gone, with tasks": {func(f *Facts) { unask(f, 21) },
			"invoker", Failed, "nobody asks for the tasks of the pool; 0 tasks waiting, 42 in hand of processes that are gone"},
		"invokers that are full, or gone": {func(f *Facts) { unask(f, 4096) },
			"invoker", Warning, "nobody asks for more tasks of stream CARILLON_TASKS_0, stream CARILLON_TASKS_1; 0 tasks waiting, 8192 in hand"},
		"half an invoker, with tasks": {func(f *Facts) {
			f.Streams[tasks].Consumers[1].Unasked, f.Streams[tasks+1].Consumers[1].Held = true, 9
		}, "invoker", Warning, "nobody asks for the tasks of stream CARILLON_TASKS_0; 0 tasks waiting, 9 in hand"},
		"old server": {func(f *Facts) { f.NATS.Version = "2.12.9" }, "nats", Failed, "version 2.14 or later is needed"},
		"no quorum": {func(f *Facts) {
			f.Cluster, f.Unreadable, f.NATS.Unanswered = nil, "timeout", "no answer"
		}, "nats", Failed, "its JetStream does not: no answer"},
		"no quorum for the bucket": {func(f *Facts) { f.Cluster, f.Unreadable = nil, "timeout" },
			"installation", Failed, "whether there is one with the prefix carillon could not be found out: timeout"},
		"silent timers": {func(f *Facts) { f.Streams[tasks].Pulse = noon.Add(-3 * time.Minute) },
			"timers", Failed, "no timer has fired for 3m0s: stream CARILLON_TASKS_0"},
		"timers by another clock": {func(f *Facts) { f.Streams[tasks].Pulse = noon.Add(time.Hour) },
			"timers", Warning, "by a clock that was ahead of the one now: stream CARILLON_TASKS_0"},
		"generator behind": {func(f *Facts) {
			f.Streams[tasks].Consumers[0].Pending, f.Streams[tasks].Consumers[0].Oldest = 70, noon.Add(-2*time.Minute)
		}, "generator", Warning, "70 tasks waiting, 0 in hand, the first waits for 2m0s"},
		"generator stuck": {func(f *Facts) {
			f.Streams[tasks].Consumers[0].Pending, f.Streams[tasks].Consumers[0].Oldest = 1, noon.Add(-time.Hour)
		}, "generator", Failed, "1 task waiting, 0 in hand, the first waits for 1h0m0s"},
		"no worker": {func(f *Facts) {
			f.Queues = append(f.Queues, Queue{Namespace: "default", Name: "q", Waiting: 2, Oldest: noon.Add(-time.Minute)})
		}, "workers", Warning, "runs wait, the first for 1m0s, and no worker serves default/q (2 runs)"},
		"no worker for long": {func(f *Facts) {
			f.Queues = append(f.Queues, Queue{Namespace: "default", Name: "q", Waiting: 1, Oldest: noon.Add(-time.Hour)})
		}, "workers", Failed, "default/q (1 run)"},
		"dead letters of both streams": {func(f *Facts) {
			f.Streams[2].Messages, f.Streams[2].First = 3, noon.Add(-time.Minute)
			f.Streams = append(f.Streams, Stream{
				Name: "CARILLON_WORKER_DLQ", Replicas: 3, Leader: "n3", MaxBytes: -1, Messages: 4, First: noon.Add(-time.Hour),
			})
		}, "dead letters", Warning, "7 messages, the oldest from 1h0m0s ago"},
		"dead letters": {func(f *Facts) { f.Streams[2].Messages, f.Streams[2].First = 3, noon.Add(-time.Hour) },
			"dead letters", Warning, "3 messages, the oldest from 1h0m0s ago"},
		"not all known": {func(f *Facts) { f.Problems = []string{"account: timeout"} }, "facts", Warning, "account: timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts := well()
			test.change(facts)
			checks := Checks(facts)
			assert.Equal(t, test.status, Worst(checks))
			for _, c := range checks {
				if c.Name != test.check {
					assert.Equal(t, OK, c.Status, "%+v", c)
					continue
				}
				assert.Equal(t, test.status, c.Status)
				assert.Contains(t, c.Detail, test.detail)
				assert.NotEmpty(t, c.Next, "it says what to do")
			}
		})
	}
}

// TestWhatIsNoneTheWorse has facts that look odd and are not wrong.
func TestWhatIsNoneTheWorse(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Facts){
		"a busy pool": func(f *Facts) {
			for i := range f.Streams[3:] {
				c := &f.Streams[3+i].Consumers[1]
				c.Waiting, c.Held, c.Oldest = 0, 100, noon.Add(-time.Second)
			}
		},
		"a slow answer":                   func(f *Facts) { f.NATS.RoundTrip, f.NATS.Skew = 4*time.Second, 2*time.Second },
		"no worker, no run":               func(f *Facts) { f.Queues = nil },
		"a worker that is full":           func(f *Facts) { f.Queues[0].Waiting, f.Queues[0].Oldest = 100, noon.Add(-time.Hour) },
		"an index that is up to date":     func(f *Facts) { f.Processes[0].Index = &presence.Index{Ready: true, UpTo: noon.Add(-time.Second)} },
		"an index that is about to begin": func(f *Facts) { f.Processes[0].Index = &presence.Index{} },
		"an index at the start": func(f *Facts) {
			f.Processes[0].Index = &presence.Index{Read: 1, Total: 4, Since: noon.Add(-time.Second)}
		},
		"frontends of two versions": func(f *Facts) { f.Frontends = append(f.Frontends, Frontend{ID: "f2", Version: "1.1.0"}) },
		"one server": func(f *Facts) {
			f.Cluster.Replicas, f.NATS.Cluster = 1, ""
			for i := range f.Streams {
				f.Streams[i].Replicas, f.Streams[i].Peers = 1, nil
			}
		},
	} {
		facts := well()
		change(facts)
		assert.Equal(t, OK, Worst(Checks(facts)), "%s: %+v", name, Checks(facts))
	}
}

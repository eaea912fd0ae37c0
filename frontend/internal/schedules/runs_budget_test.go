package schedules

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// told is an installation whose event history tells of runs.
type told struct {
	*Service
	publisher *events.Publisher
	all       map[string][]schedule.Event // by namespace
	own       map[schedule.Key][]schedule.Run
}

func newTold(t *testing.T) *told {
	names := natstest.Names(t)
	_, js := natstest.Connect(t, natstest.Shared(t))
	facts, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	store, err := kv.Open(t.Context(), js, names, facts.Shards)
	require.NoError(t, err)
	bus := natstest.Bus(t, js)
	return &told{
		Service: &Service{
			names: names, js: js, bus: bus, store: store, maxReply: func() int { return 512 << 10 },
			readBudget: budget{maxScanned, maxScannedBytes},
		},
		publisher: events.NewPublisher(bus, names, nil), all: map[string][]schedule.Event{}, own: map[schedule.Key][]schedule.Run{},
	}
}

// shape is what a history is like.
type shape struct {
	schedules []string
	// length is how many events it has, and lasting how many events later a run ends on average. One in endless never ends.
	length, lasting, endless int
	// One in deletions is a deletion, one in others an event about something else.
	deletions, others int
	// rare is one in how many runs that fails.
	rare int
}

// tell makes a history, in which no two things happen at one time.
func (h *told) tell(t *testing.T, namespace string, seed uint64, begin time.Time, s shape) {
	random := rand.New(rand.NewPCG(seed, 1))
	var open []schedule.Event
	var all []schedule.Event
	for i := range s.length {
		e := schedule.Event{
			ID: fmt.Sprintf("%s-%d", namespace, i), Namespace: namespace, ScheduleID: s.schedules[random.IntN(len(s.schedules))],
			Time: begin.Add(time.Duration(i) * time.Second), RequestID: fmt.Sprint(i), Kind: schedule.EventStarted,
		}
		switch {
		case s.others > 0 && random.IntN(s.others) == 0:
			e.Kind = schedule.EventDeferred
		case s.deletions > 0 && random.IntN(s.deletions) == 0:
			e.Kind = schedule.EventDeleted
			open = slices.DeleteFunc(open, func(o schedule.Event) bool { return o.ScheduleID == e.ScheduleID })
		case len(open) > 0 && random.IntN(max(1, s.lasting)) < len(open):
			which := random.IntN(len(open))
			e.ScheduleID, e.RequestID, e.Kind = open[which].ScheduleID, open[which].RequestID, schedule.EventCompleted
			if e.Status, e.CloseTime = schedule.StatusCompleted, e.Time; random.IntN(s.rare) == 0 {
				e.Status = schedule.StatusFailed
			}
			open = slices.Delete(open, which, which+1)
		case s.endless == 0 || random.IntN(s.endless) > 0:
			open = append(open, e)
		}
		all = append(all, e)
	}
	for chunk := range slices.Chunk(all, 500) {
		require.NoError(t, h.publisher.Publish(t.Context(), chunk...))
	}
	h.all[namespace] = all
}

// record stores a record of a schedule: it has the runs in progress by the history, and some that the history does not have.
func (h *told) record(t *testing.T, key schedule.Key, begin time.Time) {
	state := wire.InvokerState{Incarnation: "i"}
	put := func(id string, at time.Time) {
		state.Starts = append(state.Starts, wire.BufferedStart{RequestID: id, WorkflowID: "w", Phase: schedule.PhaseStarted, StartTime: at})
	}
	for i := range 3 {
		put(fmt.Sprintf("expired-%d", i), begin.Add(-time.Hour))
		put(fmt.Sprintf("unnoted-%d", i), begin.Add(time.Duration(100*i)*time.Second+time.Millisecond))
	}
	for _, run := range foldAll(h.all[key.Namespace]) {
		if run.ScheduleID == key.ID && run.Status == "" && run.Failure == nil {
			put(run.RequestID, run.StartTime)
		}
	}
	_, err := kv.Put(t.Context(), h.store, kv.Definition(key), &wire.Definition{Namespace: key.Namespace, ID: key.ID, Incarnation: "i"}, 0)
	require.NoError(t, err)
	_, err = kv.Put(t.Context(), h.store, kv.Invoker(key), &state, 0)
	require.NoError(t, err)
	h.own[key], _, err = h.ownRuns(t.Context(), key)
	require.NoError(t, err)
}

// truth lists what a request asks for, from all of the history at once.
func (h *told) truth(namespace string, req *schedule.RunsRequest) []string {
	all := []schedule.Run{}
	known := map[string]bool{}
	for _, run := range foldAll(h.all[namespace]) {
		known[run.RequestID] = true
		if req.ID == "" || run.ScheduleID == req.ID {
			all = append(all, run)
		}
	}
	for _, run := range h.own[schedule.Key{Namespace: namespace, ID: req.ID}] {
		if !known[run.RequestID] {
			all = append(all, run)
		}
	}
	slices.SortStableFunc(all, func(a, b schedule.Run) int { return b.StartTime.Compare(a.StartTime) })
	list := []string{}
	for i := range all {
		if wanted(&all[i], req) {
			list = append(list, inShort(&all[i]))
		}
	}
	return list
}

func inShort(run *schedule.Run) string {
	status := string(run.Status)
	if run.Failure != nil {
		status = run.Failure.Type
	}
	return run.ScheduleID + " " + run.RequestID + " " + cmp.Or(status, "running")
}

// pages reads all pages of a request. No page reads more than the budget.
func (h *told) pages(ctx context.Context, t require.TestingT, key schedule.Key, req schedule.RunsRequest, limit budget) []string {
	list := []string{}
	for {
		left := limit
		reply, err := h.runs(ctx, key, &req, &left)
		require.NoError(t, err)
		require.GreaterOrEqual(t, left.events, 0)
		require.LessOrEqual(t, len(reply.Runs), cmp.Or(req.PageSize, defaultRuns))
		for _, data := range reply.Runs {
			var run schedule.Run
			require.NoError(t, json.Unmarshal(data, &run))
			list = append(list, inShort(&run))
		}
		if reply.NextPageToken == "" {
			return list
		}
		require.NotEqual(t, req.PageToken, reply.NextPageToken)
		req.PageToken = reply.NextPageToken
	}
}

// TestAllPagesOfRuns compares all pages together with what the whole history says.
func TestAllPagesOfRuns(t *testing.T) {
	t.Parallel()
	h := newTold(t)
	begin := time.Now().Add(time.Hour).UTC()
	several := []string{"a", "b", "c", "d", "e"}
	shapes := map[string]shape{
		"short":   {schedules: several[:1], length: 1200, lasting: 2, rare: 250},
		"long":    {schedules: several, length: 1200, lasting: 500, endless: 50, rare: 300, others: 5},
		"deleted": {schedules: several, length: 1200, lasting: 300, endless: 20, deletions: 400, rare: 100},
		"small":   {schedules: several[:2], length: 60, lasting: 10, endless: 10, deletions: 30, rare: 2},
	}
	names := slices.Sorted(maps.Keys(shapes))
	for i, name := range names {
		h.tell(t, name, uint64(i), begin, shapes[name])
		if shapes[name].deletions == 0 {
			h.record(t, schedule.Key{Namespace: name, ID: "a"}, begin)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		key := schedule.Key{
			Namespace: rapid.SampledFrom(names).Draw(rt, "namespace"), ID: rapid.SampledFrom([]string{"", "a"}).Draw(rt, "id"),
		}
		req := schedule.RunsRequest{
			ID:       key.ID,
			Status:   rapid.SampledFrom([]schedule.Status{"", schedule.StatusFailed, schedule.StatusRunning}).Draw(rt, "status"),
			PageSize: rapid.SampledFrom([]int{0, 70, 1000}).Draw(rt, "size"),
		}
		if req.Status == "" {
			req.PageSize = max(req.PageSize, 70)
		}
		if rapid.Bool().Draw(rt, "bounded") {
			req.To = begin.Add(time.Duration(rapid.IntRange(-10, 1500).Draw(rt, "to")) * time.Second)
		}
		limit := budget{rapid.IntRange(2100, 4000).Draw(rt, "budget"), maxScannedBytes}
		require.Equal(rt, h.truth(key.Namespace, &req), h.pages(t.Context(), rt, key, req, limit))
	})
}

// TestEveryQueuedRunIsListed: runs of schedules that are gone may still be in their task queues. Each is looked up there, on one page or another.
func TestEveryQueuedRunIsListed(t *testing.T) {
	t.Parallel()
	h := newTold(t)
	begin := time.Now().Add(time.Hour).UTC()
	const many = 400
	var all []schedule.Event
	for i := range 2 * many {
		e := schedule.Event{
			ID: fmt.Sprint(i), Namespace: "n", ScheduleID: fmt.Sprint("s-", i%many), Time: begin.Add(time.Duration(i) * time.Second),
			Kind: schedule.EventDeleted,
		}
		if i < many {
			e.Kind, e.RequestID, e.WorkflowID, e.TaskQueue = schedule.EventStarted, fmt.Sprint("r-", i), fmt.Sprint("w-", i), "q"
		}
		all = append(all, e)
	}
	require.NoError(t, h.publisher.Publish(t.Context(), all...))
	want := []string{}
	for _, i := range []int{many - 1, many / 2, 0} {
		_, err := h.js.PublishMsg(t.Context(), &nats.Msg{
			Subject: h.names.Action("n", "q", fmt.Sprint("w-", i)), Header: nats.Header{jetstream.MsgIDHeader: {fmt.Sprint("r-", i)}},
		})
		require.NoError(t, err)
		want = append(want, fmt.Sprintf("s-%d r-%d running", i, i))
	}
	for _, size := range []int{1, 20} {
		for _, to := range []time.Time{{}, begin.Add(time.Hour)} {
			req := schedule.RunsRequest{Status: schedule.StatusRunning, PageSize: size, To: to}
			require.Equal(t, want, h.pages(t.Context(), t, schedule.Key{Namespace: "n"}, req, budget{2500, maxScannedBytes}))
		}
	}
}

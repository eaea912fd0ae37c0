package offer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/subjects"
)

// newStill returns an offerer whose clock stands still one hour after it began to count.
func newStill(t testing.TB, names subjects.Names) *Offerer {
	t.Helper()
	conn, js := natstest.Connect(t, url(t))
	config := Config{Conn: bus.Plain{Conn: conn}, Names: names, Logger: natstest.Logger(t), Now: func() time.Time { return start }}
	o, err := NewOfferer(config, natstest.Bus(t, js), metrics.OfferedNew)
	require.NoError(t, err)
	t.Cleanup(o.Close)
	o.counts = newCounts(start.Add(-time.Hour), maxCounted)
	return o
}

// asked asks for the rates until they are known.
func asked(t testing.TB, o *Offerer, q Queue, known func(map[int]Rates) bool) (rates map[int]Rates) {
	t.Helper()
	conn, _ := natstest.Connect(t, url(t))
	natstest.Eventually(t, natstest.Patience, "all processes answer", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var err error
		rates, err = AskRates(ctx, conn, o.config.Names, q)
		require.NoError(t, err)
		return known(rates)
	})
	return rates
}

// TestAskRates adds up what all processes have counted, by priority.
func TestAskRates(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	first, second := newStill(t, names), newStill(t, names)
	other := Queue{Namespace: "default", Kind: Activity, Name: "q q"}
	for range 15 {
		first.Count(workflows, 0, 1, 0)
		second.Count(workflows, subjects.DefaultPriority, 1, 0)
		second.Count(workflows, 5, 1, 0)
		second.Count(workflows, 0, 0, 1)
		first.Count(other, 99, 1, 0)
	}
	rates := asked(t, first, workflows, func(rates map[int]Rates) bool { return rates[3].Added > 1 && rates[5].Added > 0 })
	require.Len(t, rates, 2)
	assert.InDelta(t, 2, rates[3].Added, 1e-6)
	assert.InDelta(t, 1, rates[3].Dispatched, 1e-6)
	assert.InDelta(t, 1, rates[5].Added, 1e-6)
	assert.Zero(t, rates[5].Dispatched)
	rates = asked(t, first, other, func(rates map[int]Rates) bool { return len(rates) > 0 })
	assert.InDelta(t, 1, rates[3].Added, 1e-6, "a priority that is none")

	_, err := AskRates(t.Context(), first.config.Conn.(bus.Plain).Conn, names, Queue{})
	require.Error(t, err)
}

// TestRatesAreToldToAskers: nothing is published on a subject of the installation.
func TestRatesAreToldToAskers(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	o := newStill(t, names)
	o.Count(workflows, 0, 1, 0)
	conn, _ := natstest.Connect(t, url(t))
	heard, err := conn.SubscribeSync(names.WorkerStops())
	require.NoError(t, err)
	require.NoError(t, conn.PublishRequest(names.TaskRates(workflows), names.WorkerStops(), nil))
	require.NoError(t, conn.PublishRequest(names.TaskRates(Queue{Namespace: "NOT-A-NAME", Kind: "x", Name: "y"}), conn.NewInbox(), nil))
	_, err = conn.Request(names.TaskRates(workflows), nil, natstest.Patience) // it comes after the others
	require.NoError(t, err)
	count, _, err := heard.Pending()
	require.NoError(t, err)
	assert.Zero(t, count)
}

// TestCountsAreBounded: the queues that had tasks last are counted, and those that are quiet are forgotten.
func TestCountsAreBounded(t *testing.T) {
	t.Parallel()
	queue := func(i int) Queue { return Queue{Namespace: "default", Kind: Workflow, Name: fmt.Sprint(i)} }
	c := newCounts(start.Add(-time.Hour), 100)
	for i := range 1000 {
		c.count(start, queue(0), 0, 1, 0)
		c.count(start, queue(i), 0, 1, 0)
	}
	assert.Equal(t, 100, c.queues.Len())
	assert.NotEmpty(t, c.of(start, queue(0)))
	assert.NotEmpty(t, c.of(start, queue(999)))
	assert.Empty(t, c.of(start, queue(500)))
	c.count(start.Add(quietFor), queue(0), 0, 0, 1)
	c.count(start.Add(quietFor), queue(1), 0, 0, 1)
	assert.Equal(t, 2, c.queues.Len())
}

// TestStoredTasksAreAdded: whoever stores a task counts it, and what the backlog refuses is not counted.
func TestStoredTasksAreAdded(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	o := newStill(t, names)
	task := Task{Namespace: "default", WorkflowID: "w", RunID: "r", Kind: Workflow, EventID: 1, Attempt: 1, Priority: 1}
	require.Error(t, o.Store(t.Context(), workflows, task), "there is no stream")
	assert.Empty(t, o.counts.of(start, workflows))
	_, js := natstest.Connect(t, url(t))
	for _, config := range names.StreamConfigs(1, 1) {
		if config.Name == names.BacklogStream() {
			_, err := js.CreateStream(t.Context(), config)
			require.NoError(t, err)
		}
	}
	require.NoError(t, o.Store(t.Context(), workflows, task))
	all := o.counts.of(start, workflows)
	require.Len(t, all, 1)
	assert.Equal(t, 1, all[0].Priority)
	assert.InDelta(t, 1./15, all[0].Rates.Added, 1e-9)
}

// BenchmarkCount is what it costs to count one task that comes and goes at once, on 1,000 queues.
func BenchmarkCount(b *testing.B) {
	c := newCounts(start, maxCounted)
	queues := make([]Queue, 1000)
	for i := range queues {
		queues[i] = Queue{Namespace: "default", Kind: Workflow, Name: fmt.Sprint(i)}
	}
	now := start
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		now = now.Add(time.Microsecond)
		i++
		c.count(now, queues[i%len(queues)], 0, 1, 1)
	}
}

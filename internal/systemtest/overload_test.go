package systemtest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// TestOverload offers more actions than the machine can do. It requires the API to answer meanwhile, and each action to have
// run once afterwards.
func TestOverload(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes all of the machine for half a minute")
	}
	o := newOverload(t)
	peak := watchHeap(t)
	o.offer(6_000, 8*time.Second)
	o.await(5 * time.Minute)
	o.check()
	assert.Less(t, peak(), uint64(1<<30), "bytes of heap, with those of NATS")
}

// BenchmarkOverload looks for the highest rate that the machine can do, and offers three times as much for a minute. It reports
// how much is completed, how long describe takes meanwhile, and the memory of everything together, including NATS and the list
// of runs. One iteration takes about ten minutes: use -benchtime 1x -timeout 30m.
func BenchmarkOverload(b *testing.B) {
	for range b.N {
		best := 0.0
		for rate := 1_000; ; rate += rate / 2 {
			o := newOverload(b)
			o.offer(rate, 20*time.Second)
			completed := o.rate()
			o.await(10 * time.Minute)
			o.check()
			o.s.stop()
			b.Logf("offered %d/s, completed %.0f/s", rate, completed)
			best = max(best, completed)
			if completed < 0.9*float64(rate) {
				break
			}
		}
		o := newOverload(b)
		peak := watchHeap(b)
		o.offer(int(3*best), time.Minute)
		completed := o.rate()
		b.ReportMetric(float64(peak())/(1<<20), "peak-heap-MiB")
		slices.Sort(o.described)
		b.ReportMetric(best, "best/s")
		b.ReportMetric(completed, "overloaded/s")
		b.ReportMetric(ms(o.described[len(o.described)/2]), "describe-p50-ms")
		b.ReportMetric(ms(o.described[len(o.described)*99/100]), "describe-p99-ms")
		o.await(30 * time.Minute)
		o.check()
		o.s.stop()
	}
}

// overload is an installation, and what is offered to it.
type overload struct {
	tb        testing.TB
	s         *system
	runs      *tally
	created   []time.Time
	end       time.Time
	described []time.Duration
	begin     time.Time
	completed int64
}

// tally counts runs by schedule and nominal time: a ledger of so many runs would take most of the memory.
type tally struct {
	mu    sync.Mutex
	runs  map[string]map[int64]uint8
	total atomic.Int64
}

func (t *tally) handle(_ context.Context, run *worker.Run) (any, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.runs[run.ScheduleID]
	if of == nil {
		of = map[int64]uint8{}
		t.runs[run.ScheduleID] = of
	}
	if of[run.NominalTime.Unix()]++; of[run.NominalTime.Unix()] == 1 {
		t.total.Add(1)
	}
	return nil, nil
}

func newOverload(tb testing.TB) *overload {
	conn, js := natstest.Connect(tb, natstest.Shared(tb))
	o := &overload{tb: tb, s: newSystem(tb, conn, js, topology.Settings{}), runs: &tally{runs: map[string]map[int64]uint8{}}}
	w, err := worker.New(conn, worker.Config{TaskQueue: "q", Prefix: o.s.names.Prefix(), Logger: natstest.Logger(tb)})
	require.NoError(tb, err)
	w.Register("record", o.runs.handle)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		assert.NoError(tb, <-done)
	})
	return o
}

// offer makes a number of actions due each second for some time, and describes schedules all the while.
func (o *overload) offer(rate int, d time.Duration) {
	// Creating takes time. The schedules begin together when all exist.
	sched := every(time.Second)
	sched.Policies.Overlap = schedule.OverlapAllowAll
	sched.Spec.Jitter = schedule.Duration(time.Second)
	o.begin = time.Now().Add(time.Duration(rate)*time.Second/500 + 2*time.Second).Truncate(time.Second)
	o.end = o.begin.Add(d)
	sched.Spec.StartTime, sched.Spec.EndTime = o.begin, o.end
	o.created = make([]time.Time, rate)
	group, ctx := errgroup.WithContext(o.tb.Context())
	group.SetLimit(16)
	for i := range o.created {
		group.Go(func() error {
			_, err := o.s.client.Create(ctx, schedule.CreateRequest{ID: strconv.Itoa(i), Schedule: sched})
			o.created[i] = time.Now()
			return err
		})
	}
	require.NoError(o.tb, group.Wait())
	wait(o.tb.Context(), time.Until(o.begin))
	before := o.runs.total.Load()
	for i := 0; time.Now().Before(o.end); i++ {
		asked := time.Now()
		_, err := o.s.client.Describe(o.tb.Context(), strconv.Itoa(i%rate))
		require.NoError(o.tb, err, "the API answers")
		o.described = append(o.described, time.Since(asked))
		wait(o.tb.Context(), 50*time.Millisecond)
	}
	o.completed = o.runs.total.Load() - before
}

// rate is how many actions ran per second while they were offered.
func (o *overload) rate() float64 { return float64(o.completed) / o.end.Sub(o.begin).Seconds() }

// due is the number of actions that were offered: one for each second from the begin to the end, both included.
func (o *overload) due() int { return len(o.created) * (int(o.end.Sub(o.begin).Seconds()) + 1) }

func (o *overload) await(d time.Duration) {
	natstest.Eventually(o.tb, d, "all that was offered", func() bool { return int(o.runs.total.Load()) >= o.due() })
}

// check requires each action to have run once, and the counters to say so.
func (o *overload) check() {
	o.runs.mu.Lock()
	defer o.runs.mu.Unlock()
	for id, times := range o.runs.runs {
		for second, count := range times {
			assert.EqualValues(o.tb, 1, count, "%s at %s", id, time.Unix(second, 0))
		}
	}
	assert.EqualValues(o.tb, o.due(), o.runs.total.Load())
	info := o.s.describe("0").Info
	assert.Zero(o.tb, info.MissedCatchupWindow+info.BufferDropped+info.OverlapSkipped)
}

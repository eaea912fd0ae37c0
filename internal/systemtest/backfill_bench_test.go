package systemtest

import (
	"context"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
)

// BenchmarkLargeBackfill backfills 10,000 and 100,000 actions of a schedule that is due every second as well, beside another
// such schedule. It reports how late the automated starts of both are meanwhile, from due to worker code, and the memory of
// everything together, including NATS. One iteration takes about a minute: use -benchtime 1x.
func BenchmarkLargeBackfill(b *testing.B) {
	for _, count := range []int{10_000, 100_000} {
		b.Run(strconv.Itoa(count), func(b *testing.B) { benchmarkBackfill(b, count) })
	}
}

func benchmarkBackfill(b *testing.B, count int) {
	for range b.N {
		conn, js := natstest.Connect(b, natstest.Shared(b))
		s := newSystem(b, conn, js, topology.Settings{})
		runs := s.work(s.conn, "q", nil)
		for _, id := range []string{"own", "other"} {
			sched := every(time.Second)
			sched.Policies.Overlap = schedule.OverlapAllowAll
			s.create(id, sched)
		}
		natstest.Eventually(b, natstest.Patience, "first actions", func() bool {
			return len(runs.of("own")) > 1 && len(runs.of("other")) > 1
		})
		peak := watchHeap(b)
		from, began := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Now()
		_, err := s.client.Backfill(b.Context(), schedule.BackfillRequest{ID: "own", BackfillRange: schedule.BackfillRange{
			Start: from, End: from.Add(time.Duration(count-1) * time.Second), Overlap: schedule.OverlapAllowAll,
		}})
		require.NoError(b, err)
		s.awaitBackfills("own", 20*time.Minute)
		ended := time.Now()

		automated := func(r ran) bool { return r.Nominal.After(began) && r.Nominal.Before(ended) }
		own := runs.of("own")
		require.Len(b, own[:countBefore(own, began)], count, "each once")
		for id, all := range map[string][]ran{"own": own, "other": runs.of("other")} {
			late := lateness(all, automated)
			require.NotEmpty(b, late)
			b.ReportMetric(ms(late[len(late)/2]), id+"-p50-ms")
			b.ReportMetric(ms(late[len(late)*99/100]), id+"-p99-ms")
		}
		b.ReportMetric(float64(count)/ended.Sub(began).Seconds(), "actions/s")
		b.ReportMetric(float64(peak())/(1<<20), "peak-heap-MiB")
		s.stop()
	}
}

// countBefore counts the backfilled runs, whose nominal times are long past.
func countBefore(runs []ran, began time.Time) int {
	old := began.Add(-24 * time.Hour)
	return slices.IndexFunc(runs, func(r ran) bool { return r.Nominal.After(old) })
}

func lateness(runs []ran, which func(ran) bool) []time.Duration {
	var late []time.Duration
	for _, r := range runs {
		if which(r) {
			late = append(late, r.At.Sub(r.Nominal))
		}
	}
	slices.Sort(late)
	return late
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// watchHeap samples the size of the heap ten times a second. The returned function stops that and returns the peak, which
// includes NATS.
func watchHeap(tb testing.TB) (peak func() uint64) {
	ctx, cancel := context.WithCancel(tb.Context())
	var watching sync.WaitGroup
	var most uint64
	watching.Go(func() {
		for ctx.Err() == nil {
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapInuse)
			wait(ctx, 100*time.Millisecond)
		}
	})
	return func() uint64 {
		cancel()
		watching.Wait()
		return most
	}
}

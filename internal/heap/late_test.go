package heap

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
)

// BenchmarkLateness says how late a goroutine is that waits for a millisecond, while memory is collected of which much is in use.
func BenchmarkLateness(b *testing.B) {
	type node struct {
		next [4]*node
		_    [64]byte
	}
	nodes := make([]*node, 4_000_000)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range nodes {
		nodes[i] = &node{}
		for j := range nodes[i].next {
			nodes[i].next[j] = nodes[random.IntN(i+1)]
		}
	}
	some := newTicks()
	defer some.close()
	for name, collect := range map[string]func(){
		"none":       runtime.GC,
		"ticks":      func() { some.during(runtime.GC) },
		"processors": func() { withProcessors(runtime.GC) },
		"both":       func() { onTime(some, runtime.GC) },
	} {
		b.Run(name, func(b *testing.B) {
			var late []time.Duration
			for b.Loop() {
				done := make(chan struct{})
				go func() {
					defer close(done)
					collect()
				}()
				for over := false; !over; {
					begin := time.Now()
					time.Sleep(5 * time.Millisecond)
					late = append(late, time.Since(begin)-5*time.Millisecond)
					select {
					case <-done:
						over = true
					default:
					}
				}
			}
			slices.Sort(late)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(late[len(late)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(late[len(late)*99/100].Microseconds()), "p99-µs")
			b.ReportMetric(float64(late[len(late)-1].Microseconds()), "max-µs")
		})
	}
	runtime.KeepAlive(nodes)
}

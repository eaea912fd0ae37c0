package offer

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// BenchmarkIdlePolls is what a second costs in which 5,000 polls wait on 50 queues: processor time of the gateway and of NATS together.
func BenchmarkIdlePolls(b *testing.B) {
	names := natstest.Names(b)
	g := runGateway(b, natstest.Server(b).ClientURL(), names, 0, 0)
	ctx, cancel := context.WithCancel(b.Context())
	var polling sync.WaitGroup
	for i := range 5000 {
		q := Queue{Namespace: "default", Kind: Workflow, Name: string(rune('a' + i%50))}
		polling.Go(func() { _, _ = g.Wait(ctx, q, Poller{Identity: "w"}) })
	}
	natstest.Eventually(b, natstest.Patience, "all polls wait", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		n := 0
		for _, s := range g.served {
			n += len(s.line.polls)
		}
		return n == 5000
	})
	before := used()
	b.ResetTimer()
	for range b.N {
		<-time.After(time.Second)
	}
	b.StopTimer()
	b.ReportMetric(float64((used()-before).Milliseconds())/float64(b.N), "ms-cpu/s")
	cancel()
	polling.Wait()
}

// used is the processor time of the process.
func used() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

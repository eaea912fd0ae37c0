package offer

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// BenchmarkOffer is one task from the offer until its worker has it, by one offerer and by many. The worker comes back for each.
func BenchmarkOffer(b *testing.B) {
	for name, offerers := range map[string]int{"one": 1, "64 at once": 64} {
		b.Run(name, func(b *testing.B) {
			names := natstest.Names(b)
			server := natstest.Server(b)
			g, o := runGateway(b, server.ClientURL(), names, 0, 0), newOfferer(b, server.ClientURL(), names)
			ctx, cancel := context.WithCancel(b.Context())
			var polling sync.WaitGroup
			taken := make(chan struct{}, offerers)
			for range 2 * offerers {
				polling.Go(func() {
					for ctx.Err() == nil {
						if task, err := g.Wait(ctx, workflows, Poller{Identity: "w"}); err == nil && task != nil {
							taken <- struct{}{}
						}
					}
				})
			}
			natstest.Eventually(b, natstest.Patience, "polls wait", func() bool { return g.count(workflows) == 2*offerers })
			require.NoError(b, g.conn.Flush())
			task := make([]byte, 1024)
			b.ResetTimer()
			for done := 0; done < b.N; done += offerers {
				var offering sync.WaitGroup
				for range offerers {
					offering.Go(func() {
						found, err := o.Offer(ctx, workflows, time.Minute)
						if err == nil {
							err = o.Hand(ctx, found, task)
						}
						require.NoError(b, err)
						<-taken
					})
				}
				offering.Wait()
			}
			b.StopTimer()
			cancel()
			polling.Wait()
		})
	}
}

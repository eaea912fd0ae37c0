package history

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/subjects"
)

// BenchmarkPipeline runs workflows with one activity, with a worker in this process, from their start to their end. NATS has processes of
// its own. Its counterpart without any logic is BenchmarkJournal in internal/systemtest.
//
//	go test ./history -run '^$' -bench Pipeline -benchtime 500x
func BenchmarkPipeline(b *testing.B) {
	for _, nodes := range []int{1, 3} {
		for _, clients := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("nodes=%d/clients=%d", nodes, clients), func(b *testing.B) { benchmarkPipeline(b, nodes, clients) })
		}
	}
}

func benchmarkPipeline(t *testing.B, nodes, clients int) {
	b := setupOn(t, natstest.Cluster(t, nodes).URLs(), nodes)
	b.run()
	var waiting sync.Map // of chan struct{}, by workflow ID
	for range max(4, clients) {
		b.background(func(ctx context.Context) error {
			return b.workOnWorkflows(ctx, func(id string) {
				if ended, ok := waiting.LoadAndDelete(id); ok {
					close(ended.(chan struct{}))
				}
			})
		})
		b.background(func(ctx context.Context) error {
			return b.workOnActivities(ctx, func(*workflowservice.PollActivityTaskQueueResponse) {})
		})
	}
	var group errgroup.Group
	var next atomic.Int64
	t.ResetTimer()
	for range clients {
		group.Go(func() error {
			for i := next.Add(1); i <= int64(t.N); i = next.Add(1) {
				id, ended := fmt.Sprint("w", i), make(chan struct{})
				waiting.Store(id, ended)
				if err := b.answer(t.Context(), subjects.VerbStart, id, startRequest(id)); err != nil {
					return err
				}
				<-ended
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	t.StopTimer()
	t.ReportMetric(float64(t.N)/t.Elapsed().Seconds(), "workflows/s")
	t.ReportMetric(t.Elapsed().Seconds()*1000*float64(clients)/float64(t.N), "ms/workflow")
}

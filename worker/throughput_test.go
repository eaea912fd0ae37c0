package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/worker"
)

// BenchmarkRuns measures how many runs one worker takes through their whole life each second.
func BenchmarkRuns(b *testing.B) {
	bench := setup(b)
	done := make(chan struct{}, b.N)
	w := bench.worker(worker.Config{})
	w.Register("noop", func(context.Context, *worker.Run) (any, error) {
		done <- struct{}{}
		return nil, nil
	})
	for i := range b.N {
		req := bench.request(fmt.Sprint(i), "noop")
		data, err := json.Marshal(req)
		require.NoError(b, err)
		_, err = bench.js.PublishAsync(bench.names.Action(namespace, queue, req.WorkflowID), data)
		require.NoError(b, err)
	}
	<-bench.js.PublishAsyncComplete()
	b.ResetTimer()
	w.start()
	for range b.N {
		<-done
	}
	bench.queueEmpty()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}

package call_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// BenchmarkAsk asks by NATS, whose server is in the same process, and within the process, from several goroutines at once.
func BenchmarkAsk(b *testing.B) {
	for _, bench := range []struct {
		name string
		by   way
	}{{"NATS", byNATS}, {"here", here}} {
		b.Run(bench.name, func(b *testing.B) {
			conn, _ := natstest.Connect(b, natstest.Shared(b))
			server, err := call.Serve(b.Context(), call.Config{
				Conn: bus.Plain{Conn: conn}, Handle: echo, Logger: natstest.Logger(b), Queue: "test",
			}, "bench.ask")
			require.NoError(b, err)
			defer server.Close()
			by := bench.by(server, conn)
			b.SetParallelism(8)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					var response workflowservice.StartWorkflowExecutionResponse
					if err := call.Ask(b.Context(), by, "bench.ask", &workflowservice.StartWorkflowExecutionRequest{WorkflowId: "w"}, &response); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

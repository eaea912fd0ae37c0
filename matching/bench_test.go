package matching_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// BenchmarkDrain is how fast 16 polls empty a backlog of 20,000 tasks, with a history that starts tasks at once.
func BenchmarkDrain(b *testing.B) {
	const tasks = 20_000
	for i := range b.N {
		b.StopTimer()
		m := newBench(b, natstest.Server(b).ClientURL(), 1)
		for k := range tasks {
			data, err := taskOf(workflows, k).Marshal()
			require.NoError(b, err)
			_, err = m.js.PublishMsgAsync(&nats.Msg{Subject: m.names.Backlog(workflows), Data: data})
			require.NoError(b, err)
		}
		<-m.js.PublishAsyncComplete()
		m.match(b)
		b.StartTimer()
		began := time.Now()
		var all []*taken
		for range 16 {
			got, _ := m.poll(b, m.polls, workflows)
			all = append(all, got)
		}
		natstest.Eventually(b, natstest.Patience, fmt.Sprint("round ", i, " is over"), func() bool {
			n := 0
			for _, got := range all {
				n += got.len()
			}
			return n == tasks
		})
		b.ReportMetric(tasks/time.Since(began).Seconds(), "tasks/s")
	}
}

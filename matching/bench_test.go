package matching_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
)

// BenchmarkDrain is how fast a backlog of 100,000 tasks is emptied by 64 polls, with a history that starts tasks at once: by one or two matchings,
// on one NATS node or three, from one queue or four. Four queues are what four partitions of a queue would be.
func BenchmarkDrain(b *testing.B) {
	for _, nodes := range []int{1, 3} {
		for _, matchings := range []int{1, 2} {
			for _, queues := range []int{1, 4} {
				b.Run(fmt.Sprintf("nodes=%d/matchings=%d/queues=%d", nodes, matchings, queues), func(b *testing.B) {
					for range b.N {
						benchmarkDrain(b, nodes, matchings, queues)
					}
				})
			}
		}
	}
}

func benchmarkDrain(b *testing.B, nodes, matchings, queues int) {
	const tasks, polls = 100_000, 64
	b.StopTimer()
	url := ""
	if nodes == 1 {
		url = natstest.Server(b).ClientURL()
	} else {
		url = natstest.Cluster(b, nodes).URLs()
	}
	m := newBench(b, url, nodes)
	all := make([]offer.Queue, queues)
	for i := range all {
		all[i] = offer.Queue{Namespace: "default", Kind: offer.Workflow, Name: fmt.Sprint("q", i)}
	}
	for k := range tasks {
		q := all[k%queues]
		data, err := taskOf(q, k).Marshal()
		require.NoError(b, err)
		_, err = m.js.PublishMsgAsync(&nats.Msg{Subject: m.names.Backlog(q), Data: data})
		require.NoError(b, err)
	}
	<-m.js.PublishAsyncComplete()
	for range matchings {
		m.match(b)
	}
	b.StartTimer()
	began := time.Now()
	var taken []*taken
	for i := range polls {
		got, _ := m.poll(b, m.polls, all[i%queues])
		taken = append(taken, got)
	}
	natstest.Eventually(b, time.Minute, "the backlog has been drained", func() bool {
		n := 0
		for _, got := range taken {
			n += got.len()
		}
		return n == tasks
	})
	b.ReportMetric(tasks/time.Since(began).Seconds(), "tasks/s")
}

package history

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/subjects"
)

// BenchmarkRetention removes runs of four entries that have expired, whose entries are together in the stream, or spread over it. CARILLON_BENCH_RUNS
// is how many; 10,000 by default. Meanwhile a client starts workflows one by one, and did so before: their latency shows what the removal holds up.
func BenchmarkRetention(b *testing.B) {
	runs := 10_000
	if n, err := strconv.Atoi(os.Getenv("CARILLON_BENCH_RUNS")); err == nil {
		runs = n
	}
	for name, spread := range map[string]int{"together": 1, "spread": runs} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				in, c := setup(b), &clock{}
				c.advance(-200 * 24 * time.Hour)
				in.expired(runs, spread)
				last := in.ends()
				stop := in.keeping(c)
				in.settled()
				end := in.starting()
				<-time.After(3 * time.Second)
				before := end()
				b.StartTimer()
				since := time.Now()
				end = in.starting()
				c.advance(200 * 24 * time.Hour)
				in.awaitRemoved(last)
				took := time.Since(since)
				during := end()
				stop()
				b.ReportMetric(float64(runs)/took.Seconds(), "runs/s")
				b.ReportMetric(before[len(before)/2], "ms/idle-p50")
				b.ReportMetric(before[len(before)*99/100], "ms/idle-p99")
				b.ReportMetric(during[len(during)/2], "ms/busy-p50")
				b.ReportMetric(during[len(during)*99/100], "ms/busy-p99")
			}
		})
	}
}

// starting starts a workflow every 10 ms until the function is called that it returns. That one returns how many milliseconds the starts took, sorted.
func (b *bundle) starting() (end func() []float64) {
	ctx, cancel := context.WithCancel(b.Context())
	result := make(chan []float64, 1)
	go func() {
		took, tick := []float64{}, time.NewTicker(10*time.Millisecond)
		defer tick.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			<-tick.C
			since := time.Now()
			b.start(fmt.Sprint("start-", since.UnixNano()))
			took = append(took, float64(time.Since(since).Microseconds())/1000)
		}
		slices.Sort(took)
		result <- took
	}()
	return func() []float64 { cancel(); return <-result }
}

// ends returns the last sequence of each journal stream.
func (b *bundle) ends() (last []uint64) {
	b.Helper()
	for shard := range b.facts.Shards {
		info, err := b.journalInfo(shard)
		require.NoError(b, err)
		last = append(last, info.State.LastSeq)
	}
	return last
}

// awaitRemoved waits until the journals have no entries up to some sequences.
func (b *bundle) awaitRemoved(through []uint64) {
	b.Helper()
	for shard, last := range through {
		natstest.Eventually(b, 10*natstest.Patience, "the runs are removed", func() bool {
			info, err := b.journalInfo(shard)
			return err == nil && info.State.FirstSeq > last
		})
	}
}

func (b *bundle) journalInfo(shard int) (*jetstream.StreamInfo, error) {
	stream, err := b.js.Stream(b.Context(), b.names.JournalStream(shard))
	if err != nil {
		return nil, err
	}
	return stream.Info(b.Context())
}

// expired stores runs that ended long ago. The entries of as many runs as spread says alternate.
func (b *bundle) expired(runs, spread int) {
	b.Helper()
	at := time.Now().Add(-100 * 24 * time.Hour)
	streams := natstest.Bus(b, b.js)
	for from := 0; from < runs; from += spread {
		for n := range benchEntries {
			var all []*nats.Msg
			for i := range min(spread, runs-from) {
				m := b.expiredEntry(from+i, n, at)
				all = append(all, m)
				if len(all) == 2000 || i == min(spread, runs-from)-1 {
					require.NoError(b, streams.PublishAll(b.Context(), all))
					all = nil
				}
			}
		}
	}
}

// benchEntries is how many entries a run of the benchmark has.
const benchEntries = 4

// expiredEntry makes one entry of a run of about 600 bytes.
func (b *bundle) expiredEntry(id, n int, at time.Time) *nats.Msg {
	b.Helper()
	key := b.key(fmt.Sprint("w", id))
	m := &nats.Msg{Subject: b.names.Journal(subjects.ShardOf(key, b.facts.Shards), key), Header: nats.Header{journal.HeaderID: {"x-1"}}}
	event := &historypb.HistoryEvent{EventId: int64(n + 1), EventType: enumspb.EVENT_TYPE_MARKER_RECORDED}
	event.Attributes = &historypb.HistoryEvent_MarkerRecordedEventAttributes{MarkerRecordedEventAttributes: &historypb.MarkerRecordedEventAttributes{
		MarkerName: strings.Repeat("m", 400),
	}}
	if n == benchEntries-1 {
		event.EventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED
		m.Header.Set(subjects.HeaderEnds, "1")
	}
	entry := &execution.Entry{Time: at, Cause: "bench", Parts: []execution.Part{{
		RunID: "r", First: uint64(min(n, 1)), Events: []*historypb.HistoryEvent{event},
	}}}
	var err error
	m.Data, err = entry.Marshal()
	require.NoError(b, err)
	return m
}

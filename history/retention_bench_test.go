package history

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/subjects"
)

// BenchmarkRetention removes runs of four entries that have expired, whose entries are together in the stream, or spread over it. CARILLON_BENCH_RUNS
// is how many; 10,000 by default.
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
				stop := in.keeping(c)
				in.settled()
				b.StartTimer()
				since := time.Now()
				c.advance(200 * 24 * time.Hour)
				in.awaitEmpty()
				stop()
				b.ReportMetric(float64(runs)/time.Since(since).Seconds(), "runs/s")
			}
		})
	}
}

// awaitEmpty waits until the journals are empty.
func (b *bundle) awaitEmpty() {
	b.Helper()
	for shard := range b.facts.Shards {
		stream, err := b.js.Stream(b.Context(), b.names.JournalStream(shard))
		require.NoError(b, err)
		natstest.Eventually(b, 10*natstest.Patience, "the journal is empty", func() bool {
			info, err := stream.Info(b.Context())
			return err == nil && info.State.Msgs == 0
		})
	}
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

package search_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
)

// many is the number of schedules in the benchmarks.
const many = 100_000

// BenchmarkFirstPage answers several kinds of queries from the index of many schedules.
func BenchmarkFirstPage(b *testing.B) {
	in := install(b)
	in.fill(many)
	config := in.config()
	config.Dir, config.Interval = b.TempDir(), time.Minute
	begin := time.Now()
	index, _ := run(b, config)
	in.awaitBuilt(index)
	fmt.Printf("%d schedules: built in %s, %d MB\n", many, time.Since(begin).Round(time.Millisecond), size(b, config.Dir)>>20)
	for _, text := range []string{
		"",
		"paused = true and taskQueue = 'queue-7' and nextTime < '2027-01-01'",
		"nextTime < '2026-06-02' order by nextTime",
		"paused = false order by nextTime desc",
		"attr.customer = 'customer-77'",
		"attr.tier = 'gold'",
		"attr.tier in ('gold', 'silver') and not paused = true order by createTime desc",
		"attr.amount between 10 and 20",
		"memo.owner = 'nobody'",
		"notes starts_with 'absent'",
		"notes starts_with 'nothing'",
		"lastStatus = 'failed' order by nextTime desc",
		"taskQueue = 'queue-7' and nextTime > '2026-06-02' order by nextTime desc",
		"lastStatus = 'failed' or running > 0",
	} {
		b.Run(strings.ReplaceAll(text, "/", "_"), func(b *testing.B) { firstPage(b, index, parse(b, text)) })
	}
	b.Run("count", func(b *testing.B) {
		for b.Loop() {
			_, _, err := index.Count(b.Context(), "default", "", parse(b, "paused = true"))
			require.NoError(b, err)
		}
	})
}

func firstPage(b *testing.B, index *search.Index, q *query.Query) {
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		_, _, err := index.List(b.Context(), "default", "", q, search.Position{}, 100)
		require.NoError(b, err)
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// fill quickly makes schedules and the pools' records of them.
func (in *installation) fill(n int) {
	in.t.Helper()
	for i := range n {
		d := benchDefinition(i)
		generator := wire.GeneratorState{Incarnation: d.Incarnation, Next: noon.Add(time.Duration(i) * time.Minute)}
		for name, record := range map[string]any{
			kv.Definition(d.Key()).String(): d, kv.Generator(d.Key()).String(): &generator,
		} {
			data, err := codec.Marshal(record)
			require.NoError(in.t, err)
			bucket := in.names.StateBucket(in.store.ShardOf(d.Key()))
			_, err = in.js.PublishAsync("$KV."+bucket+"."+name, data)
			require.NoError(in.t, err)
		}
	}
	select {
	case <-in.js.PublishAsyncComplete():
	case <-time.After(time.Minute):
		require.Fail(in.t, "the schedules were not stored in time")
	}
}

func benchDefinition(i int) *wire.Definition {
	tier := []string{`"gold"`, `"silver"`, `"bronze"`, `"none"`}[i%4]
	d := define(fmt.Sprintf("schedule-%06d", i),
		attribute("customer", fmt.Sprintf(`"customer-%d"`, i%5000)), attribute("tier", tier),
		attribute("amount", fmt.Sprint(i%1000)), attribute("tags", `["a", "b"]`))
	d.CreateTime = noon.Add(time.Duration(i) * time.Second)
	d.Schedule.Action.TaskQueue = fmt.Sprintf("queue-%d", i%50)
	d.Schedule.State.Paused = i%10 == 7
	d.Schedule.State.Notes = "nothing to say"
	return d
}

func (in *installation) awaitBuilt(index *search.Index) {
	in.t.Helper()
	natstest.Eventually(in.t, 2*time.Minute, "the index is built", func() bool {
		_, err := index.IDs(context.Background(), "default", &query.Query{}, "", 1)
		return err == nil
	})
}

func size(b *testing.B, dir string) (bytes int64) {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(b, err)
	for _, file := range files {
		info, err := os.Stat(file)
		require.NoError(b, err)
		bytes += info.Size()
	}
	return bytes
}

package console_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// many makes schedules: 1,000, or as many as CARILLON_BENCH_SCHEDULES says. They do nothing by themselves.
func (i *installation) many(b *testing.B) {
	b.Helper()
	count := 1000
	if n, err := strconv.Atoi(os.Getenv("CARILLON_BENCH_SCHEDULES")); err == nil {
		count = n
	}
	i.fill(b, count)
}

// opened opens a page, as a person or as a page that keeps itself up to date, and returns how many bytes it has.
func (i *installation) opened(ctx context.Context, with *http.Client, path string, byItself bool) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, i.url+path, nil)
	if err != nil {
		return 0, err
	}
	if byItself {
		request.Header.Set("HX-Request", "true")
	}
	response, err := with.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	size, err := io.Copy(io.Discard, response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, response.Status)
	}
	return size, err
}

// pagesOfBench are pages that people leave open, with how often each asks again. A number in braces is that of the viewer.
var pagesOfBench = map[string]struct {
	path  string
	every time.Duration
}{
	"now":               {"/ns/default/now", 5 * time.Second},
	"schedules":         {"/ns/default/schedules", 5 * time.Second},
	"a search":          {"/ns/default/schedules?query=paused+%3D+true", 5 * time.Second},
	"a schedule":        {"/ns/default/schedules/report-000007", 4 * time.Second},
	"each its schedule": {"/ns/default/schedules/report-000{000}", 4 * time.Second},
	"runs":              {"/ns/default/runs", 5 * time.Second},
	"executions":        {"/ns/default/executions", 5 * time.Second},
}

// BenchmarkPage opens one page again and again.
func BenchmarkPage(b *testing.B) {
	all := visitAll(b)
	all.many(b)
	for name, page := range pagesOfBench {
		path := strings.ReplaceAll(page.path, "{000}", "007")
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			var size int64
			for b.Loop() {
				since := time.Now()
				var err error
				size, err = all.opened(b.Context(), http.DefaultClient, path, false)
				require.NoError(b, err)
				took = append(took, time.Since(since))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms/p99")
			b.ReportMetric(float64(size)/1000, "kB/page")
		})
	}
}

// BenchmarkViewers has 200 people leave a page open for a minute. The cores are those of the whole process: of the console, of the frontend, of the
// NATS server and of the viewers themselves.
func BenchmarkViewers(b *testing.B) {
	all := visitAll(b)
	all.many(b)
	for name, page := range pagesOfBench {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(all.watched(b, 200, page.path, page.every, time.Minute), "cores")
			}
		})
	}
}

// watched returns how many cores are busy while viewers watch a page, over and above those that are busy without them.
func (i *installation) watched(b *testing.B, viewers int, path string, every, during time.Duration) float64 {
	<-time.After(5 * time.Second)
	idle := busy(func() { <-time.After(5 * time.Second) })
	return busy(func() {
		ctx, cancel := context.WithTimeout(b.Context(), during)
		defer cancel()
		var group sync.WaitGroup
		for n := range viewers {
			group.Go(func() {
				<-time.After(every * time.Duration(n) / time.Duration(viewers))
				tick := time.NewTicker(every)
				defer tick.Stop()
				viewer, path := &http.Client{Transport: &http.Transport{}}, strings.ReplaceAll(path, "{000}", fmt.Sprintf("%03d", n))
				defer viewer.CloseIdleConnections()
				for ctx.Err() == nil {
					if _, err := i.opened(ctx, viewer, path, true); err != nil && ctx.Err() == nil {
						b.Error(err)
					}
					select {
					case <-tick.C:
					case <-ctx.Done():
					}
				}
			})
		}
		group.Wait()
	}) - idle
}

// busy returns how many cores this process uses while something goes on.
func busy(do func()) float64 {
	used := func() float64 {
		var u syscall.Rusage
		if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
			return math.NaN()
		}
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	since, before := time.Now(), used()
	do()
	return (used() - before) / time.Since(since).Seconds()
}

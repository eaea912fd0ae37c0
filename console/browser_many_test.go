package console_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// far is a spec whose first time comes after all tests.
var far = schedule.Spec{Cron: daily.Cron, StartTime: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}

// TestJourneysOfManySchedules: among 2,000 schedules, or as many as CARILLON_JOURNEY_SCHEDULES says, somebody finds what they look for. How long each step takes
// is in the log.
func TestJourneysOfManySchedules(t *testing.T) {
	t.Parallel()
	of := browser(t)
	count := 2000
	if n, err := strconv.Atoi(os.Getenv("CARILLON_JOURNEY_SCHEDULES")); err == nil {
		count = n
	}
	v := visitAll(t)
	v.make(t, "zz-soon", schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Hour)}}})
	v.fill(t, count)
	j := v.tab(t, of)
	j.timed("open the list", func() {
		j.goes("/ns/default/schedules")
		j.sees("report-000000")
	})
	j.timed("see how many there are", func() { j.sees(fmt.Sprintf("All\n%d", count+1)) }) // without a click
	j.timed("next page", func() {
		j.clicks("Next page")
		j.sees("report-000079")
	})
	j.timed("search", func() {
		j.types("query", "id starts_with 'report-' and paused = true")
		j.clicks("Search")
		j.sees("report-000390")
	})
	assert.False(t, is[bool](j, `document.body.innerText.includes("report-000001")`))
	j.timed("search for the last one", func() {
		last := fmt.Sprintf("report-%06d", count-1)
		j.types("query", "id = '"+last+"'")
		j.clicks("Search")
		j.sees(last)
	})
	j.timed("sort", func() {
		j.goes("/ns/default/schedules")
		j.clicks("Next")
		j.sees("zz-soon")
	})
	assert.Equal(t, "zz-soon", is[string](j, `document.querySelector("tbody th a").innerText`))
	j.timed("open one", func() {
		j.do(chromedp.Click("tbody th a"))
		j.sees("Trigger now")
	})
	j.timed("preview of a bulk pause", func() {
		j.goes("/ns/default/schedules?query=id+starts_with+'report-'+and+paused+%3D+false")
		j.do(chromedp.SetValue("#operation", "pause"), chromedp.SetValue("#which", "found"))
		j.clicks("Preview")
		j.sees(fmt.Sprintf("%d schedules now", count-count/10))
	})
}

// timed does a step, and logs how long it took.
func (j *journey) timed(step string, do func()) {
	j.t.Helper()
	since := time.Now()
	do()
	j.t.Logf("%s: %v", step, time.Since(since).Round(time.Millisecond))
}

// fill makes schedules, of which every tenth is paused. All but two of them are copies of records: that is faster than a request for each.
func (i *installation) fill(t testing.TB, count int) {
	t.Helper()
	since := time.Now()
	_, js := natstest.Connect(t, natstest.Shared(t))
	store, err := kv.Open(t.Context(), js, i.names, 2)
	require.NoError(t, err)
	templates := []copied{i.template(t, store, "report-000000", true), i.template(t, store, "report-000001", false)}
	var group errgroup.Group
	group.SetLimit(256)
	for n := 2; n < count; n++ {
		group.Go(func() error {
			return templates[min(n%10, 1)].as(t, store, schedule.Key{Namespace: "default", ID: fmt.Sprintf("report-%06d", n)})
		})
	}
	require.NoError(t, group.Wait())
	t.Logf("%d schedules made: %v", count, time.Since(since).Round(time.Millisecond))
	natstest.Eventually(t, 10*patience, "a search finds them all", func() bool {
		found, err := i.api.CountMatching(t.Context(), schedule.CountRequest{Prefix: "report-", Query: "type = 'log'"})
		return err == nil && found.Count == count
	})
	t.Logf("and found: %v", time.Since(since).Round(time.Millisecond))
}

// copied are the records of a schedule.
type copied struct {
	definition wire.Definition
	generator  wire.GeneratorState
}

// template makes a schedule and returns its records, when the generator has seen it.
func (i *installation) template(t testing.TB, store *kv.Store, id string, isPaused bool) (c copied) {
	t.Helper()
	_, err := i.api.Create(t.Context(), schedule.CreateRequest{ID: id, Schedule: schedule.Schedule{
		Spec: far, Action: schedule.Action{Type: "log", TaskQueue: "default"}, State: schedule.State{Paused: isPaused},
	}})
	require.NoError(t, err)
	key := schedule.Key{Namespace: "default", ID: id}
	natstest.Eventually(t, patience, "the generator has seen the schedule", func() bool {
		definition, err1 := kv.Load(t.Context(), store, kv.Definition(key), true)
		generator, err2 := kv.Load(t.Context(), store, kv.Generator(key), true)
		c = copied{definition.Value, generator.Value}
		return err1 == nil && err2 == nil && generator.Revision > 0
	})
	return c
}

// as writes the records as those of another schedule.
func (c copied) as(t testing.TB, store *kv.Store, key schedule.Key) error {
	c.definition.ID, c.definition.Incarnation = key.ID, uuid.NewString()
	c.generator.Incarnation = c.definition.Incarnation
	if _, err := kv.Insert(t.Context(), store, kv.Definition(key), &c.definition); err != nil {
		return err
	}
	_, err := kv.Insert(t.Context(), store, kv.Generator(key), &c.generator)
	return err
}

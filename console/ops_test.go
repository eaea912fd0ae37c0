package console_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// until opens a page until it shows a text.
func (v *visitor) until(path, text string) (body string) {
	v.t.Helper()
	natstest.Eventually(v.t, patience, path+" shows "+text, func() bool {
		body = v.open(path).body
		return strings.Contains(body, text)
	})
	return body
}

// TestNow: the first page shows how the installation is, what has run and what comes.
func TestNow(t *testing.T) {
	t.Parallel()
	v := visitAll(t)
	v.make(t, "each-minute", schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Minute)}}})
	_, err := v.api.Trigger(t.Context(), schedule.TriggerRequest{ID: "each-minute"})
	require.NoError(t, err)
	assert.Contains(t, v.open("/").body, "<title>Now · Carillon</title>")
	body := v.until("/ns/default/now", `<span class="state good">completed</span>`)
	assert.Contains(t, body, `<span class="state good">all is well</span>`)
	assert.Contains(t, body, `<rect class="good"`)
	v.until("/ns/default/now", `<a href="/ns/default/executions">0</a> <small>open</small>`)
	body = v.until("/ns/default/now", `<a href="/ns/default/schedules/each-minute">each-minute</a>`)
	assert.Contains(t, body, `<rect class="due"`)
	assert.Less(t, len(body), 150_000)
}

// TestNowWithoutTheRest: parts that nobody answers for say so, and the others are there.
func TestNowWithoutTheRest(t *testing.T) {
	t.Parallel()
	v := visit(t)
	v.make(t, "report", daily)
	got := v.open("/ns/default/now")
	assert.Equal(t, 200, got.status)
	assert.Contains(t, got.body, "there is no gateway")
	assert.Contains(t, got.body, "no process of the pool is there")
	assert.Contains(t, got.body, "Nothing is due in the next hour.")
}

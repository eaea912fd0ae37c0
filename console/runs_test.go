package console_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestTracesOfRuns: the pages of a run and of an execution lead to their traces.
func TestTracesOfRuns(t *testing.T) {
	t.Parallel()
	v := visitAll(t)
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	const parent = "00-" + id + "-00f067aa0ba902b7-01"
	const link = `<a href="https://traces.example/explore?left=%7B%22q%22:%22` + id + `%22%7D&amp;orgId=1" rel="noreferrer"><code>` + id + `</code></a>`
	v.make(t, "a", schedule.Spec{Cron: []string{"@yearly"}})
	_, err := v.api.Trigger(telemetry.WithTraceparent(t.Context(), parent), schedule.TriggerRequest{ID: "a"})
	require.NoError(t, err)
	natstest.Eventually(t, patience, "the run has begun", func() bool {
		_, after, found := strings.Cut(v.open("/ns/default/schedules/a").body, `<a href="/ns/default/schedules/a/runs/`)
		run, _, _ := strings.Cut(after, `"`)
		return found && strings.Contains(v.open("/ns/default/schedules/a/runs/"+run).body, link)
	})
	conn, err := grpc.NewClient(v.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	started, err := workflowservice.NewWorkflowServiceClient(conn).StartWorkflowExecution(t.Context(), &workflowservice.StartWorkflowExecutionRequest{
		Namespace: "default", WorkflowId: "w", WorkflowType: &common.WorkflowType{Name: "Order"}, TaskQueue: &taskqueue.TaskQueue{Name: "q"}, RequestId: "1",
		Header: &common.Header{Fields: map[string]*common.Payload{"_tracer-data": {Data: []byte(`{"traceparent":"` + parent + `"}`)}}},
	})
	require.NoError(t, err)
	v.open("/ns/default/executions/w/"+started.RunId).shows(t, link)
}

// TestRunsPageByPage runs a schedule more often than a page of runs is long, and goes through them.
func TestRunsPageByPage(t *testing.T) {
	t.Parallel()
	v := visitAll(t)
	const total = 60
	v.make(t, "a", schedule.Spec{Cron: []string{"* * * * *"}})
	require.NoError(t, v.api.Pause(t.Context(), "a", ""))
	form := url.Values{"start": {"2026-01-01T00:01"}, "end": {"2026-01-01T01:00"}, "overlap": {"allow_all"}, "do": {"start"}}
	require.Contains(t, v.submit("/ns/default/schedules/a/backfill", form).body, "The backfill has begun.")
	natstest.Eventually(t, patience, "all runs have ended", func() bool {
		d, err := v.api.Describe(t.Context(), "a")
		return err == nil && d.Info.ActionCount == total && len(d.Info.RunningWorkflows) == 0 && len(d.Info.Backfills) == 0
	})
	for _, path := range []string{"/ns/default/schedules/a/runs", "/ns/default/runs?schedule=a"} {
		seen := map[string]bool{}
		row := regexp.MustCompile(`<th scope="row"><a href="([^"]*)"`)
		page := v.open(path)
		for pages := 1; ; pages++ {
			require.Equal(t, 200, page.status)
			for _, found := range row.FindAllStringSubmatch(page.body, -1) {
				seen[found[1]] = true
			}
			next := regexp.MustCompile(`<a href="([^"]*)" rel="next">Older runs`).FindStringSubmatch(page.body)
			if next == nil {
				assert.Equal(t, 2, pages)
				assert.Contains(t, page.body, "Newest")
				break
			}
			address, _, _ := strings.Cut(path, "?")
			page = v.open(address + html.UnescapeString(next[1]))
		}
		assert.Len(t, seen, total, path)
	}
	list := v.open("/ns/default/schedules/a/runs")
	assert.Contains(t, list.body, `<rect class="good"`)
	assert.Less(t, len(list.body), 150_000)
	assert.Contains(t, v.open("/ns/default/schedules/a/runs?status=failed").body, "There are no such runs.")
	assert.Contains(t, v.open("/ns/default/schedules/a/runs?to=2026-01-01T00:00").body, "There are no such runs.")
	assert.Contains(t, v.open("/ns/default/schedules/a/runs?from=soon").body, "<code>from</code>: is &#34;soon&#34;")
	assert.Contains(t, v.open("/ns/default/schedules/a/calendar").body, fmt.Sprintf(`class="state good">%d completed</a>`, total))
	assert.Contains(t, v.open("/ns/default/schedules/a").body, `<rect class="good"`)
	assert.Equal(t, 400, v.open("/ns/default/runs?status=nothing").status)
}

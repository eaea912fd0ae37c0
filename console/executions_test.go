package console_test

import (
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	sdkclient "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestListOfExecutions: pages, filters by status with their numbers, and a query that is refused.
func TestListOfExecutions(t *testing.T) {
	t.Parallel()
	s := visitShop(t)
	s.open("/ns/default/executions").shows(t, "There are no executions here.")
	for i := range 51 {
		s.begin(t, nobody, fmt.Sprint("order-", i), "acme")
	}
	require.NoError(t, s.sdk.TerminateWorkflow(t.Context(), "order-7", "", "not wanted"))
	first := s.open("/ns/default/executions")
	assert.Equal(t, 50, strings.Count(first.body, `<th scope="row">`))
	first.shows(t, "all 51</span>", "Running 50</span>", "Terminated 1</span>")
	_, next, found := strings.Cut(first.body, `<a href="/ns/default/executions?after=`)
	require.True(t, found)
	next, _, _ = strings.Cut(next, `"`)
	second := s.open("/ns/default/executions?after=" + next)
	second.shows(t, "First page", `>order-7</a>`)
	assert.Equal(t, 1, strings.Count(second.body, `<th scope="row">`))

	of := func(query string) *answer { return s.open("/ns/default/executions?query=" + url.QueryEscape(query)) }
	narrowed := of("(WorkflowType = 'Order') AND ExecutionStatus = 'Terminated' ORDER BY StartTime DESC")
	narrowed.shows(t, `>order-7</a>`, `aria-current="true"><span class="state bad">Terminated 1`, "all 51")
	assert.Equal(t, 1, strings.Count(narrowed.body, `<th scope="row">`))
	of("WorkflowId = 'none'").shows(t, "No execution is found.")
	refused := of("WorkflowTyp = 'Order'")
	assert.Equal(t, 200, refused.status)
	refused.shows(t, `role="alert"`, `value="WorkflowTyp = &#39;Order&#39;"`)
	assert.Equal(t, 400, s.open("/ns/default/executions?after=!").status)
}

// TestPageOfAnExecution: what somebody sees of an execution that runs and of one that has ended.
func TestPageOfAnExecution(t *testing.T) {
	t.Parallel()
	s := visitShop(t)
	address := s.begin(t, orders, "a", "acme")
	s.awaitState(t, "a", "charged")
	page := s.open(address)
	page.shows(t, ">Running</span>", "<code>Order</code>", `&#34;acme&#34;`, "<title>completed in attempt 2", "WorkflowExecutionStarted", `/a/`+s.runOf(t, "a")+"/signal")
	natstest.Eventually(t, patience, "the gateways have time to say who polls", func() bool {
		return !strings.Contains(s.open(address).body, "No worker polls")
	})
	_, runs, _ := strings.Cut(page.body, `</code> <a href="`)
	runs, _, _ = strings.Cut(runs, `"`)
	s.open(html.UnescapeString(runs)).shows(t, s.runOf(t, "a"))
	newer := s.open(address + "?newer=5")
	newer.shows(t, "<tr><td>6</td>", `hx-get="`+address+"?newer=")
	assert.NotContains(t, newer.body, "<tr><td>5</td>")
	assert.Contains(t, s.open("/ns/default/executions/a").body, s.runOf(t, "a"), "the latest run")
	require.NoError(t, s.sdk.SignalWorkflow(t.Context(), "a", "", "paid", "thank you"))
	s.awaitStatus(t, "a", enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	ended := s.open(address + "?order=oldest&timeline=table")
	ended.shows(t, ">Completed</span>", "charged acme, thank you", "WorkflowExecutionSignaled", "oldest first", `<th scope="row">timer 11</th><td>fired</td>`)
	assert.NotContains(t, ended.body, "hx-get=\"\"", "nothing more will come")
	assert.Equal(t, "\"charged acme, thank you\"\n", s.open(address+"/result").body)
	assert.Equal(t, "\"acme\"\n", s.open(address+"/input").body)
	s.open(address+"/events/1").shows(t, "1 WorkflowExecutionStarted ", "\nworkflowType.name:\nOrder\n")
	assert.Equal(t, 404, s.open(address+"/events/1000").status)
	s.replay(t, s.open(address+"/history.json").body)

	failed := s.begin(t, orders, "b", "never")
	s.awaitStatus(t, "b", enums.WORKFLOW_EXECUTION_STATUS_FAILED)
	s.open(failed).shows(t, "Why it ended", "Card: the card is stolen", "&#34;code&#34;: 51")
	assert.Equal(t, 404, s.open("/ns/default/executions/none").status)
}

// replay lets Temporal's SDK read the JSON of a history, and run the code of the workflow by it.
func (s *shop) replay(t *testing.T, text string) {
	t.Helper()
	history, err := sdkclient.HistoryFromJSON(strings.NewReader(text), sdkclient.HistoryJSONOptions{})
	require.NoError(t, err)
	replayer := sdkworker.NewWorkflowReplayer()
	replayer.RegisterWorkflowWithOptions(order, workflow.RegisterOptions{Name: "Order"})
	require.NoError(t, replayer.ReplayWorkflowHistory(sdklog.NewStructuredLogger(natstest.Logger(t)), history))
}

func (s *shop) runOf(t *testing.T, id string) string {
	t.Helper()
	d, err := s.sdk.DescribeWorkflow(t.Context(), id, "")
	require.NoError(t, err)
	return d.WorkflowExecution.RunID
}

// TestActsOnExecutions: what somebody asks of an execution. A mistake is said at its field, and what was typed stays.
func TestActsOnExecutions(t *testing.T) {
	t.Parallel()
	s := visitShop(t)
	address := s.begin(t, orders, "a", "acme")
	s.awaitState(t, "a", "charged")
	s.submit(address+"/query", url.Values{"name": {"state"}}).shows(t, "<h2>Answer</h2>", "&#34;charged&#34;")
	s.submit(address+"/query", url.Values{"name": {"nothing"}}).shows(t, `role="alert"`, "KnownQueryTypes")
	s.submit(address+"/update", url.Values{"name": {"note"}, "input": {`"hello"`}}).shows(t, "&#34;noted: hello&#34;")
	s.submit(address+"/signal", url.Values{"name": {""}, "input": {"{\n\"a\" 1}"}}).shows(t, "Name is required")
	s.submit(address+"/signal", url.Values{"name": {"paid"}, "input": {"{\n\"a\" 1}"}}).shows(t,
		`id="input-wrong"`, "value 1, line 2, character 5", "&#34;a&#34; 1}</textarea>", `value="paid"`)
	s.submit(address+"/signal", url.Values{"name": {"paid"}, "input": {`"gold"`}, "request": {"r"}}).shows(t, "The signal is in the history.")
	s.awaitStatus(t, "a", enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)

	form := s.open(address + "/reset")
	form.shows(t, `<input type="radio"`, "the last one")
	reset := s.submit(address+"/reset", url.Values{"event": {"4"}, "reason": {"again"}})
	reset.shows(t, "This is the new run.")
	s.submit(address+"/reset", url.Values{"event": {"2"}}).shows(t, `role="alert"`)
	s.awaitStatus(t, "a", enums.WORKFLOW_EXECUTION_STATUS_COMPLETED) // the signal was applied again

	lonely := s.begin(t, nobody, "lonely", "acme")
	s.open(lonely).shows(t, "No worker polls the task queue &#34;nobody&#34; for workflow tasks.")
	s.submit(lonely+"/query", url.Values{"name": {"state"}}).shows(t, "only a worker can, and there is none")
	s.submit(lonely+"/cancel", url.Values{"reason": {"no need"}}).shows(t, "The workflow has been asked to cancel.")
	s.submit(lonely+"/terminate", url.Values{"reason": {"no need"}}).shows(t, ">Terminated</span>", "no need")
	s.submit(lonely+"/terminate", url.Values{"reason": {"no need"}}).shows(t, `role="alert"`)
	assert.Equal(t, 404, s.open("/ns/default/executions/none/"+s.runOf(t, "a")+"/query").status)
}

// TestPendingActivity: an activity that no worker takes is shown, can be paused, and goes on.
func TestPendingActivity(t *testing.T) {
	t.Parallel()
	s := visitShop(t)
	address := s.begin(t, orders, "a", "later")
	natstest.Eventually(t, patience, "the activity is shown", func() bool { return strings.Contains(s.open(address).body, "waits for a worker") })
	page := s.open(address)
	page.shows(t, "No worker polls the task queue &#34;nobody&#34; for activities.", ">Pause</button>")
	_, activity, _ := strings.Cut(page.body, `formaction="`)
	activity, _, _ = strings.Cut(activity, `/pause"`)
	s.submit(activity+"/pause", nil).shows(t, "The activity is paused", ">paused</span>", ">Unpause</button>")
	s.submit(activity+"/unpause", nil).shows(t, "The activity goes on.", "waits for a worker")
	s.submit(activity+"/reset", nil).shows(t, "The activity begins again")
	assert.Equal(t, 404, s.submit(address+"/activities/none/pause", nil).status)
}

// TestNewExecution: a form starts an execution, once however often it is sent, and one starts again what has run.
func TestNewExecution(t *testing.T) {
	t.Parallel()
	s := visitShop(t)
	form := s.open("/ns/default/new-execution?queue=orders")
	form.shows(t, `value="orders"`)
	fields := url.Values{
		"type": {"Order"}, "queue": {orders}, "workflow": {"by/form"}, "input": {"acme"}, "conflict": {"refuse"}, "request": {form.hidden(t, "request")},
	}
	s.submit("/ns/default/new-execution", fields).shows(t, "Input is not JSON", ">acme</textarea>")
	fields.Set("input", `"acme"`)
	for range 2 {
		s.submit("/ns/default/new-execution", fields).shows(t, "The execution has begun.", "<h1>by/form</h1>")
	}
	run := s.runOf(t, "by/form")
	fields.Set("request", "another")
	s.submit("/ns/default/new-execution", fields).shows(t, `role="alert"`, "already")
	fields.Set("conflict", "use")
	s.submit("/ns/default/new-execution", fields).shows(t, run)
	again := s.open("/ns/default/new-execution?workflow=by%2Fform&run=" + run)
	again.shows(t, `value="Order"`, `value="by/form"`, "&#34;acme&#34;</textarea>")
}

// TestBatchOfExecutions: a preview of what a query finds, then the operation with its progress.
func TestBatchOfExecutions(t *testing.T) {
	t.Parallel()
	s := visitShop(t)
	for i := range 12 {
		s.begin(t, nobody, fmt.Sprint("order-", i), "acme")
	}
	s.open("/ns/default/batches").shows(t, "There are none.")
	const path = "/ns/default/new-batch?query=WorkflowType+%3D+%27Order%27"
	preview := s.open(path)
	preview.shows(t, "The query finds <strong>12</strong>", "Running 12", "The first of them")
	assert.Equal(t, 10, strings.Count(preview.body, `<th scope="row">`))
	assert.NotContains(t, s.open("/ns/default/new-batch?query=WorkflowTyp+%3D+1").body, "<button class=\"main\"", "nothing to begin")
	fields := url.Values{"operation": {"signal"}, "reason": {"ticket 1"}, "request": {preview.hidden(t, "request")}}
	s.submit(path, fields).shows(t, "Name of the signal is required", "The query finds")
	fields.Set("operation", "terminate")
	for range 2 {
		s.submit(path, fields).shows(t, "Batch operation: ", "ticket 1")
	}
	natstest.Eventually(t, patience, "all are terminated", func() bool {
		return strings.Contains(s.open("/ns/default/batches/"+fields.Get("request")).body, "12 of 12 done")
	})
	s.open("/ns/default/batches").shows(t, fields.Get("request"), ">completed</span>")
	s.open("/ns/default/executions").shows(t, "Terminated 12</span>")
	assert.Equal(t, 404, s.open("/ns/default/batches/none").status)

	s.begin(t, orders, "to-pay", "acme")
	s.awaitState(t, "to-pay", "charged")
	paying := url.Values{"operation": {"signal"}, "name": {"paid"}, "input": {`"gold"`}, "reason": {"ticket 2"}, "request": {"pay"}}
	s.submit("/ns/default/new-batch?query=WorkflowId+%3D+%27to-pay%27", paying).shows(t, "Batch operation: signal")
	s.awaitStatus(t, "to-pay", enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)
}

// TestTaskQueues: who serves a queue, what waits there, and what nobody serves.
func TestTaskQueues(t *testing.T) {
	t.Parallel()
	s := visitShop(t)
	s.begin(t, nobody, "lonely", "acme")
	s.begin(t, orders, "a", "acme")
	s.awaitState(t, "a", "charged")
	natstest.Eventually(t, patience, "the task waits in the backlog", func() bool {
		page := s.open("/ns/default/task-queues/nobody").body
		return strings.Contains(page, "No worker polls for workflow tasks, and 1 wait.") &&
			strings.Contains(page, "tasks a second came, and 0 a second went to workers.")
	})
	list := s.open("/ns/default/task-queues")
	list.shows(t, `>nobody</a></th>
<td><span class="state bad">no worker</span>`, `>orders</a></th>
<td><span class="state good">served</span>`, `>default</a></th>
<td><span class="state good">served</span>`)
	s.open("/ns/default/task-queues/orders").shows(t, "temporal-go", "Pollers for activities")
	s.open("/ns/default/task-queues/default").shows(t, "Carillon's own protocol")
	s.open("/ns/default/task-queues/unknown").shows(t, "Nobody polls.")
}

// TestScheduleAndExecution: a run of a schedule leads to the execution that it started, and back.
func TestScheduleAndExecution(t *testing.T) {
	t.Parallel()
	s := visitShop(t)
	created := s.do("POST", "/namespaces/default/schedules",
		`{"id":"nightly","spec":{"cron":["@daily"]},"action":{"kind":"workflow","type":"Order","taskQueue":"orders","input":["acme"]}}`)
	require.Equal(t, 201, created.status, created.body)
	s.submit("/ns/default/schedules/nightly/trigger", nil)
	var run string
	natstest.Eventually(t, patience, "the run has begun", func() bool {
		_, after, found := strings.Cut(s.open("/ns/default/schedules/nightly").body, `<a href="/ns/default/schedules/nightly/runs/`)
		run, _, _ = strings.Cut(after, `"`)
		return found
	})
	_, execution, found := strings.Cut(s.open("/ns/default/schedules/nightly/runs/"+run).body, `<a href="/ns/default/executions/`)
	require.True(t, found)
	execution, _, _ = strings.Cut(execution, `"`)
	s.open("/ns/default/executions/"+execution).shows(t, `<a href="/ns/default/schedules/nightly">nightly</a>`, `<a href="/ns/default/schedules/nightly/runs/`+run+`"`)
}

// TestHostileExecutions: no name, value or query becomes part of a page.
func TestHostileExecutions(t *testing.T) {
	t.Parallel()
	s := visitShop(t)
	const evil = `"><script>alert(1)</script>'`
	run := s.begin(t, evil, "evil", evil)
	require.NoError(t, s.sdk.SignalWorkflow(t.Context(), "evil", "", evil, evil))
	for _, path := range []string{
		"/ns/default/executions", "/ns/default/executions?query=" + url.QueryEscape(evil), run, run + "?order=oldest", run + "/signal?name=" + url.QueryEscape(evil),
		"/ns/default/task-queues", "/ns/default/task-queues/" + url.PathEscape(evil), "/ns/default/new-batch?query=" + url.QueryEscape(evil),
		"/ns/default/new-execution?workflow=evil", "/ns/default/batches/" + url.PathEscape(evil),
	} {
		got := s.open(path)
		assert.NotContains(t, got.body, "<script>alert", path)
		assert.LessOrEqual(t, got.status, 404, path)
	}
	plain := s.open(run + "/events/1")
	assert.Equal(t, "text/plain; charset=utf-8", plain.header.Get("Content-Type"))
}

// TestPagesStaySmall: a page has at most 150 kB, whatever the names and values are.
func TestPagesStaySmall(t *testing.T) {
	t.Parallel()
	s := visitShop(t)
	name := func(i int) string { return fmt.Sprint(strings.Repeat(`"`, 950), i) }
	run := s.begin(t, name(0), "signaled", strings.Repeat(`"`, 100_000))
	for i := range 110 {
		require.NoError(t, s.sdk.SignalWorkflow(t.Context(), "signaled", "", name(i), strings.Repeat("<", 1_000)))
	}
	for i := range 60 {
		_, err := s.sdk.ExecuteWorkflow(t.Context(), sdkclient.StartWorkflowOptions{ID: name(i), TaskQueue: name(i)}, name(i))
		require.NoError(t, err)
	}
	for _, path := range []string{
		run, run + "?order=oldest", run + "?timeline=table", run + "/reset", "/ns/default/executions", "/ns/default/task-queues",
		"/ns/default/task-queues/" + url.PathEscape(name(0)), "/ns/default/new-batch?query=WorkflowType+%21%3D+%27x%27",
	} {
		got := s.open(path)
		assert.Equal(t, 200, got.status, path)
		assert.LessOrEqual(t, len(got.body), 150_000, path)
	}
	s.open(run).shows(t, "All of it")
	assert.Greater(t, len(s.open(run+"/input").body), 100_000)
}

// TestExecutionsWithoutTheRest: where nobody serves Temporal's methods, the pages say so at once.
func TestExecutionsWithoutTheRest(t *testing.T) {
	t.Parallel()
	v := visit(t)
	for _, path := range []string{"/ns/default/executions", "/ns/default/executions/a", "/ns/default/executions/a/b", "/ns/default/executions/a/b/reset", "/ns/default/batches", "/ns/default/task-queues/a"} {
		assert.Equal(t, 503, v.open(path).status, path)
	}
	v.open("/ns/default/task-queues").shows(t, "Not all is known. executions: there is no gateway", "Not all is known. workers: there is no gateway")
	v.submit("/ns/default/executions/a/b/signal", url.Values{"name": {"paid"}, "input": {"1"}}).shows(t, `role="alert"`, "there is no gateway", `value="paid"`)
	v.submit("/ns/default/new-execution", url.Values{"type": {"Order"}, "queue": {"q"}}).shows(t, `role="alert"`, `value="Order"`)
}

package console_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
)

// executionJourneys are what people do with executions in a browser.
var executionJourneys = map[string]func(t *testing.T, j *journey, s *shop){
	"find failed executions": func(t *testing.T, j *journey, s *shop) {
		s.begin(t, orders, "find-good", "acme")
		s.begin(t, orders, "find-bad", "never")
		s.awaitStatus(t, "find-bad", enums.WORKFLOW_EXECUTION_STATUS_FAILED)
		j.goes("/ns/default/executions")
		j.types("query", "WorkflowId STARTS_WITH 'find-")
		j.clicks("Search")
		j.sees("invalid query") // the quote is missing
		j.types("query", "WorkflowId STARTS_WITH 'find-'")
		j.clicks("Search")
		j.sees("Running 1")
		j.clicks("Failed 1")
		j.sees("find-bad")
		assert.NotContains(t, is[string](j, "document.body.innerText"), "find-good")
	},
	"read a history": func(t *testing.T, j *journey, s *shop) {
		s.begin(t, orders, "to-read", "acme")
		s.awaitState(t, "to-read", "charged")
		j.goes("/ns/default/executions/to-read")
		j.sees("ActivityTaskCompleted")
		assert.True(t, is[bool](j, `[...document.querySelectorAll("svg text")].some(e => e.textContent == "activity charge")`))
		require.NoError(t, s.sdk.SignalWorkflow(t.Context(), "to-read", "", "paid", "by itself"))
		j.sees("WorkflowExecutionSignaled") // without a click
		j.sees("charged acme, by itself")
		j.clicks("Oldest first")
		j.sees("oldest first.")
		j.do(chromedp.Click("#events details summary", chromedp.NodeVisible))
		j.sees("originalExecutionRunId")
		j.clicks("As a table")
		j.sees("completed in attempt 2")
	},
	"signal an execution": func(t *testing.T, j *journey, s *shop) {
		s.begin(t, orders, "to-signal", "acme")
		s.awaitState(t, "to-signal", "charged")
		j.goes("/ns/default/executions/to-signal")
		j.clicks("Signal")
		j.types("name", "paid")
		j.types("input", `{"amount": `)
		j.clicks("Send the signal")
		j.sees("Input is not JSON")
		assert.Equal(t, "paid", is[string](j, `document.getElementById("name").value`))
		j.types("input", `"gold"`)
		j.clicks("Send the signal")
		j.sees("The signal is in the history.")
		j.sees("charged acme, gold")
	},
	"query an execution": func(t *testing.T, j *journey, s *shop) {
		s.begin(t, orders, "to-query", "acme")
		s.awaitState(t, "to-query", "charged")
		j.goes("/ns/default/executions/to-query")
		j.clicks("Query")
		j.types("name", "state")
		j.clicks("Ask")
		j.sees(`"charged"`)
	},
	"query without a worker": func(t *testing.T, j *journey, s *shop) {
		s.begin(t, nobody, "unserved", "acme")
		j.goes("/ns/default/executions/unserved")
		j.sees(`No worker polls the task queue "nobody" for workflow tasks.`)
		j.clicks("Query")
		j.types("name", "state")
		j.clicks("Ask")
		j.sees("only a worker can, and there is none")
	},
	"terminate with a reason": func(t *testing.T, j *journey, s *shop) {
		s.begin(t, nobody, "to-end", "acme")
		j.goes("/ns/default/executions/to-end")
		j.clicks("Terminate")
		j.types("reason", "ordered twice")
		j.clicks("Terminate")
		j.sees("The execution is terminated.")
		j.sees("ordered twice")
	},
	"reset an execution": func(t *testing.T, j *journey, s *shop) {
		s.begin(t, orders, "to-reset", "never")
		s.awaitStatus(t, "to-reset", enums.WORKFLOW_EXECUTION_STATUS_FAILED)
		before := s.runOf(t, "to-reset")
		j.goes("/ns/default/executions/to-reset")
		j.clicks("Reset")
		j.do(chromedp.Click("#event-1", chromedp.NodeVisible))
		j.types("reason", "another card")
		j.clicks("Reset")
		j.sees("This is the new run.")
		assert.NotContains(t, is[string](j, "location.pathname"), before)
	},
	"start again": func(t *testing.T, j *journey, s *shop) {
		s.begin(t, orders, "to-repeat", "never")
		s.awaitStatus(t, "to-repeat", enums.WORKFLOW_EXECUTION_STATUS_FAILED)
		j.goes("/ns/default/executions/to-repeat")
		j.clicks("Start again")
		j.types("input", `"acme"`)
		j.clicks("Start")
		j.sees("The execution has begun.")
		s.awaitState(t, "to-repeat", "charged")
	},
	"terminate many": func(t *testing.T, j *journey, s *shop) {
		for i := range 3 {
			s.begin(t, nobody, fmt.Sprint("many-", i), "acme")
		}
		j.goes("/ns/default/executions?query=WorkflowId+STARTS_WITH+%27many-%27")
		j.clicks("Do something to all of them")
		j.sees("The query finds 3")
		j.types("reason", "the shop is closed")
		j.clicks("Begin")
		j.sees("3 of 3 done")
		j.clicks("The executions that the query finds now")
		j.sees("Terminated 3")
	},
	"a task queue without workers": func(t *testing.T, j *journey, s *shop) {
		s.begin(t, "forgotten", "waits", "acme")
		j.goes("/ns/default/executions")
		j.clicks("Task queues")
		j.sees("no worker")
		j.clicks("forgotten")
		j.sees("No worker polls for workflow tasks")
	},
	"without scripts": func(t *testing.T, j *journey, s *shop) {
		s.begin(t, orders, "plain", "acme")
		s.awaitState(t, "plain", "charged")
		tell(j, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		j.goes("/ns/default/executions/plain/" + s.runOf(t, "plain") + "/signal")
		j.do(chromedp.SendKeys("#name", "paid"), chromedp.SendKeys("#input", `"in cash"`), chromedp.Submit("#name"), chromedp.WaitVisible(".said"))
		s.awaitStatus(t, "plain", enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)
		j.goes("/ns/default/executions/plain")
		j.do(chromedp.WaitVisible("#events"))
	},
	"read what is only archived": func(t *testing.T, j *journey, s *shop) {
		s.archives(t)
		s.onlyArchived(t, "only-archived")
		j.goes("/ns/default/executions")
		j.clicks("Archive")
		j.types("query", "WorkflowId = 'only-archived'")
		j.clicks("Search")
		j.sees("Failed")
		j.clicks("only-archived")
		j.sees("This is what the archive has of it.")
		j.sees("the card is stolen")
		j.clicks("Oldest first")
		j.sees("oldest first.")
		j.clicks("Archived executions")
		j.sees("The last day first")
	},
	"a phone": func(t *testing.T, j *journey, s *shop) {
		s.begin(t, orders, "small", "acme")
		s.awaitState(t, "small", "charged")
		j.do(chromedp.EmulateViewport(360, 800, chromedp.EmulateMobile))
		for _, path := range []string{"executions", "executions/small", "executions/small/" + s.runOf(t, "small") + "/reset", "task-queues", "task-queues/orders", "new-execution", "archived", "new-batch?query=WorkflowType+%3D+%27Order%27"} {
			j.goes("/ns/default/" + path)
			assert.LessOrEqual(t, is[int](j, "document.documentElement.scrollWidth"), 360, path)
		}
	},
}

// TestJourneysOfExecutions goes through the pages about executions and task queues in a browser.
func TestJourneysOfExecutions(t *testing.T) {
	t.Parallel()
	of := browser(t)
	s := visitShop(t)
	for name, goes := range executionJourneys {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			goes(t, s.tab(t, of), s)
		})
	}
}

// TestPagesOfExecutionsAreAccessible: axe-core finds nothing wrong with the pages about executions and task queues.
func TestPagesOfExecutionsAreAccessible(t *testing.T) {
	t.Parallel()
	axe, of := axe(t), browser(t)
	s := visitShop(t)
	open, failed, lonely := s.begin(t, orders, "open", "acme"), s.begin(t, orders, "failed", "never"), s.begin(t, nobody, "lonely", "acme")
	s.awaitState(t, "open", "charged")
	s.awaitStatus(t, "failed", enums.WORKFLOW_EXECUTION_STATUS_FAILED)
	s.archives(t)
	archived := s.onlyArchived(t, "archived")
	job := "/ns/default/batches/j"
	s.submit("/ns/default/new-batch?query=WorkflowId+%3D+%27none%27", url.Values{"operation": {"cancel"}, "reason": {"r"}, "request": {"j"}}).shows(t, "Batch operation")
	s.areAccessible(t, of, axe, "/ns/default/executions", "/ns/default/executions?query=nonsense", "/ns/default/archived", "/ns/default/archived?query=nonsense", open, open+"?order=oldest&timeline=table", failed, lonely, archived, archived+"?order=oldest&timeline=table",
		open+"/signal", open+"/reset", lonely+"/query", "/ns/default/new-execution", "/ns/default/new-batch?query=WorkflowType+%3D+%27Order%27", "/ns/default/batches", job,
		"/ns/default/task-queues", "/ns/default/task-queues/orders", "/ns/default/task-queues/nobody")
}

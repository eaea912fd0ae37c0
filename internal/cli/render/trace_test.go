package render_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
)

// TestTraceOfAWorkflow: the branches of the tree, what is counted, and lines that are cut to the width.
func TestTraceOfAWorkflow(t *testing.T) {
	t.Parallel()
	tree := &render.Trace{
		WorkflowID: "order", Type: "Order", Status: "running", Started: now.Add(-3 * time.Minute), CompletedActivities: 2, CompletedChildren: 1,
		Activities: []render.TraceActivity{{ID: "5", Type: "Charge", State: "paused", Attempt: 4, Failure: "the bank\nis down"}},
		Timers:     []render.TraceTimer{{ID: "7", Due: now.Add(time.Hour)}},
		Children: []*render.Trace{
			{WorkflowID: "a", Type: "Ship", Status: "running", Started: now.Add(-time.Minute), Children: []*render.Trace{
				{WorkflowID: "c\x1b", Type: "Ship", Status: "starting"},
			}},
			{WorkflowID: "b", Type: "Ship", Status: "failed", Ending: "has failed: no stock", Ended: now.Add(-5 * time.Second), CompletedActivities: 1},
		},
	}
	assert.Equal(t, `running order  Order  started 3m ago
├─ completed 2 activities
├─ paused activity 5  Charge  attempt 4: the bank is down
├─ timer 7  in 1h
├─ completed 1 child
├─ running a  Ship  started 1m ago
│  └─ starting c\u001b  Ship
└─ failed b  Ship  has failed: no stock, 5s ago
   └─ completed 1 activity
`, render.WorkflowTrace(tree, render.View{Now: now}))
	narrow := render.WorkflowTrace(tree, render.View{Now: now, Width: 20, Color: true})
	assert.Contains(t, narrow, "├─ \x1b[33mpaused\x1b[0m activity …\n")
	assert.Contains(t, narrow, "└─ \x1b[31mfailed\x1b[0m b  Ship  …\n")
}

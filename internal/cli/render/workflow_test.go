package render_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestWorkflowsAreToldApart: a workflow and an action of the same type look different everywhere.
func TestWorkflowsAreToldApart(t *testing.T) {
	t.Parallel()
	workflow := full()
	workflow.Action.Kind, workflow.Action.RetryPolicy = schedule.ActionWorkflow, nil
	var list, described, run strings.Builder
	require.NoError(t, render.List(&list, []schedule.Description{full(), workflow}, render.View{Now: now}))
	lines := strings.Split(list.String(), "\n")
	assert.Contains(t, lines[1], " report ")
	assert.NotContains(t, lines[1], "workflow")
	assert.Contains(t, lines[2], " workflow report ")

	require.NoError(t, render.Describe(&described, &workflow, render.View{Now: now}))
	assert.Regexp(t, `\n  workflow +report\n`, described.String())
	assert.NotRegexp(t, `\n  type +`, described.String())

	require.NoError(t, render.Run(&run, &schedule.RunReply{Run: schedule.Run{RunID: "r", ActionKind: schedule.ActionWorkflow}}, time.UTC, render.View{Now: now}))
	assert.Regexp(t, `\nKind +workflow\n`, run.String())
}

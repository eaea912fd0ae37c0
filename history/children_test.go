package history

import (
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestChildOfWhichTheParentKnowsNothing: of two processes that start a child for the same entry, one finds its workflow ID taken and tells the parent
// so. Then the ID is free, and the other one starts the child, which must end: no history says that it runs.
func TestChildOfWhichTheParentKnowsNothing(t *testing.T) {
	t.Parallel()
	for name, parentEnds := range map[string]bool{"the parent goes on": false, "the parent has ended": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			key := b.key("early")
			held := heldBus{subject: b.names.Journal(subjects.ShardOf(key, b.facts.Shards), key), released: make(chan struct{})}
			s, _ := b.run(func(c *Config) {
				held.Streams = natstest.Bus(b, c.JS)
				c.Bus = held
			})
			run := b.start("parent")
			child := childOn("early")
			child.GetStartChildWorkflowExecutionCommandAttributes().ParentClosePolicy = enumspb.PARENT_CLOSE_POLICY_ABANDON
			b.complete(b.pollWorkflow(), child)
			require.NoError(t, s.inform(t.Context(), b.key("parent"), execution.ChildNotStarted{
				Parent: execution.Parent{WorkflowID: "parent", RunID: run, Event: 5},
				Cause:  enumspb.START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS,
			}))
			if parentEnds {
				b.complete(b.pollWorkflow(), end())
			}
			close(held.released)
			natstest.Eventually(t, natstest.Patience, "the child is terminated", func() bool {
				found, err := ask[workflowservice.DescribeWorkflowExecutionResponse](b, subjects.VerbDescribe, "early",
					&workflowservice.DescribeWorkflowExecutionRequest{Namespace: space, Execution: b.execution("early", "")})
				return err == nil && found.WorkflowExecutionInfo.Status == enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
			})
			b.settled()
		})
	}
}

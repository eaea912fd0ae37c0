package history

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestRequestsWithinTheProcess: a role with the same Owners as history asks it without NATS, gets the same answers and errors, and asks another process
// when this one has stopped.
func TestRequestsWithinTheProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ours, err := owners.New(bus.Plain{Conn: b.conn}, b.names, nil)
	require.NoError(t, err)
	s, stop := b.run(func(c *Config) { c.Owners = ours })
	natstest.Eventually(t, natstest.Patience, "the owner is known", func() bool {
		return ours.Owner(b.key("w")) == s.commits.process
	})
	byNATS, err := b.conn.SubscribeSync(b.names.ExecutionsAt(s.commits.process))
	require.NoError(t, err)
	within := func(verb string, request, response proto.Message) error {
		subject := b.names.Execution(subjects.ShardOf(b.key("w"), b.facts.Shards), space, verb)
		return call.Ask(t.Context(), ours.For(b.key("w")), subject, request, response)
	}
	var started workflowservice.StartWorkflowExecutionResponse
	require.NoError(t, within(subjects.VerbStart, startRequest("w"), &started))
	another := startRequest("w")
	another.RequestId = "another"
	refused := within(subjects.VerbStart, another, &workflowservice.StartWorkflowExecutionResponse{})
	require.NoError(t, b.conn.Flush())
	pending, _, err := byNATS.Pending()
	require.NoError(t, err)
	require.Zero(t, pending, "nothing came by NATS")
	require.NoError(t, byNATS.Unsubscribe())

	_, byOther := ask[workflowservice.StartWorkflowExecutionResponse](b, subjects.VerbStart, "w", another)
	require.True(t, proto.Equal(serviceerror.ToStatus(byOther).Proto(), serviceerror.ToStatus(refused).Proto()), "%v, %v", byOther, refused)

	other, _ := b.run()
	stop()
	signal := &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: space, WorkflowExecution: b.execution("w", started.RunId), SignalName: "s", RequestId: "1",
	}
	require.NoError(t, within(subjects.VerbSignal, signal, nil))
	natstest.Eventually(t, natstest.Patience, "the other process is the owner", func() bool {
		return ours.Owner(b.key("w")) == other.commits.process
	})
	var gone *serviceerror.NotFound
	signal.WorkflowExecution.RunId = uuid.NewString()
	require.ErrorAs(t, within(subjects.VerbSignal, signal, nil), &gone)
}

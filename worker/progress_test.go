package worker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// resuming goes on from the last heartbeat, one step in each attempt, and ends with the number of steps.
func resuming(ctx context.Context, run *worker.Run) (any, error) {
	row, _, err := worker.LastHeartbeat[int](ctx)
	if err != nil || run.Attempt == 4 {
		return row, err
	}
	_ = worker.Heartbeat(ctx, row+1)
	_ = worker.Heartbeat(ctx, nil)
	return nil, errors.New("not yet")
}

// looking fails once, and then tells whether there is a last heartbeat.
func looking(ctx context.Context, run *worker.Run) (any, error) {
	_, ok, err := worker.LastHeartbeat[int](ctx)
	if run.Attempt == 1 {
		err = errors.New("not yet")
	}
	return ok, err
}

func TestTheNextAttemptFindsTheLastHeartbeat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 2 { // either may get an attempt
		w := b.worker(worker.Config{})
		w.Register("a", resuming)
		w.Register("b", looking)
		w.start()
	}
	b.submit(b.request("1", "a", retries(4)))
	done := b.completion()
	assert.Equal(t, 4, done.Attempt)
	assert.JSONEq(t, "3", string(done.Result))

	b.queueEmpty()
	b.submit(b.request("1", "b", retries(10), func(r *schedule.ActionRequest) {
		r.RunID, r.RequestID, r.Callback = "another", "another", b.names.Callback(0, key, queue, "another")
	}))
	assert.JSONEq(t, "false", string(b.completion().Result), "that of another run of the workflow ID does not count")
}

func TestTheHeartbeatOfADeadWorkerIsFound(t *testing.T) {
	t.Parallel()
	b, hang := setup(t), newHanging(t)
	b.ackWait(time.Second)
	dying := b.worker(worker.Config{})
	dying.Register("a", hang.run)
	dying.start()
	req := b.request("1", "a")
	b.submit(req)
	receive(t, "the run to begin", hang.began)
	stream, err := b.js.Stream(t.Context(), b.names.ProgressStream())
	require.NoError(t, err)
	natstest.Eventually(t, limit, "the heartbeat is stored", func() bool {
		_, err := stream.GetLastMsgForSubject(t.Context(), b.names.Progress(namespace, queue, req.WorkflowID))
		return err == nil
	})
	dying.nc.Close()

	b.serve("a", func(_ context.Context, run *worker.Run) (any, error) { return run.LastHeartbeat, nil })
	assert.JSONEq(t, `{"row":7}`, string(b.completion().Result))
	hang.let()
	require.Error(t, dying.wait())
}

package systemtest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkclient "go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/carillon-scheduler/carillon/internal/backup"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
)

// TestWorkflowsGoOnAfterARestore: a backup is made while workflows run. In an empty installation each of them goes on where it was, to the right
// result, with another worker: those that wait for a signal, for a timer, and for a worker.
func TestWorkflowsGoOnAfterARestore(t *testing.T) {
	t.Parallel()
	before := newService(t, natstest.Server(t).ClientURL(), 1)
	before.work(sdkworker.Options{})
	var orders, sleepers, queued []sdkclient.WorkflowRun
	for i := range 5 {
		orders = append(orders, before.start(fmt.Sprint("order-", i), order, 4, time.Hour))
		sleepers = append(sleepers, before.start(fmt.Sprint("sleeper-", i), sleeper, 10*time.Second))
		run, err := before.ExecuteWorkflow(t.Context(), sdkclient.StartWorkflowOptions{ID: fmt.Sprint("queued-", i), TaskQueue: "later"}, hello, "you")
		require.NoError(t, err)
		queued = append(queued, run)
	}
	for _, run := range orders {
		before.awaitPayment(run)
	}
	dir := t.TempDir() + "/copy"
	before.backUp(dir)

	node := natstest.Server(t)
	_, js := natstest.Connect(t, node)
	summary, err := backup.Restore(t.Context(), backup.RestoreConfig{JS: js}, dir)
	require.NoError(t, err)
	t.Logf("restored: %+v", summary.Counts)
	after := &service{t: t, names: before.names, urls: node.ClientURL()}
	after.address = after.run(1)
	after.Client = after.dial()
	after.work(sdkworker.Options{})
	later := sdkworker.New(after.Client, "later", sdkworker.Options{})
	registerWorkflows(later)
	require.NoError(t, later.Start())
	t.Cleanup(later.Stop)
	for _, run := range orders {
		require.NoError(t, after.SignalWorkflow(t.Context(), run.GetID(), run.GetRunID(), "paid", nil))
	}
	after.requireResults(orders, "4 sent")
	after.requireResults(sleepers, "slept")
	after.requireResults(queued, "Hello, you!")
}

// awaitPayment waits until an order waits for its payment.
func (s *service) awaitPayment(run sdkclient.WorkflowRun) {
	s.t.Helper()
	natstest.Eventually(s.t, patience, "the order to wait for its payment", func() bool {
		value, err := s.QueryWorkflow(s.t.Context(), run.GetID(), run.GetRunID(), "state")
		var state string
		return err == nil && value.Get(&state) == nil && state == "waiting"
	})
}

// backUp makes a backup while further workflows start and end.
func (s *service) backUp(dir string) {
	s.t.Helper()
	_, js := natstest.Connect(s.t, s.urls)
	facts, err := topology.Ensure(s.t.Context(), js, s.names, topology.Settings{})
	require.NoError(s.t, err)
	var busy sync.WaitGroup
	defer busy.Wait()
	started := 0
	_, err = backup.Create(s.t.Context(), backup.CreateConfig{
		JS: js, Names: s.names, Facts: facts, Version: "test", Progress: func(step string, _, _ int) {
			if !strings.HasPrefix(step, "complete") && started > 3 {
				return
			}
			started++
			run := s.start(fmt.Sprint("meanwhile-", started), hello, "world")
			busy.Go(func() { _ = run.Get(s.t.Context(), nil) })
		},
	}, dir)
	require.NoError(s.t, err)
	require.Positive(s.t, started)
}

// requireResults requires workflows to end with a result, and their histories to be what their code makes.
func (s *service) requireResults(runs []sdkclient.WorkflowRun, want string) {
	s.t.Helper()
	for _, run := range runs {
		var result string
		require.NoError(s.t, s.GetWorkflow(s.t.Context(), run.GetID(), run.GetRunID()).Get(s.t.Context(), &result))
		require.Equal(s.t, want, result)
		s.replay(run)
	}
}

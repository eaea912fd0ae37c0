package gateway_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/batch/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/frontend"
	pool "github.com/carillon-scheduler/carillon/history"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/kv"
)

// batches is an installation with history, and with frontends that have an index and may die.
type batches struct{ *installation }

func withHistory(t *testing.T) batches {
	t.Helper()
	in := batches{install(t)}
	in.without()
	_, js := natstest.Connect(t, in.server)
	table := namespaces.NewTable(js, in.names, in.logger())
	in.run(func(ctx context.Context) error {
		table.Run(ctx)
		return nil
	})
	<-table.Ready()
	service, err := pool.New(pool.Config{
		JS: js, Names: in.names, Shards: shards, Namespaces: table, Logger: in.logger(), Vitals: &loop.Vitals{},
	})
	require.NoError(t, err)
	in.run(service.Run)
	<-service.Ready()
	return in
}

// frontend runs a frontend whose clock is ahead. It dies with its connection, and gives back nothing, when kill is called.
func (in batches) frontend(ahead time.Duration) (kill func()) {
	in.t.Helper()
	conn, js := natstest.Connect(in.t, in.server)
	facts, err := topology.Ensure(in.t.Context(), js, in.names, topology.Settings{})
	require.NoError(in.t, err)
	index, err := search.New(search.Config{
		JS: js, Names: in.names, Shards: shards, Created: facts.Created, Logger: in.logger(), Interval: time.Hour,
	})
	require.NoError(in.t, err)
	in.run(index.Run)
	store, err := kv.Open(in.t.Context(), js, in.names, shards)
	require.NoError(in.t, err)
	f, err := frontend.New(frontend.Config{
		Conn: conn, JS: js, Store: store, Names: in.names, Logger: in.logger(), Index: index,
		Now: func() time.Time { return time.Now().Add(ahead) },
	})
	require.NoError(in.t, err)
	dead := make(chan struct{})
	in.run(func(ctx context.Context) error {
		defer close(dead)
		if err := f.Run(ctx); !conn.IsClosed() {
			return err
		}
		return nil
	})
	<-f.Ready()
	natstest.Eventually(in.t, patience, "the index is built", func() bool {
		_, err := in.CountWorkflowExecutions(in.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: "default"})
		return err == nil
	})
	return func() {
		conn.Close()
		<-dead
	}
}

func (in batches) begin(id string) (runID string) {
	in.t.Helper()
	started, err := in.StartWorkflowExecution(in.t.Context(), &workflowservice.StartWorkflowExecutionRequest{
		Namespace: "default", WorkflowId: id, WorkflowType: &common.WorkflowType{Name: "report"}, TaskQueue: &taskqueue.TaskQueue{Name: "q"},
	})
	require.NoError(in.t, err)
	return started.RunId
}

func (in batches) beginMany(n int) {
	in.t.Helper()
	var group errgroup.Group
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error {
			_, err := in.StartWorkflowExecution(in.t.Context(), &workflowservice.StartWorkflowExecutionRequest{
				Namespace: "default", WorkflowId: fmt.Sprint("w", i), WorkflowType: &common.WorkflowType{Name: "report"},
				TaskQueue: &taskqueue.TaskQueue{Name: "q"},
			})
			return err
		})
	}
	require.NoError(in.t, group.Wait())
}

func (in batches) count(query string) int {
	in.t.Helper()
	counted, err := in.CountWorkflowExecutions(in.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: "default", Query: query})
	require.NoError(in.t, err)
	return int(counted.Count)
}

func (in batches) describe(job string) *workflowservice.DescribeBatchOperationResponse {
	in.t.Helper()
	d, err := in.DescribeBatchOperation(in.t.Context(), &workflowservice.DescribeBatchOperationRequest{Namespace: "default", JobId: job})
	require.NoError(in.t, err)
	return d
}

// await waits until a batch operation has ended, and returns its description.
func (in batches) await(job string) (d *workflowservice.DescribeBatchOperationResponse) {
	in.t.Helper()
	natstest.Eventually(in.t, 2*patience, "the batch operation has ended", func() bool {
		d = in.describe(job)
		return d.State != enums.BATCH_OPERATION_STATE_RUNNING
	})
	return d
}

// events returns those events of the current run of a workflow that have a type.
func (in batches) events(id string, of enums.EventType) (found []*history.HistoryEvent) {
	in.t.Helper()
	all, err := in.GetWorkflowExecutionHistory(in.t.Context(), &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: "default", Execution: &common.WorkflowExecution{WorkflowId: id},
	})
	require.NoError(in.t, err)
	for _, event := range all.History.Events {
		if event.EventType == of {
			found = append(found, event)
		}
	}
	return found
}

func (in batches) start(r *workflowservice.StartBatchOperationRequest) {
	in.t.Helper()
	_, err := in.StartBatchOperation(in.t.Context(), r)
	require.NoError(in.t, err)
}

// terminating is a request to terminate what a query finds.
func terminating(job, query string, rate float32) *workflowservice.StartBatchOperationRequest {
	return &workflowservice.StartBatchOperationRequest{
		Namespace: "default", JobId: job, VisibilityQuery: query, Reason: "no use", MaxOperationsPerSecond: rate,
		Operation: &workflowservice.StartBatchOperationRequest_TerminationOperation{
			TerminationOperation: &batch.BatchOperationTermination{Identity: "anna"},
		},
	}
}

// signaling is a request to signal what it will name.
func signaling(job string, rate float32) *workflowservice.StartBatchOperationRequest {
	return &workflowservice.StartBatchOperationRequest{
		Namespace: "default", JobId: job, Reason: "it is paid", MaxOperationsPerSecond: rate,
		Operation: &workflowservice.StartBatchOperationRequest_SignalOperation{SignalOperation: &batch.BatchOperationSignal{
			Signal: "paid", Identity: "anna", Input: &common.Payloads{Payloads: []*common.Payload{{Data: []byte("7")}}},
		}},
	}
}

// resetting is a request to reset what a query finds.
func resetting(job, query string, how *batch.BatchOperationReset) *workflowservice.StartBatchOperationRequest {
	return &workflowservice.StartBatchOperationRequest{
		Namespace: "default", JobId: job, VisibilityQuery: query, Reason: "no use",
		Operation: &workflowservice.StartBatchOperationRequest_ResetOperation{ResetOperation: how},
	}
}

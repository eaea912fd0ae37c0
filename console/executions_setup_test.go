package console_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	sdkclient "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// The task queue of the worker of these tests, and one that nobody polls.
const (
	orders = "orders"
	nobody = "nobody"
)

// order charges somebody, with a second attempt, packs what they ordered, and waits until they have paid.
func order(ctx workflow.Context, customer string) (string, error) {
	state := "new"
	if err := workflow.SetQueryHandler(ctx, "state", func() (string, error) { return state, nil }); err != nil {
		return "", err
	}
	err := workflow.SetUpdateHandler(ctx, "note", func(_ workflow.Context, text string) (string, error) { return "noted: " + text, nil })
	if err != nil {
		return "", err
	}
	options := workflow.ActivityOptions{StartToCloseTimeout: patience, RetryPolicy: &temporal.RetryPolicy{InitialInterval: 1, MaximumInterval: 1}}
	if customer == "later" {
		options.TaskQueue = nobody
	}
	ctx = workflow.WithActivityOptions(ctx, options)
	var receipt string
	if err := workflow.ExecuteActivity(ctx, "charge", customer).Get(ctx, &receipt); err != nil {
		return "", err
	}
	if err := workflow.Sleep(ctx, 1); err != nil {
		return "", err
	}
	state = "charged"
	var paid string
	workflow.GetSignalChannel(ctx, "paid").Receive(ctx, &paid)
	return receipt + ", " + paid, nil
}

func charge(ctx context.Context, customer string) (string, error) {
	if customer == "never" {
		return "", temporal.NewNonRetryableApplicationError("the card is stolen", "Card", nil, map[string]int{"code": 51})
	}
	if activity.GetInfo(ctx).Attempt == 1 {
		return "", errors.New("the bank is down")
	}
	return "charged " + customer, nil
}

// shop is an installation with workflows.
type shop struct {
	*installation
	sdk sdkclient.Client
}

// visitShop runs everything, with a console and a worker of Temporal's SDK, until the end of the test.
func visitShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{installation: visitAll(t)}
	var err error
	s.sdk, err = sdkclient.Dial(sdkclient.Options{HostPort: s.grpc, Logger: sdklog.NewStructuredLogger(natstest.Logger(t))})
	require.NoError(t, err)
	t.Cleanup(s.sdk.Close)
	w := sdkworker.New(s.sdk, orders, sdkworker.Options{})
	w.RegisterWorkflowWithOptions(order, workflow.RegisterOptions{Name: "Order"})
	w.RegisterActivity(charge)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	natstest.Eventually(t, patience, "the search index is there", func() bool { return s.open("/ns/default/executions").status == 200 })
	return s
}

// begin starts an order, and returns the address of its page.
func (s *shop) begin(t *testing.T, queue, id, customer string) (address string) {
	t.Helper()
	run, err := s.sdk.ExecuteWorkflow(t.Context(), sdkclient.StartWorkflowOptions{ID: id, TaskQueue: queue}, "Order", customer)
	require.NoError(t, err)
	return "/ns/default/executions/" + id + "/" + run.GetRunID()
}

// awaitState waits until a query of an order has an answer.
func (s *shop) awaitState(t *testing.T, id, want string) {
	t.Helper()
	natstest.Eventually(t, patience, "the order is "+want, func() bool {
		value, err := s.sdk.QueryWorkflow(t.Context(), id, "", "state")
		var state string
		return err == nil && value.Get(&state) == nil && state == want
	})
}

// awaitStatus waits until the latest run of an order has a status.
func (s *shop) awaitStatus(t *testing.T, id string, want enums.WorkflowExecutionStatus) {
	t.Helper()
	natstest.Eventually(t, patience, "the order is "+want.String(), func() bool {
		d, err := s.sdk.DescribeWorkflow(t.Context(), id, "")
		return err == nil && d.Status == want
	})
}

// shows asserts that a page contains texts.
func (a *answer) shows(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			assert.Fail(t, "the page does not show "+text, a.body)
		}
	}
}

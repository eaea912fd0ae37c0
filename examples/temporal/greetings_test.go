package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
)

func TestHello(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	env.ExecuteWorkflow(Hello, "")
	require.NoError(t, env.GetWorkflowError())
	var greeting string
	require.NoError(t, env.GetWorkflowResult(&greeting))
	require.Equal(t, "Hello, world!", greeting)
}

func TestOrder(t *testing.T) {
	t.Parallel()
	t.Run("paid", func(t *testing.T) {
		t.Parallel()
		env := newEnvironment()
		env.RegisterDelayedCallback(func() { env.SignalWorkflow("paid", nil) }, 5*time.Second)
		env.ExecuteWorkflow(Order, 6, time.Minute)
		require.NoError(t, env.GetWorkflowError())
		var result string
		require.NoError(t, env.GetWorkflowResult(&result))
		require.Equal(t, "6 items sent", result)
	})
	t.Run("not paid", func(t *testing.T) {
		t.Parallel()
		env := newEnvironment()
		env.ExecuteWorkflow(Order, 6, time.Minute)
		var failed *temporal.ApplicationError
		require.ErrorAs(t, env.GetWorkflowError(), &failed)
		require.Equal(t, "NotPaid", failed.Type())
		state, err := env.QueryWorkflow("state")
		require.NoError(t, err)
		var text string
		require.NoError(t, state.Get(&text))
		require.Equal(t, "given up", text)
	})
}

// newEnvironment runs workflows without a server, and skips the time that they wait.
func newEnvironment() *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	register(env)
	return env
}

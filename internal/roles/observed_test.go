package roles_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/probe"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/subjects"
)

// statuses returns the status of each role, by name.
func statuses(health *probe.Health) map[string]probe.Status {
	all := map[string]probe.Status{}
	for _, role := range health.Report().Roles {
		all[role.Role] = role.Status
	}
	return all
}

// TestObservedFailure: one role fails, and the others are stopped because of it.
func TestObservedFailure(t *testing.T) {
	t.Parallel()
	health := probe.NewHealth(t.Context(), "bad", "good")
	running := make(chan struct{})
	bad := roles.Role{Name: "bad", Run: func(context.Context) error {
		<-running
		return errors.New("broken")
	}}
	good := roles.Role{Name: "good", Run: func(ctx context.Context) error {
		assert.Equal(t, probe.StatusReady, statuses(health)["good"])
		close(running)
		<-ctx.Done()
		return nil
	}}
	stages := roles.Observed(health, roles.Stage{good}, nil, roles.Stage{bad})
	require.Len(t, stages, 3, "in the same order")
	require.EqualError(t, roles.Supervise(t.Context(), natstest.Logger(t), natstest.Patience, stages...), "bad: broken")
	assert.Equal(t, map[string]probe.Status{"bad": probe.StatusFailed, "good": probe.StatusStopped}, statuses(health))
	assert.False(t, health.Report().IsHealthy())
}

// TestPoolsSayWhatTheyWaitFor: a pool says what it waits for, from before it runs until it works. It says that it stops before it has
// stopped.
func TestPoolsSayWhatTheyWaitFor(t *testing.T) {
	t.Parallel()
	server := natstest.Server(t)
	conn, err := roles.Connect(t.Context(), natstest.Logger(t), "pools", dialer(server.ClientURL()))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	names, err := subjects.New(subjects.DefaultPrefix)
	require.NoError(t, err)
	cluster, err := roles.Open(t.Context(), conn, names, topology.Settings{Shards: 2}, roles.Options{Logger: natstest.Logger(t)})
	require.NoError(t, err)
	generator, err1 := cluster.Generator()
	invoker, err2 := cluster.Invoker()
	backfiller, err3 := cluster.Backfiller()
	require.NoError(t, errors.Join(err1, err2, err3))
	stage := roles.Stage{generator, invoker, backfiller}
	for _, role := range stage {
		assert.Equal(t, "the records of the namespaces", role.Checks.Waits(), role.Name)
		assert.Empty(t, role.Checks.Stuck(), role.Name)
	}

	ctx, stop := context.WithCancel(t.Context())
	health := probe.NewHealth(ctx, "generator", "invoker", "backfiller")
	ended := make(chan error, 1)
	go func() {
		ended <- roles.Supervise(ctx, natstest.Logger(t), natstest.Patience, roles.Observed(health, stage)...)
	}()
	natstest.Eventually(t, natstest.Patience, "all pools are ready", func() bool { return health.Report().IsReady() })
	stop()
	assert.False(t, health.Report().IsReady(), "at once")
	require.NoError(t, <-ended)
	assert.Equal(t, map[string]probe.Status{
		"generator": probe.StatusStopped, "invoker": probe.StatusStopped, "backfiller": probe.StatusStopped,
	}, statuses(health))
}

package subjects_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestEveryRoleHasItsPlace: a task of each role is parsed back, is stored where StreamOf says, and reaches only the pool of its
// role.
func TestEveryRoleHasItsPlace(t *testing.T) {
	t.Parallel()
	n, key := subjects.Default(), schedule.Key{Namespace: "default", ID: "a.b"}
	examples := map[subjects.Role]string{
		subjects.RoleGenerate:  n.Generate(2, key, subjects.WhatDue),
		subjects.RoleInvoke:    n.InvokeWake(2, key),
		subjects.RoleTimeout:   n.Timeout(2, key, "r"),
		subjects.RoleCallback:  n.Callback(2, key, "q", "r"),
		subjects.RoleBackfill:  n.Backfill(2, key, "b"),
		subjects.RoleExecution: n.ExecutionDue(2, key),
	}
	require.Len(t, examples, len(subjects.Roles()), "a role without an example")
	for _, role := range subjects.Roles() {
		task, err := n.ParseTask(examples[role])
		require.NoError(t, err, role)
		require.Equal(t, role, task.Role)
		var pools []string
		for _, consumer := range n.PoolConsumers(2) {
			if consumer.Stream == n.StreamOf(task) && matchesAny(consumer.Config.FilterSubjects, examples[role]) {
				pools = append(pools, consumer.Config.Durable)
			}
		}
		require.Equal(t, []string{role.Pool()}, pools, role)
		require.Contains(t, subjects.Pools(), role.Pool())
	}
	require.Empty(t, subjects.Role("unknown").Pool())
}

// TestEveryPoolHasItsPlace: every pool has a consumer on every task stream, and a subject for its dead letters.
func TestEveryPoolHasItsPlace(t *testing.T) {
	t.Parallel()
	n := subjects.Default()
	require.Equal(t, []string{subjects.PoolGenerator, subjects.PoolInvoker, subjects.PoolBackfiller, subjects.PoolHistory}, subjects.Pools(), "in the order of the work")
	for _, pool := range subjects.Pools() {
		require.True(t, slices.ContainsFunc(n.ConsumersOfPool(1, pool), func(c subjects.PoolConsumer) bool { return c.Stream == n.TaskStream(1) }), pool)
		stored := false
		for _, stream := range n.StreamConfigs(1, 1) {
			stored = stored || stream.Name == n.DeadLetterStream() && matchesAny(stream.Subjects, n.DeadLetter(pool))
		}
		require.True(t, stored, pool)
	}
}

// TestConsumersStayAsTheyAre: installations have these consumers, and changing a filter here would change theirs.
func TestConsumersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	var got [][]string
	for _, c := range subjects.Default().PoolConsumers(7) {
		got = append(got, append([]string{c.Stream, c.Config.Durable}, c.Config.FilterSubjects...))
	}
	require.Equal(t, [][]string{
		{"CARILLON_TASKS_7", "generator", "carillon.task.7.generate.>"},
		{"CARILLON_TASKS_7", "invoker", "carillon.task.7.invoke.>", "carillon.task.7.timeout.>", "carillon.callback.7.>"},
		{"CARILLON_TASKS_7", "backfiller", "carillon.task.7.backfill.>"},
		{"CARILLON_TASKS_7", "history", "carillon.task.7.execution.>"},
		{"CARILLON_CALLBACKS_7", "invoker", "carillon.callback.7.>"},
	}, got)
}

package subjects_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestJournalsAreParsedBack(t *testing.T) {
	t.Parallel()
	n := subjects.Default()
	for _, id := range awkward {
		key := schedule.Key{Namespace: "default", ID: id}
		shard, got, err := n.ParseJournal(n.Journal(3, key))
		require.NoError(t, err, id)
		assert.Equal(t, 3, shard)
		assert.Equal(t, key, got)
		assert.True(t, matchesAny([]string{n.Journals(3, "default")}, n.Journal(3, key)))
		assert.True(t, matchesAny([]string{n.Heartbeats(key, "r.1")}, n.Heartbeat(key, "r.1", 7)))
		event, err := subjects.EventOfHeartbeat(n.Heartbeat(key, "r", 7))
		require.NoError(t, err)
		assert.EqualValues(t, 7, event)
	}
	for _, wrong := range []string{
		"", "carillon.journal.", "carillon.journal.0.default", "carillon.journal.x.default.w", "carillon.journal.-1.default.w",
		"carillon.journal.0..w", "carillon.journal.0.default.", "carillon.journal.0.default.=", "carillon.journal.0.default.w.x",
		"other.journal.0.default.w",
	} {
		_, _, err := n.ParseJournal(wrong)
		require.Error(t, err, wrong)
	}
	_, err := subjects.EventOfHeartbeat("carillon.heartbeat.default.w.r.x")
	require.Error(t, err)
}

func TestRequestsAboutExecutionsAreParsedBack(t *testing.T) {
	t.Parallel()
	n := subjects.Default()
	subject := n.Execution(12, "default", "complete-workflow-task")
	got, err := n.ParseExecution(subject)
	require.NoError(t, err)
	require.Equal(t, subjects.Request{Shard: 12, Namespace: "default", Verb: "complete-workflow-task"}, got)
	require.True(t, matchesAny([]string{n.Executions()}, subject))
	at := n.ExecutionAt("p1", subject)
	same, err := n.ParseExecution(at)
	require.NoError(t, err)
	require.Equal(t, got, same)
	require.True(t, matchesAny([]string{n.ExecutionsAt("p1")}, at))
	require.False(t, matchesAny([]string{n.Executions(), n.ExecutionsAt("p2")}, at))
	for _, wrong := range []string{
		"", "carillon.execution.0.default", "carillon.execution.x.default.start", "carillon.execution.-1.default.start",
		"carillon.execution.0..start", "carillon.execution.0.default.", "carillon.execution.0.default.start.x",
		"carillon.execution-at.p1", "carillon.execution-at.p1.0.default", "carillon.execution-at.0.default.start",
	} {
		_, err := n.ParseExecution(wrong)
		require.Error(t, err, wrong)
	}
}

// TestTransfer: every entry reaches the consumer that carries it out.
func TestTransfer(t *testing.T) {
	t.Parallel()
	n := subjects.Default()
	consumer := n.Transfer(1)
	require.Equal(t, "CARILLON_HISTORY_1", consumer.Stream)
	require.True(t, matchesAny(consumer.Config.FilterSubjects, n.Journal(1, schedule.Key{Namespace: "default", ID: "w"})))
	require.Contains(t, n.ConsumersByStream(2), "CARILLON_HISTORY_1")
}

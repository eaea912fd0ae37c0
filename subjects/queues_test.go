package subjects_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/subjects"
)

var backQueue = subjects.Queue{Namespace: "default", Kind: subjects.QueueWorkflow, Name: "a.b"}

// TestQueues: each subject of a queue says which queue it is of, whatever its name.
func TestQueues(t *testing.T) {
	t.Parallel()
	n := subjects.Default()
	for _, name := range append([]string{strings.Repeat("é", 500)}, awkward...) {
		for _, kind := range []subjects.QueueKind{subjects.QueueWorkflow, subjects.QueueActivity} {
			q := subjects.Queue{Namespace: "n-1", Kind: kind, Name: name}
			require.NoError(t, q.Validate())
			for _, subject := range []string{n.Poll(q), n.StandingOffer(q), n.Pollers(q), n.TaskRates(q), n.Backlog(q), n.BacklogHint(q)} {
				back, err := n.ParseQueue(subject)
				require.NoError(t, err, subject)
				require.Equal(t, q, back)
				require.Less(t, len(subject), 3100)
			}
			requirePriorities(t, n, q)
		}
	}
}

// requirePriorities: each priority has a subject and a consumer of its own, and no two consumers share a message.
func requirePriorities(t *testing.T, n subjects.Names, q subjects.Queue) {
	t.Helper()
	require.Equal(t, n.Backlog(q), n.BacklogAt(q, subjects.DefaultPriority))
	require.Equal(t, n.BacklogConsumer(q), n.BacklogConsumerAt(q, subjects.DefaultPriority))
	consumers := map[string]bool{}
	for priority := subjects.FirstPriority; priority <= subjects.LastPriority; priority++ {
		subject := n.BacklogAt(q, priority)
		of, back, err := n.ParseBacklog(subject)
		require.NoError(t, err)
		require.Equal(t, q, of)
		require.Equal(t, priority, back)
		require.Equal(t, priority != subjects.DefaultPriority, matches(n.OtherBacklogs(q), subject))
		for other := subjects.FirstPriority; other <= subjects.LastPriority; other++ {
			require.Equal(t, priority == other, matches(n.BacklogConsumerAt(q, other).FilterSubject, subject))
		}
		require.Less(t, len(n.BacklogConsumerAt(q, priority).Durable), 256)
		consumers[n.BacklogConsumerAt(q, priority).Durable] = true
	}
	require.Len(t, consumers, subjects.LastPriority)
}

// TestPriorities: keys out of range count as the nearest priority.
func TestPriorities(t *testing.T) {
	t.Parallel()
	for key, want := range map[int32]int{-1: 1, 0: 3, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 5, 1 << 30: 5} {
		assert.Equal(t, want, subjects.PriorityOf(key), key)
	}
	n := subjects.Default()
	for _, subject := range []string{
		"", "carillon.backlog.default.workflow", "carillon.backlog.default.workflow.a.0", "carillon.backlog.default.workflow.a.3",
		"carillon.backlog.default.workflow.a.6", "carillon.backlog.default.workflow.a.01", "carillon.backlog.default.workflow.a.x",
		"carillon.backlog.default.workflow.a.1.1", "carillon.poll.default.workflow.a", "carillon.poll.default.workflow.a.1",
	} {
		_, _, err := n.ParseBacklog(subject)
		assert.Error(t, err, subject)
	}
}

// TestNotOfAQueue: neither a queue that cannot be nor a subject of something else is taken for one.
func TestNotOfAQueue(t *testing.T) {
	t.Parallel()
	n := subjects.Default()
	for _, subject := range []string{
		"", "carillon", "carillon.poll", "carillon.poll.default.workflow", "carillon.poll.default.workflow.a.b",
		"carillon.poll.default.nexus.a", "carillon.poll.*.workflow.a", "carillon.poll.Default.workflow.a", "carillon.poll.default.workflow.*",
		"carillon.action.default.workflow.a", "other.poll.default.workflow.a", "carillon.poll.default.workflow.",
	} {
		_, err := n.ParseQueue(subject)
		assert.Error(t, err, subject)
	}
	for _, q := range []subjects.Queue{
		{}, {Namespace: "default", Kind: subjects.QueueActivity}, {Namespace: "a.b", Kind: subjects.QueueActivity, Name: "q"},
		{Namespace: "default", Kind: "nexus", Name: "q"}, {Namespace: "default", Name: "q"},
		{Namespace: "default", Kind: subjects.QueueWorkflow, Name: strings.Repeat("q", 1001)},
	} {
		assert.Error(t, q.Validate(), q)
	}
}

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
			for _, subject := range []string{n.Poll(q), n.StandingOffer(q), n.Pollers(q), n.Backlog(q), n.BacklogHint(q)} {
				back, err := n.ParseQueue(subject)
				require.NoError(t, err, subject)
				require.Equal(t, q, back)
				require.Less(t, len(subject), 3100)
			}
			require.True(t, matches(n.BacklogConsumer(q).FilterSubject, n.Backlog(q)))
			require.Less(t, len(n.BacklogConsumer(q).Durable), 256)
		}
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

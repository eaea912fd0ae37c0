package history

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/subjects"
)

// fewDeliveries makes history give up soon.
func fewDeliveries(c *Config) { c.maxDeliveries = 2 }

// append appends anything to a journal, and returns its sequence.
func (b *bundle) append(id, data string) uint64 {
	b.Helper()
	ack, err := b.js.Publish(b.Context(), b.names.Journal(subjects.ShardOf(b.key(id), b.facts.Shards), b.key(id)), []byte(data))
	require.NoError(b, err)
	return ack.Sequence
}

// remove removes an entry of a journal.
func (b *bundle) remove(id string, sequence uint64) {
	b.Helper()
	stream, err := b.js.Stream(b.Context(), b.names.JournalStream(subjects.ShardOf(b.key(id), b.facts.Shards)))
	require.NoError(b, err)
	require.NoError(b, stream.DeleteMsg(b.Context(), sequence))
}

// letters waits for a number of dead letters about a workflow.
func (b *bundle) letters(id string, n int) (found []deadletter.Letter) {
	b.Helper()
	reader := deadletter.NewReader(b.js, b.names)
	natstest.Eventually(b, natstest.Patience, "there are dead letters", func() bool {
		var err error
		found, err = reader.List(b.Context(), deadletter.Filter{Pool: subjects.PoolHistory, Namespace: space, WorkflowID: id})
		require.NoError(b, err)
		return len(found) >= n
	})
	require.Len(b, found, n)
	return found
}

// replay sends a dead letter again.
func (b *bundle) replay(letter deadletter.Letter) {
	b.Helper()
	replayed, err := deadletter.NewReader(b.js, b.names).Replay(b.Context(), letter.Number)
	require.NoError(b, err)
	require.False(b, replayed.Superseded)
}

// TestUnreadableEntry: an entry of a later release, or of nobody, becomes a dead letter. Requests about the workflow fail and say why; others go on.
func TestUnreadableEntry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	sequence := b.append("w", "\x02 of a later release")
	letter := b.letters("w", 1)[0]
	require.Equal(t, sequence, letter.Origin.Sequence)
	require.Contains(t, letter.Reason, "format version 2")
	_, err := ask[workflowservice.DescribeWorkflowExecutionResponse](b, subjects.VerbDescribe, "w",
		&workflowservice.DescribeWorkflowExecutionRequest{Namespace: space, Execution: b.execution("w", "")})
	require.ErrorAs(t, err, new(*serviceerror.DataLoss))
	b.start("v")
	b.complete(b.pollWorkflow(), end())
	b.settled()
	b.remove("w", sequence)
	b.replay(letter) // there is nothing to do any more
	b.start("w")
	b.complete(b.pollWorkflow(), end())
	b.letters("w", 0)
}

// TestWorkThatCannotBeDone: the process that has appended an entry has died, and the rest of the journal cannot be read. The work of the entry
// becomes a dead letter. When the journal has been repaired and the letter sent again, the work is done.
func TestWorkThatCannotBeDone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, stop := b.run(func(c *Config) { c.noEffects = true })
	b.start("w")
	stop()
	sequence := b.append("w", "garbage")
	b.run(fewDeliveries)
	letters := b.letters("w", 2) // also about the garbage itself
	b.settled()
	b.remove("w", sequence)
	for _, letter := range letters {
		b.replay(letter)
	}
	b.complete(b.pollWorkflow(), end())
	b.letters("w", 0)
}

// TestWakeOfAnUnreadableJournal: a deadline that comes while the journal cannot be read becomes a dead letter, and can be sent again.
func TestWakeOfAnUnreadableJournal(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(b *bundle) (repair func()){
		"garbage": func(b *bundle) func() {
			sequence := b.append("w", "garbage")
			return func() { b.remove("w", sequence) }
		},
		"an entry that does not follow": func(b *bundle) func() {
			shard := subjects.ShardOf(b.key("w"), b.facts.Shards)
			stream, err := b.js.Stream(b.Context(), b.names.JournalStream(shard))
			require.NoError(b, err)
			last, err := stream.GetLastMsgForSubject(b.Context(), b.names.Journal(shard, b.key("w")))
			require.NoError(b, err)
			sequence := b.append("w", string(last.Data))
			return func() { b.remove("w", sequence) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			_, stop := b.run()
			b.start("w")
			b.complete(b.pollWorkflow(), timer("t", 10*time.Second))
			b.settled()
			stop()
			repair := damage(b)
			b.run(fewDeliveries)
			due := b.letterAbout(b.names.ExecutionDue(subjects.ShardOf(b.key("w"), b.facts.Shards), b.key("w")))
			repair()
			b.replay(due)
			task := b.pollWorkflow()
			require.Equal(t, enumspb.EVENT_TYPE_TIMER_FIRED, task.History.Events[5].EventType)
			b.complete(task, end())
		})
	}
}

// letterAbout waits for the dead letter of a message that was on a subject, and until the message has left it.
func (b *bundle) letterAbout(subject string) (letter deadletter.Letter) {
	b.Helper()
	reader := deadletter.NewReader(b.js, b.names)
	letters, err := b.js.Stream(b.Context(), b.names.DeadLetterStream())
	require.NoError(b, err)
	seen, about := uint64(0), false
	natstest.Eventually(b, natstest.Patience, "there is a dead letter about "+subject, func() bool {
		info, err := letters.Info(b.Context())
		require.NoError(b, err)
		if info.State.LastSeq != seen && !about { // each list makes a consumer, and a stream has room for some
			seen = info.State.LastSeq
			found, err := reader.List(b.Context(), deadletter.Filter{})
			require.NoError(b, err)
			at := slices.IndexFunc(found, func(l deadletter.Letter) bool { return l.Origin.Subject == subject })
			if about = at >= 0; about {
				letter = found[at]
			}
		}
		if !about {
			return false
		}
		stream, err := b.js.Stream(b.Context(), letter.Origin.Stream)
		require.NoError(b, err)
		_, err = stream.GetLastMsgForSubject(b.Context(), subject)
		return errors.Is(err, jetstream.ErrMsgNotFound)
	})
	return letter
}

package history

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/subjects"
)

// timers matches the delayed messages of a workflow ID.
func (b *bundle) timers(id string) string {
	one := b.names.ExecutionTimer(subjects.ShardOf(b.key(id), b.facts.Shards), b.key(id), time.Time{})
	return one[:strings.LastIndexByte(one, '.')] + ".*"
}

// armed returns when the delayed message of a workflow ID comes that was armed last; zero if there is none.
func (b *bundle) armed(id string) time.Time {
	b.Helper()
	shard := subjects.ShardOf(b.key(id), b.facts.Shards)
	stream, err := b.js.Stream(b.Context(), b.names.TaskStream(shard))
	require.NoError(b, err)
	message, err := stream.GetLastMsgForSubject(b.Context(), b.timers(id))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return time.Time{}
	}
	require.NoError(b, err)
	at, err := time.Parse("@at "+time.RFC3339Nano, message.Header.Get(task.HeaderAt))
	require.NoError(b, err)
	return at
}

// TestADeadlineIsArmedAfterAnotherWasDue: a process that has armed the delayed message for a time that has passed does not rely on it: another
// process may have got the message.
func TestADeadlineIsArmedAfterAnotherWasDue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var ahead atomic.Int64
	b.run(func(c *Config) { c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) } })
	b.start("w")
	first := b.pollWorkflow()
	require.WithinDuration(t, time.Now().Add(5*time.Second), b.armed("w"), 5*time.Second, "on account of the workflow task")
	ahead.Store(int64(time.Minute))
	b.complete(first, timer("1", time.Hour))
	require.WithinDuration(t, time.Now().Add(time.Hour), b.armed("w"), 5*time.Minute)
}

// TestADeadlineIsArmedAfterADeath: who takes over the work of an entry arms the delayed message, although one is armed as far as it knows. The
// process that appended the entry may have died before it could replace that one.
func TestADeadlineIsArmedAfterADeath(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, _ := b.run()
	b.start("w")
	b.pollWorkflow()
	b.settled()
	key := b.key("w")
	stream, err := b.js.Stream(t.Context(), b.names.TaskStream(s.shardOf(key)))
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject(b.timers("w"))))
	last, err := s.journals.Last(t.Context(), s.shardOf(key), key)
	require.NoError(t, err)
	entry, err := execution.ParseEntry(last.Data)
	require.NoError(t, err)
	_, err = s.owed(t.Context(), key, entry)
	require.NoError(t, err)
	require.False(t, b.armed("w").IsZero())
}

// TestADeadlineThatAnotherProcessArmed: a process relies on what others have armed, as their entries say, and arms no message that would come
// later than theirs.
func TestADeadlineThatAnotherProcessArmed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, stop := b.run()
	b.start("w")
	first := b.pollWorkflow()
	b.settled()
	before := b.armed("w")
	stop()
	b.run()
	b.complete(first, timer("1", time.Hour))
	require.Equal(t, before, b.armed("w"))
}

// TestAShortRunArmsOneMessage: the message that is armed for the first workflow task does for those that follow soon, also in a sticky queue, whose
// timeout ends earlier than that of the first task.
func TestAShortRunArmsOneMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	b.start("w")
	first := b.pollWorkflow()
	before := b.armed("w")
	require.False(t, before.After(time.Now().Add(5*time.Second)))
	_, err := ask[workflowservice.RespondWorkflowTaskCompletedResponse](b, subjects.VerbCompleteWorkflowTask, "w",
		&workflowservice.RespondWorkflowTaskCompletedRequest{
			Namespace: space, TaskToken: first.TaskToken, StickyAttributes: &taskqueuepb.StickyExecutionAttributes{
				WorkerTaskQueue:        &taskqueuepb.TaskQueue{Name: "own", Kind: enumspb.TASK_QUEUE_KIND_STICKY, NormalName: queue},
				ScheduleToStartTimeout: durationpb.New(5 * time.Second),
			},
		})
	require.NoError(t, err)
	came := make(chan *workflowservice.PollWorkflowTaskQueueResponse)
	go func() { came <- poll[workflowservice.PollWorkflowTaskQueueResponse](b, offer.Workflow, "own") }()
	b.awaitPoll("own")
	b.signal("w", "1")
	b.complete(<-came, timer("1", time.Hour))
	b.settled()
	require.Equal(t, before, b.armed("w"))
}

package matching_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/matching"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// seldom makes matching depend on hints alone.
func seldom(c *matching.Config) { c.Every = time.Hour }

// often makes matching look often.
func often(c *matching.Config) { c.Every = 20 * time.Millisecond }

func TestConfig(t *testing.T) {
	t.Parallel()
	_, err := matching.New(matching.Config{})
	require.Error(t, err)
}

// TestATaskFindsAPoll in whatever order the two come, and matching itself.
func TestATaskFindsAPoll(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][3]string{
		"task, poll, matching": {"task", "poll", "matching"},
		"poll, task, matching": {"poll", "task", "matching"},
		"task, matching, poll": {"task", "matching", "poll"},
		"poll, matching, task": {"poll", "matching", "task"},
		"matching, task, poll": {"matching", "task", "poll"},
		"matching, poll, task": {"matching", "poll", "task"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, shared(t), 1)
			var got *taken
			for _, step := range steps {
				switch step {
				case "task":
					b.store(t, workflows, 0, 1)
				case "poll":
					got, _ = b.poll(t, b.polls, workflows)
				case "matching":
					b.match(t, seldom)
				}
			}
			natstest.Eventually(t, natstest.Patience, "the worker has the task", func() bool { return got.len() == 1 })
			b.requireDrained(t, workflows)
		})
	}
}

// TestRace: tasks are stored while a worker's polls come and go. Each is found without a look from time to time.
func TestRace(t *testing.T) {
	t.Parallel()
	b := newBench(t, shared(t), 1)
	b.match(t, seldom)
	for i := range 200 {
		ctx, cancel := context.WithTimeout(t.Context(), natstest.Patience)
		stored := make(chan error, 1)
		go func() { stored <- b.history.offers.Store(ctx, workflows, taskOf(workflows, i)) }()
		task, err := b.polls.Wait(ctx, workflows, offer.Poller{})
		require.NoError(t, err)
		require.NoError(t, <-stored)
		cancel()
		require.NotEmpty(t, task, "task %d is left in the backlog", i)
	}
}

// TestEachTaskOnce: several matchings and workers share a backlog.
func TestEachTaskOnce(t *testing.T) {
	t.Parallel()
	const tasks = 500
	b := newBench(t, shared(t), 1)
	b.store(t, workflows, 0, tasks)
	b.store(t, activities, 0, tasks)
	b.match(t)
	b.match(t)
	other := b.gateway(t)
	var all []*taken
	for _, q := range []offer.Queue{workflows, activities} {
		for _, polls := range []*offer.Polls{b.polls, other} {
			for range 3 {
				got, _ := b.poll(t, polls, q)
				all = append(all, got)
			}
		}
	}
	natstest.Eventually(t, natstest.Patience, "the workers have all tasks", func() bool {
		n := 0
		for _, got := range all {
			n += got.len()
		}
		return n >= 2*tasks
	})
	b.requireDrained(t, workflows)
	b.requireDrained(t, activities)
	times := map[string]int{}
	for _, got := range all {
		for task, n := range got.of {
			times[task] += n
		}
	}
	assert.Len(t, times, 2*tasks)
	for task, n := range times {
		assert.Equal(t, 1, n, task)
	}
}

// TestNobodyPolls: the tasks stay, and nothing is made for a queue that nobody polls.
func TestNobodyPolls(t *testing.T) {
	t.Parallel()
	b := newBench(t, shared(t), 1)
	b.match(t, often)
	b.store(t, workflows, 0, 3)
	got, _ := b.poll(t, b.polls, activities)
	b.store(t, activities, 0, 1)
	natstest.Eventually(t, natstest.Patience, "another queue is served", func() bool { return got.len() == 1 })
	assert.Equal(t, 3, b.backlog(t, workflows))
	_, err := b.js.Consumer(t.Context(), b.names.BacklogStream(), b.names.BacklogConsumer(workflows).Durable)
	assert.ErrorIs(t, err, jetstream.ErrConsumerNotFound)
	workflow, _ := b.poll(t, b.polls, workflows)
	natstest.Eventually(t, natstest.Patience, "a worker has come", func() bool { return workflow.len() == 3 })
}

// TestAWorkerThatGoes: what it does not take stays for the next one.
func TestAWorkerThatGoes(t *testing.T) {
	t.Parallel()
	b := newBench(t, shared(t), 1)
	b.match(t, seldom)
	b.store(t, workflows, 0, 20)
	task, err := b.polls.Wait(t.Context(), workflows, offer.Poller{})
	require.NoError(t, err)
	require.NotEmpty(t, task)
	natstest.Eventually(t, natstest.Patience, "nobody is there any more", func() bool {
		_, err := b.history.offers.Offer(t.Context(), workflows, 0)
		return errors.Is(err, offer.ErrNobody) && !errors.Is(err, offer.ErrBusy)
	})
	got, _ := b.poll(t, b.polls, workflows)
	natstest.Eventually(t, natstest.Patience, "the next worker has the others", func() bool { return got.len() == 19 })
	b.requireDrained(t, workflows)
}

// TestForgottenTasks: history does not want them any more. The poll goes on waiting.
func TestForgottenTasks(t *testing.T) {
	t.Parallel()
	b := newBench(t, shared(t), 1)
	b.history.refuses(func(task offer.Task) error {
		if task.EventID <= 10 {
			return matching.ErrForget
		}
		return nil
	})
	b.store(t, workflows, 0, 11)
	got, _ := b.poll(t, b.polls, workflows)
	b.match(t)
	b.requireDrained(t, workflows)
	natstest.Eventually(t, natstest.Patience, "the worker has the last", func() bool { return got.len() == 1 })
}

// TestHistoryIsAway: tasks are tried again until history is there, and those of other shards do not wait for it.
func TestHistoryIsAway(t *testing.T) {
	t.Parallel()
	b := newBench(t, shared(t), 1)
	var refused atomic.Int32
	b.history.refuses(func(task offer.Task) error {
		if task.EventID%2 == 0 {
			refused.Add(1)
			return errors.New("no owner")
		}
		return nil
	})
	b.store(t, workflows, 0, 10)
	got, _ := b.poll(t, b.polls, workflows)
	b.match(t, often)
	natstest.Eventually(t, natstest.Patience, "the others go on", func() bool { return got.len() == 5 && refused.Load() > 0 })
	b.history.refuses(func(offer.Task) error { return nil })
	natstest.Eventually(t, natstest.Patience, "all are done", func() bool { return got.len() == 10 })
	b.requireDrained(t, workflows)
}

// TestOneQueueHoldsUpNoOther: a queue whose tasks take forever to start is a queue of its own.
func TestOneQueueHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	b := newBench(t, shared(t), 1)
	stuck := stuckStarter{b.history, make(chan struct{})}
	b.store(t, activities, 0, 100)
	b.poll(t, b.polls, activities)
	b.match(t, func(c *matching.Config) { c.Starter = stuck })
	b.store(t, workflows, 0, 10)
	got, _ := b.poll(t, b.polls, workflows)
	natstest.Eventually(t, natstest.Patience, "the other queue is served", func() bool { return got.len() == 10 })
	close(stuck.until)
	b.requireDrained(t, activities)
}

// stuckStarter does not answer for activities until a channel is closed.
type stuckStarter struct {
	*history
	until chan struct{}
}

func (s stuckStarter) Start(ctx context.Context, task offer.Task, to offer.Poller) error {
	if task.Kind == offer.Activity {
		select {
		case <-s.until:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.history.Start(ctx, task, to)
}

// TestStop: a matching that is told to stop gives back what no poll has taken, so that another has it at once.
func TestStop(t *testing.T) {
	t.Parallel()
	b := newBench(t, shared(t), 1)
	b.store(t, workflows, 0, 50)
	task, err := b.polls.Wait(immediately(t), workflows, offer.Poller{}) // so that somebody seems to be there
	require.NoError(t, err)
	require.Empty(t, task)
	stop := b.match(t, seldom, func(c *matching.Config) { c.Patience = time.Hour })
	stop()
	got, _ := b.poll(t, b.polls, workflows)
	b.match(t, seldom)
	natstest.Eventually(t, 8*time.Second, "another matching has them, before NATS would deliver them again", func() bool { return got.len() == 50 })
}

func immediately(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// TestGarbage in the backlog holds up nothing, and becomes dead letters.
func TestGarbage(t *testing.T) {
	t.Parallel()
	b := newBench(t, shared(t), 1)
	for _, data := range []string{"", "garbage", "\x01\x80"} {
		_, err := b.js.Publish(t.Context(), b.names.Backlog(workflows), []byte(data))
		require.NoError(t, err)
	}
	require.NoError(t, b.conn.Publish(b.names.BacklogHint(offer.Queue{Namespace: "A", Kind: "x", Name: "y"}), nil))
	b.store(t, workflows, 0, 3)
	got, _ := b.poll(t, b.polls, workflows)
	b.match(t)
	natstest.Eventually(t, natstest.Patience, "the tasks are done", func() bool { return got.len() == 3 })
	b.requireDrained(t, workflows)
	for _, letter := range b.letters(t, 3) {
		assert.Equal(t, b.names.Backlog(workflows), letter.Origin.Subject)
		assert.Equal(t, "default", letter.Namespace)
		assert.Equal(t, subjects.PoolHistory, letter.Pool)
	}
}

// TestTaskOfAnUnreadableWorkflow becomes a dead letter after some attempts. The others go on. Sent again, it reaches a worker.
func TestTaskOfAnUnreadableWorkflow(t *testing.T) {
	t.Parallel()
	b := newBench(t, shared(t), 1)
	b.history.refuses(func(task offer.Task) error {
		if task.WorkflowID == "w1" {
			return serviceerror.NewDataLoss("the history cannot be read")
		}
		return nil
	})
	b.store(t, workflows, 0, 3)
	got, _ := b.poll(t, b.polls, workflows)
	b.match(t, often, func(c *matching.Config) { c.Attempts = 2 })
	letter := b.letters(t, 1)[0]
	b.requireDrained(t, workflows)
	assert.Equal(t, 2, got.len())
	assert.EqualValues(t, 2, letter.Deliveries)
	assert.Equal(t, "w1", letter.WorkflowID)
	b.history.refuses(func(offer.Task) error { return nil })
	_, err := deadletter.NewReader(b.js, b.names).Replay(t.Context(), letter.Number)
	require.NoError(t, err)
	natstest.Eventually(t, natstest.Patience, "the worker has the task", func() bool { return got.len() == 3 })
	b.letters(t, 0)
}

// TestADeletedConsumer is made again.
func TestADeletedConsumer(t *testing.T) {
	t.Parallel()
	b := newBench(t, shared(t), 1)
	b.match(t, often)
	got, _ := b.poll(t, b.polls, workflows)
	b.store(t, workflows, 0, 5)
	natstest.Eventually(t, natstest.Patience, "the tasks are done", func() bool { return got.len() == 5 })
	require.NoError(t, b.js.DeleteConsumer(t.Context(), b.names.BacklogStream(), b.names.BacklogConsumer(workflows).Durable))
	b.store(t, workflows, 5, 10)
	natstest.Eventually(t, natstest.Patience, "the next tasks are done", func() bool { return got.len() == 10 })
}

// TestStarter asks the owner of the shard, and understands its answers.
func TestStarter(t *testing.T) {
	t.Parallel()
	conn, _ := natstest.Connect(t, shared(t))
	names, to := natstest.Names(t), offer.Poller{Inbox: "inbox", Identity: "w"}
	starter, task := matching.NewStarter(owners.Anybody(conn), names, 4), taskOf(workflows, 7)
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.Error(t, starter.Start(soon, task, to), "nobody is there")

	var failure error
	shard := subjects.ShardOf(schedule.Key{Namespace: "default", ID: "w7"}, 4)
	owner, err := call.Serve(t.Context(), call.Config{
		Conn: bus.Plain{Conn: conn}, Logger: natstest.Logger(t),
		Handle: func(_ context.Context, _ string, request []byte) (proto.Message, error) {
			s, err := offer.ParseStart(request)
			assert.NoError(t, err)
			assert.Equal(t, offer.Start{Task: task, Poller: to}, s)
			return nil, failure
		},
	}, names.Execution(shard, "default", subjects.VerbStartTask))
	require.NoError(t, err)
	defer owner.Close()
	require.NoError(t, starter.Start(t.Context(), task, to))
	failure = serviceerror.NewNotFound("gone")
	require.ErrorIs(t, starter.Start(t.Context(), task, to), matching.ErrForget)
	failure = serviceerror.NewUnavailable("later")
	err = starter.Start(t.Context(), task, to)
	require.Error(t, err)
	require.NotErrorIs(t, err, matching.ErrForget)
}

package matching_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/matching"
	"github.com/carillon-scheduler/carillon/subjects"
)

// storeAt puts a task with a priority into the backlog. Its workflow is named after both.
func (b *bench) storeAt(t testing.TB, q offer.Queue, priority, i int) {
	t.Helper()
	task := taskOf(q, i)
	task.Priority, task.WorkflowID = priority, fmt.Sprint("p", priority, "-", i)
	require.NoError(t, b.history.offers.Store(t.Context(), q, task))
}

// order is in which order history has started tasks, by their priorities.
func (b *bench) order(t testing.TB) (started func() []int) {
	t.Helper()
	var order []int
	b.history.refuses(func(task offer.Task) error {
		order = append(order, task.Priority)
		return nil
	})
	return func() []int {
		b.history.mu.Lock()
		defer b.history.mu.Unlock()
		return append([]int{}, order...)
	}
}

// TestPrioritiesOrderABacklog: whatever the order in which tasks came, the most urgent go first, also if the only tasks have the least priority.
func TestPrioritiesOrderABacklog(t *testing.T) {
	t.Parallel()
	const each = 40
	b := newBench(t, shared(t), 1)
	started := b.order(t)
	for i := range each {
		for _, priority := range []int{5, 4, 3, 2, 1} {
			b.storeAt(t, workflows, priority, i)
		}
	}
	b.match(t, seldom)
	got, stop := b.poll(t, b.polls, workflows)
	natstest.Eventually(t, natstest.Patience, "all tasks are taken", func() bool { return got.len() == 5*each })
	stop()
	var want []int
	for priority := subjects.FirstPriority; priority <= subjects.LastPriority; priority++ {
		for range each {
			want = append(want, priority)
		}
	}
	assert.Equal(t, want, started())

	for i := range 3 {
		b.storeAt(t, activities, subjects.LastPriority, i)
	}
	got, _ = b.poll(t, b.polls, activities)
	natstest.Eventually(t, natstest.Patience, "the tasks are taken", func() bool { return got.len() == 3 })
}

// TestAnUrgentTaskGoesFirst: it comes when others look for a poll already, and gets the next one.
func TestAnUrgentTaskGoesFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t, shared(t), 1)
	started := b.order(t)
	conn, _ := natstest.Connect(t, b.url)
	polls, err := offer.NewPolls(offer.Config{Conn: bus.Plain{Conn: conn}, Names: b.names, Logger: natstest.Logger(t), Linger: time.Minute})
	require.NoError(t, err)
	run(t, polls.Run)
	b.match(t, func(c *matching.Config) { c.Every, c.Patience = time.Hour, natstest.Patience })
	poll := func() {
		ctx, cancel := context.WithTimeout(t.Context(), natstest.Patience)
		defer cancel()
		task, err := polls.Wait(ctx, workflows, offer.Poller{Identity: "worker"})
		require.NoError(t, err)
		require.NotEmpty(t, task)
	}
	acks, err := b.conn.SubscribeSync("$JS.ACK." + b.names.BacklogStream() + "." + b.names.BacklogConsumerAt(workflows, 5).Durable + ".>")
	require.NoError(t, err)
	settled := 0
	look := func(priority int) *jetstream.ConsumerInfo {
		consumer, err := b.js.Consumer(t.Context(), b.names.BacklogStream(), b.names.BacklogConsumerAt(workflows, priority).Durable)
		if err != nil {
			return &jetstream.ConsumerInfo{}
		}
		return consumer.CachedInfo()
	}
	// A delivery is settled when its task has been started, or has given way: one task may give way several times.
	allSettled := func() bool {
		for msg, err := acks.NextMsg(time.Millisecond); err == nil; msg, err = acks.NextMsg(time.Millisecond) {
			if !bytes.HasPrefix(msg.Data, []byte("+WPI")) {
				settled++
			}
		}
		return uint64(settled) == look(5).Delivered.Consumer
	}
	for i := range 20 {
		b.storeAt(t, workflows, 5, i)
	}
	poll()
	natstest.Eventually(t, natstest.Patience, "others look for a poll", func() bool { return look(5).NumAckPending > 0 })
	b.storeAt(t, workflows, 1, 0)
	natstest.Eventually(t, natstest.Patience, "the others have given way", func() bool { return look(1).NumAckPending == 1 && allSettled() })
	poll()
	poll()
	natstest.Eventually(t, natstest.Patience, "all three have been started", func() bool { return len(started()) == 3 })
	assert.Equal(t, []int{5, 1, 5}, started())
}

// TestALostHintAboutAnUrgentTask: matching finds it when it looks by itself, though there is always another task.
func TestALostHintAboutAnUrgentTask(t *testing.T) {
	t.Parallel()
	b := newBench(t, shared(t), 1)
	b.match(t, often)
	b.store(t, workflows, 0, 50)
	got, _ := b.poll(t, b.polls, workflows)
	task := taskOf(workflows, 0)
	task.Priority, task.WorkflowID = 1, "urgent"
	msg, err := offer.Waiting(b.names, workflows, task, time.Now())
	require.NoError(t, err)
	_, err = b.js.PublishMsg(t.Context(), msg)
	require.NoError(t, err)
	next := 50
	natstest.Eventually(t, natstest.Patience, "the urgent task is taken", func() bool {
		b.store(t, workflows, next, next+1)
		next++
		got.mu.Lock()
		defer got.mu.Unlock()
		return got.of["workflow urgent"] == 1
	})
	natstest.Eventually(t, natstest.Patience, "nothing is left of it", func() bool {
		stream, err := b.js.Stream(t.Context(), b.names.BacklogStream())
		require.NoError(t, err)
		info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(b.names.OtherBacklogs(workflows)))
		require.NoError(t, err)
		return len(info.State.Subjects) == 0
	})
}

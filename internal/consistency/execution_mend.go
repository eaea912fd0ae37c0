package consistency

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/schedule"
)

// armDeadline stores the delayed message that a journal says there is. If it is there by now, it is replaced by the same.
type armDeadline struct{ at time.Time }

func (a armDeadline) carryOut(ctx context.Context, m *mender, key schedule.Key) error {
	shard := m.store.ShardOf(key)
	return task.ArmMessage(ctx, m.bus, m.names.ExecutionTimer(shard, key, a.at), m.names.ExecutionDue(shard, key), a.at, nil, nil)
}

// wakeExecution wakes history, which lets happen what is due and arms the next message.
type wakeExecution struct{}

func (wakeExecution) carryOut(ctx context.Context, m *mender, key schedule.Key) error {
	return m.publish(ctx, &nats.Msg{
		Subject: m.names.ExecutionDue(m.store.ShardOf(key), key), Header: nats.Header{nats.ExpectedLastSubjSeqHdr: {"0"}},
	})
}

// storeTask puts a task into the backlog. If it is there by now, or a worker has it, history refuses to start it twice.
type storeTask struct {
	queue offer.Queue
	task  offer.Task
}

func (s storeTask) carryOut(ctx context.Context, m *mender, _ schedule.Key) error {
	msg, err := offer.Waiting(m.names, s.queue, s.task, m.now())
	if err != nil {
		return err
	}
	return m.bus.Publish(ctx, msg) // matching looks by itself
}

// redoEntry asks history for what an entry of a journal makes due, as far as it is still owed.
type redoEntry struct {
	key      schedule.Key
	sequence uint64
}

func (r redoEntry) carryOut(ctx context.Context, m *mender, _ schedule.Key) error {
	return m.publish(ctx, &nats.Msg{
		Subject: m.names.ExecutionRedo(m.store.ShardOf(r.key), r.key, r.sequence), Header: nats.Header{nats.ExpectedLastSubjSeqHdr: {"0"}},
	})
}

// removeTimers removes the delayed messages of a workflow ID. One that begins meanwhile keeps its deadlines in the memory of history, and a check
// finds the missing message.
type removeTimers struct{}

func (removeTimers) carryOut(ctx context.Context, m *mender, key schedule.Key) error {
	shard := m.store.ShardOf(key)
	return m.bus.Purge(ctx, m.names.TaskStream(shard), m.names.ExecutionTimers(shard, key))
}

// removeTask removes a task from the backlog.
type removeTask struct{ sequence uint64 }

func (r removeTask) carryOut(ctx context.Context, m *mender, _ schedule.Key) error {
	return m.bus.Remove(ctx, m.names.BacklogStream(), r.sequence)
}

// tellEnd tells a schedule how a workflow has ended. What it has been told meanwhile stands.
type tellEnd struct{ report *nats.Msg }

func (t tellEnd) carryOut(ctx context.Context, m *mender, _ schedule.Key) error {
	t.report.Header.Set(nats.ExpectedLastSubjSeqHdr, "0")
	return m.publish(ctx, t.report)
}

package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// turnLimit bounds the wait for the turn of a workflow ID. Like appendLimit, it is no multiple of the time after which the loop says that it
	// still works on a message, so that a simulation always finds the same order.
	turnLimit = 4900 * time.Millisecond
	// appendLimit bounds an append. It does not end with the request, because it should be known what became of the entry.
	appendLimit = 9900 * time.Millisecond
	// maxTries is how often an input is decided anew because others were faster.
	maxTries = 16
)

// errTooLarge: the entry is larger than the NATS server accepts.
var errTooLarge = serviceerror.NewInvalidArgument("the request is too large: what it adds to the history does not fit into one message of the NATS server")

func errNoRun(key schedule.Key, runID string) error {
	return serviceerror.NewNotFound(fmt.Sprintf("workflow execution not found for workflow ID %q and run ID %q", key.ID, runID))
}

// errBusyWorkflow: too many want the turn of a workflow ID.
var errBusyWorkflow = serviceerror.NewResourceExhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW, "the workflow is busy: try again")

// with calls do with the turn of a workflow ID. Do must not call with.
func (s *Service) with(ctx context.Context, key schedule.Key, do func(*slot) error) error {
	of := s.slots.use(key, s.shardOf(key))
	if of == nil {
		return errBusyWorkflow
	}
	if err := s.takeTurn(ctx, of); err != nil {
		s.slots.release(of, unchanged)
		return err
	}
	defer func() {
		size := of.size()
		<-s.working
		<-of.turn
		s.slots.release(of, size)
	}()
	return do(of)
}

// takeTurn waits for the turn of a workflow ID, and only then for one of those of the process. So many who wait for one workflow ID keep nobody else
// waiting. Turns are given in the order in which they were wanted.
func (s *Service) takeTurn(ctx context.Context, of *slot) error {
	if err := ctx.Err(); err != nil {
		return err // otherwise it would be left to chance who gets a turn that is free
	}
	first := take(of.turn)
	if first && take(s.working) {
		metrics.HistoryTurnWait.Record(ctx, 0)
		return nil
	}
	since := s.config.Now()
	defer func() { metrics.HistoryTurnWait.RecordTime(ctx, s.config.Now().Sub(since)) }()
	if !first {
		if err := of.wait(ctx); err != nil {
			return err
		}
	}
	select {
	case s.working <- struct{}{}:
		return nil
	case <-ctx.Done():
		<-of.turn
		return ctx.Err()
	}
}

// take puts an element into a channel if there is room for it, and if nobody waits for room.
func take(from chan struct{}) bool {
	select {
	case from <- struct{}{}:
		return true
	default:
		return false
	}
}

// transition decides what becomes of an input, appends the entry, and returns what to reply. What the entry makes due is done afterwards. ctx
// may have ended when the entry is stored.
func (s *Service) transition(ctx context.Context, key schedule.Key, in execution.Input) (reply proto.Message, err error) {
	err = s.with(ctx, key, func(of *slot) (err error) {
		if reply, err = s.change(ctx, of, in); err != nil {
			err = s.explain(ctx, of, in, err)
		}
		return err
	})
	return reply, err
}

// explain says that a run has ended, where the state only knows that it is not the newest one.
func (s *Service) explain(ctx context.Context, of *slot, in execution.Input, refusal error) error {
	var missing *serviceerror.NotFound
	if !errors.As(refusal, &missing) || of.state == nil {
		return refusal
	}
	runID := execution.EarlierRun(of.state, in)
	if runID == "" {
		return refusal
	}
	if _, err := s.find(ctx, of, runID); err != nil {
		return refusal
	}
	return execution.ErrCompleted
}

// change is transition for a caller that has the turn.
func (s *Service) change(ctx context.Context, of *slot, in execution.Input) (proto.Message, error) {
	current := false // says that the state is known to be the newest
	for range maxTries {
		cached := of.state != nil && of.state.Sequence > 0
		if of.state == nil && !s.guess(of, in) {
			if _, err := s.refresh(ctx, of); err != nil {
				return nil, err
			}
			current = true
		}
		d, err := s.decide(ctx, of, in)
		if (err != nil || d.Entry == nil) && !current {
			// Another process may have changed the execution.
			changed, stale := s.refresh(ctx, of)
			if stale != nil {
				return nil, stale
			}
			if current = true; changed {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		reply, err := s.carryOut(ctx, of, d)
		if !errors.Is(err, journal.ErrConflict) {
			if cached && !current { // refresh counts the others
				metrics.HistoryLoads.Add(ctx, 1, metrics.HistoryCached)
			}
			return reply, err
		}
		metrics.HistoryConflicts.Add(ctx, 1, of.key.Namespace)
		if _, err := s.refresh(ctx, of); err != nil {
			return nil, err
		}
		current = true
	}
	return nil, errBusy
}

// attempts is change for an input that needs to know more than the state: try reads it, decides and stores. It is repeated while others are faster.
func (s *Service) attempts(ctx context.Context, key schedule.Key, try func(*slot) (proto.Message, error)) (reply proto.Message, err error) {
	err = s.with(ctx, key, func(of *slot) (err error) {
		for range maxTries {
			if reply, err = try(of); !errors.Is(err, journal.ErrConflict) {
				return err
			}
			metrics.HistoryConflicts.Add(ctx, 1, of.key.Namespace)
		}
		return errBusy
	})
	return reply, err
}

// errBusy says that other processes have always been faster.
var errBusy = serviceerror.NewUnavailable("other processes work on the execution: try again")

// guess supposes that a workflow ID that nothing is known of has no journal, for an input that begins a run. If that is wrong, the append
// fails.
func (s *Service) guess(of *slot, in execution.Input) bool {
	switch in.(type) {
	case execution.Start, execution.SignalWithStart:
		of.state = &execution.State{Key: executionKey(of.key)}
		return true
	}
	return false
}

// decide decides about an input. A timeout of an activity depends on its heartbeats, which another process may have got.
func (s *Service) decide(ctx context.Context, of *slot, in execution.Input) (execution.Decision, error) {
	d, err := execution.Decide(of.state, in, s.config.Now())
	due, isDue := in.(execution.TimerDue)
	if err == nil && isDue && d.Entry != nil && beats(of.state.Run) {
		if err := s.readHeartbeats(ctx, of); err != nil {
			return execution.Decision{}, err
		}
		d, err = execution.Decide(of.state, in, s.config.Now())
	}
	if !d.Arm.IsZero() {
		d.Arm = task.NotAtOnce(d.Arm, due.Came, s.config.Now(), leastDelay, mostDelay)
	}
	return d, err
}

// carryOut makes a decision true and returns the reply.
func (s *Service) carryOut(ctx context.Context, of *slot, d execution.Decision) (proto.Message, error) {
	if d.Beat != nil {
		if err := s.storeHeartbeat(ctx, of, d.Beat); err != nil {
			return nil, err
		}
	}
	if d.Entry == nil {
		of.state = d.After
		s.watch(of)
		return d.Reply, cmp.Or(d.Refusal, s.arm(ctx, of, d.Arm), s.fillHistory(ctx, of, d))
	}
	id, err := s.store(ctx, of, &d)
	if err != nil {
		return nil, err
	}
	s.effects(of, id, d.Entry)
	if err := s.fillHistory(ctx, of, d); err != nil {
		return nil, err
	}
	return d.Reply, d.Refusal
}

// store appends the entry of a decision. The next deadline is armed beside it. The error wraps journal.ErrConflict if another entry was faster.
func (s *Service) store(ctx context.Context, of *slot, d *execution.Decision) (id string, err error) {
	d.Entry.Trace = telemetry.Traceparent(ctx)
	data, err := d.Entry.Marshal()
	if err != nil {
		return "", err
	}
	if len(data) > s.journals.MaxEntry(of.key) {
		return "", errTooLarge
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendLimit)
	defer cancel()
	armed := s.armBeside(ctx, of, d.Arm)
	id = s.commits.begin()
	since := s.config.Now()
	sequence, err := s.journals.Append(ctx, of.shard, of.key, of.state.Sequence, journal.Entry{ID: id, Data: data, Ends: d.Entry.Ends() || d.Entry.Gone()})
	s.appended(ctx, of.shard, since, err)
	armErr := armed()
	switch {
	case errors.Is(err, journal.ErrConflict):
		s.commits.refused(id)
		return "", err
	case err != nil:
		of.forget()
		s.commits.settle(id, false)
		return "", err
	}
	s.stored(ctx, of, d, sequence)
	if armErr != nil {
		s.log.WarnContext(ctx, "a deadline is not armed yet", "namespace", of.key.Namespace, "workflow_id", of.key.ID, "error", armErr)
		s.commits.settle(id, false) // whoever gets the entry from the consumer arms it
	}
	return id, nil
}

// stored brings a slot up to an entry that this process has appended.
func (s *Service) stored(ctx context.Context, of *slot, d *execution.Decision, sequence uint64) {
	metrics.HistoryEntries.Add(ctx, 1, of.key.Namespace)
	d.After.Stored(sequence)
	of.state = d.After
	of.recent.add(d.Entry)
	of.notify()
	s.watch(of)
}

// armBeside begins to arm a delayed message of a workflow ID, if there is a time for it. The caller calls the function that it returns, which
// waits for the end.
func (s *Service) armBeside(ctx context.Context, of *slot, at time.Time) (wait func() error) {
	if at.IsZero() {
		return func() error { return nil }
	}
	ended := make(chan error, 1)
	s.running.Go(func() { ended <- s.arm(ctx, of, at) })
	return func() error { return <-ended }
}

// arm stores the delayed message of a workflow ID that comes at a time; none if there is no time.
func (s *Service) arm(ctx context.Context, of *slot, at time.Time) error {
	if at.IsZero() {
		return nil
	}
	names := s.config.Names
	return task.ArmMessage(ctx, s.bus, names.ExecutionTimer(of.shard, of.key, at), names.ExecutionDue(of.shard, of.key), at, nil, nil)
}

// storeHeartbeat stores the last heartbeat of an activity.
func (s *Service) storeHeartbeat(ctx context.Context, of *slot, beat *execution.Beat) error {
	data, err := codec.Marshal(&beat.Heartbeat)
	if err != nil {
		return err
	}
	if int64(len(data)) > s.bus.MaxPayload()-1024 {
		return serviceerror.NewInvalidArgument("the details of the heartbeat are larger than the NATS server accepts")
	}
	return s.bus.Publish(ctx, &nats.Msg{Subject: s.config.Names.Heartbeat(of.key, of.state.Run.ID, beat.Event), Data: data})
}

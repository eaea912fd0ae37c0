package history

import (
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
	// turnLimit bounds the wait for the turn of a workflow ID.
	turnLimit = 5 * time.Second
	// appendLimit bounds an append. It does not end with the request, because it should be known what became of the entry.
	appendLimit = 10 * time.Second
	// maxTries is how often an input is decided anew because others were faster.
	maxTries = 16
)

// errTooLarge: the entry is larger than the NATS server accepts.
var errTooLarge = serviceerror.NewInvalidArgument("the request is too large: what it adds to the history does not fit into one message of the NATS server")

func errNoRun(key schedule.Key, runID string) error {
	return serviceerror.NewNotFound(fmt.Sprintf("workflow execution not found for workflow ID %q and run ID %q", key.ID, runID))
}

// with calls do with the turn of a workflow ID.
func (s *Service) with(ctx context.Context, key schedule.Key, do func(*slot) error) error {
	of := s.slots.use(key, s.shardOf(key))
	limit := time.NewTimer(turnLimit)
	defer limit.Stop()
	select {
	case of.turn <- struct{}{}:
	case <-ctx.Done():
		s.slots.release(of, unchanged)
		return ctx.Err()
	case <-limit.C:
		s.slots.release(of, unchanged)
		return serviceerror.NewResourceExhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW, "the workflow is busy: try again")
	}
	defer func() {
		size := of.size()
		<-of.turn
		s.slots.release(of, size)
	}()
	return do(of)
}

// transition decides what becomes of an input, appends the entry, and returns what to reply. What the entry makes due is done afterwards. ctx
// may have ended when the entry is stored.
func (s *Service) transition(ctx context.Context, key schedule.Key, in execution.Input) (reply proto.Message, err error) {
	err = s.with(ctx, key, func(of *slot) (err error) {
		reply, err = s.change(ctx, of, in)
		return err
	})
	return reply, err
}

// change is transition for a caller that has the turn.
func (s *Service) change(ctx context.Context, of *slot, in execution.Input) (proto.Message, error) {
	current := false // says that the state is known to be the newest
	for range maxTries {
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
			return reply, err
		}
		metrics.HistoryConflicts.Add(ctx, 1, of.key.Namespace)
		if err := s.afterConflict(ctx, of, d.Entry); err != nil {
			return nil, err
		}
		current = true
	}
	return nil, serviceerror.NewUnavailable("other processes work on the execution: try again")
}

// afterConflict reads what others have appended. If this process has armed a delayed message for an entry that nobody will ever see, it may
// have replaced one that comes earlier.
func (s *Service) afterConflict(ctx context.Context, of *slot, refused *execution.Entry) error {
	if _, err := s.refresh(ctx, of); err != nil || refused.Armed.IsZero() {
		return err
	}
	return s.armNext(ctx, of, time.Time{})
}

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
	if _, due := in.(execution.TimerDue); err != nil || !due || d.Entry == nil || !beats(of.state.Run) {
		return d, err
	}
	if err := s.readHeartbeats(ctx, of); err != nil {
		return execution.Decision{}, err
	}
	return execution.Decide(of.state, in, s.config.Now())
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
		return d.Reply, d.Refusal
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
	next := d.After.NextDeadline()
	d.Entry.Trace, d.Entry.Armed = telemetry.Traceparent(ctx), s.toArm(of, next)
	data, err := d.Entry.Marshal()
	if err != nil {
		return "", err
	}
	if len(data) > s.journals.MaxEntry(of.key) {
		return "", errTooLarge
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendLimit)
	defer cancel()
	armed := s.armBeside(ctx, of, d.Entry.Armed)
	id = s.commits.begin()
	sequence, err := s.journals.Append(ctx, of.shard, of.key, of.state.Sequence, journal.Entry{ID: id, Data: data, Ends: d.Entry.Ends()})
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
	if armErr == nil && !next.IsZero() && d.Entry.Armed.IsZero() && !s.relies(of) {
		armErr = s.armNext(ctx, of, time.Time{}) // the append took so long that the message may have come
	}
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
	of.note(d.Entry)
	of.notify()
	s.watch(of)
}

// relies reports whether a delayed message is certainly on its way: another process has not got it yet.
func (s *Service) relies(of *slot) bool { return of.armed.After(s.config.Now().Add(armedMargin)) }

// toArm returns when a delayed message has to be armed for a deadline; zero if none has to: there is no deadline, or one is armed that comes
// early enough.
func (s *Service) toArm(of *slot, next time.Time) time.Time {
	if s.relies(of) && !next.Before(of.armed) {
		return time.Time{}
	}
	return next
}

// armBeside begins to arm the delayed message of a workflow ID, unless the time is zero. The caller calls the function that it returns, which
// waits for the end.
func (s *Service) armBeside(ctx context.Context, of *slot, at time.Time) (wait func() error) {
	if at.IsZero() {
		return func() error { return nil }
	}
	ended := make(chan error, 1)
	s.running.Go(func() { ended <- s.arm(ctx, of, at) })
	return func() error { return <-ended }
}

// arm stores the delayed message of a workflow ID.
func (s *Service) arm(ctx context.Context, of *slot, at time.Time) error {
	names := s.config.Names
	return task.ArmMessage(ctx, s.bus, names.ExecutionTimer(of.shard, of.key), names.ExecutionDue(of.shard, of.key), at, nil, nil)
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

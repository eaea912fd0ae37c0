package invoker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// perform executes work: controls first, so that a start sees them, then starts, side by side. It may leave starts out.
func (s *session) perform(ctx context.Context, work Work) (Report, error) {
	report := Report{Delivered: s.deliverAll(ctx, work.Controls)}
	last, err := s.lastResultFor(ctx, work)
	if err != nil {
		return Report{}, err
	}
	starts, since := s.freshOf(work.Starts), time.Time{}
	if len(starts) == 0 {
		since = s.wallClock()
		if report.Starts, starts, err = s.earlier(ctx, work.Starts); err != nil {
			return Report{}, err
		}
	}
	results := make([]StartReport, len(starts))
	var group errgroup.Group
	group.SetLimit(startsAtOnce)
	for i := range starts {
		start, since := &starts[i], since
		if at, fresh := s.fresh[start.RequestID]; fresh {
			since = at
			delete(s.fresh, start.RequestID)
		}
		group.Go(func() (err error) {
			traced, span, start := s.traced(ctx, start)
			results[i], err = s.start(traced, start, last, since)
			endStart(span, &results[i], err)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Report{}, err
	}
	report.Starts = append(report.Starts, results...)
	return report, ctx.Err()
}

// freshOf returns the starts that nobody can have published before, or so recently only that the action stream would take
// a second publish for a repeat: another process may have read the record since. They need no search, and do not wait for
// one about others.
func (s *session) freshOf(starts []wire.BufferedStart) []wire.BufferedStart {
	var fresh []wire.BufferedStart
	for i := range starts {
		at, ok := s.fresh[starts[i].RequestID]
		switch {
		case !ok:
		case starts[i].Attempt == 1 && s.wallClock().Sub(at) < subjects.DuplicateWindow/4:
			fresh = append(fresh, starts[i])
		default:
			delete(s.fresh, starts[i].RequestID)
		}
	}
	return fresh
}

// start publishes one run to its task queue. Nobody had done that before since. Its error means that this process may not
// go by the record any more.
func (s *session) start(
	ctx context.Context, start *wire.BufferedStart, last wire.Result, since time.Time,
) (StartReport, error) {
	report := StartReport{RequestID: start.RequestID, At: s.config.Now()}
	if err := s.current(since); err != nil {
		return report, err
	}
	request := s.request(start, last, report.At)
	if start.Attempt > 1 && isLate(&s.definition.Value, start, report.At) {
		report.Result = TooLate
	} else if err := s.try(ctx, start, &request, since, &report); err != nil {
		return report, err
	}
	if report.givesUp() || report.Result == Failed && start.Attempt >= MaxAttempts {
		s.renounce(ctx, start, &report)
	}
	if report.givesUp() && !request.Deadline.IsZero() {
		s.disarm(ctx, s.key, start.RequestID)
	}
	report.At = s.config.Now()
	return report, nil
}

// try makes one attempt to publish a run, and reports what came of it. Its error is that of start.
func (s *session) try(
	ctx context.Context, start *wire.BufferedStart, request *schedule.ActionRequest, since time.Time, report *StartReport,
) error {
	if err := s.override(ctx, start, request); err != nil {
		report.Result, report.Reason = Failed, err.Error()
		if errors.Is(err, errNoTrigger) {
			report.Result = Refused
		}
		return nil
	}
	err := s.armTimeout(ctx, start, request)
	if err == nil {
		err = s.publish(ctx, start, request, since)
	}
	if bus.IsWrongSequence(err) {
		if started, free := s.makeWay(ctx, start); started {
			err = nil
		} else if free {
			err = s.publish(ctx, start, request, since)
		}
	}
	if errors.Is(err, kv.ErrConflict) {
		return err
	}
	report.Result = Accepted
	if err != nil {
		report.Result, report.Reason = s.judge(ctx, start, err)
	}
	return nil
}

// current makes sure that what is published now cannot be a repeat that nobody recognises. The action stream tells
// repeats for the DuplicateWindow only: after a stop of the process, another may have started the run since, and the run
// have ended. And without a connection nats.go would keep the start, and send it whenever there is one again.
func (s *session) current(since time.Time) error {
	if s.wallClock().Sub(since) > subjects.DuplicateWindow/2 {
		return fmt.Errorf("%w: invoker: read too long ago", kv.ErrConflict)
	}
	if !s.config.Bus.Connected() {
		return nats.ErrDisconnected
	}
	return nil
}

// earlier finds out what became of starts that may have been published before. It reports those that were, and returns
// the others. A worker reports, then acknowledges, and a completion stays in its stream until it has been applied: so
// the queue, the completions and the record are looked at in this order, and a run that is in none of them has never been
// accepted. The record is read once for all: it is large where there are many.
//
// If the record has changed, another process is at work on the same schedule, on the same starts as a rule. They are left
// to it; the retry timer sees to them if it dies.
func (s *session) earlier(
	ctx context.Context, starts []wire.BufferedStart,
) (found []StartReport, others []wire.BufferedStart, err error) {
	reports := make([]*StartReport, len(starts)) // of those that are found; their order must not depend on the replies
	var group errgroup.Group
	group.SetLimit(startsAtOnce)
	for i := range starts {
		group.Go(func() error {
			result, known, err := s.look(ctx, s.key, &starts[i])
			if known {
				reports[i] = &StartReport{RequestID: starts[i].RequestID, Result: result, At: s.config.Now()}
			}
			return err
		})
	}
	err = group.Wait()
	for i, report := range reports {
		if report != nil {
			found = append(found, *report)
		} else {
			others = append(others, starts[i])
		}
	}
	if err != nil || len(others) == 0 {
		return found, nil, err
	}
	record, err := kv.OrZero(kv.GetLeader(ctx, s.config.Store, kv.Invoker(s.key)))
	if err == nil && record.Revision != s.record.Revision {
		others = nil
	}
	return found, others, err
}

// look looks for a run in the queue, then for its completion.
func (p *Pool) look(
	ctx context.Context, key schedule.Key, start *wire.BufferedStart,
) (result Result, known bool, err error) {
	stored, err := p.queued(ctx, key.Namespace, start.TaskQueue, start.WorkflowID)
	switch {
	case err == nil && stored.Header.Get(jetstream.MsgIDHeader) == start.RequestID:
		return Accepted, true, nil
	case err != nil && !errors.Is(err, bus.ErrNone):
		return Failed, false, err
	}
	names, shard := p.config.Names, p.config.Store.ShardOf(key)
	for _, at := range []struct{ stream, subject string }{
		{names.CallbackStream(shard), names.Callback(shard, key, start.TaskQueue, start.RequestID)},
		{names.TaskStream(shard), names.Timeout(shard, key, start.RequestID)},
	} {
		_, err := p.config.Bus.Last(ctx, at.stream, at.subject)
		if !errors.Is(err, bus.ErrNone) {
			return Over, err == nil, err
		}
	}
	return Failed, false, nil
}

// armTimeout arms the delayed completion of a run that may never report. It comes before the run, so that no run is
// without it. It is in the trace of the run.
func (s *session) armTimeout(ctx context.Context, start *wire.BufferedStart, request *schedule.ActionRequest) error {
	if request.Deadline.IsZero() {
		return nil
	}
	body, err := json.Marshal(&schedule.Completion{
		RequestID: request.RequestID, RunID: request.RunID, Status: schedule.StatusTimedOut, CloseTime: request.Deadline,
		Failure: &schedule.Failure{Type: "timeout", Message: "no completion before the run timeout"},
	})
	if err != nil {
		return err
	}
	header := nats.Header{}
	telemetry.InjectTraceparent(ctx, start.Trace, header)
	names, shard := s.config.Names, s.shard()
	timerSubject, target := names.TimeoutTimer(shard, s.key, start.RequestID), names.Timeout(shard, s.key, start.RequestID)
	return task.ArmMessage(ctx, s.config.Bus, timerSubject, target, request.Deadline, header, body)
}

// publish puts the request into the action stream, unless a run of this workflow ID is queued or running there. The last
// success is an offer to the run: where the request is too large for a message with it, it goes without.
//
// It looks at the clock itself: NATS has been asked for something since, and meanwhile the process may have stood still.
func (s *session) publish(
	ctx context.Context, start *wire.BufferedStart, request *schedule.ActionRequest, since time.Time,
) error {
	if err := s.current(since); err != nil {
		return err
	}
	err := s.send(ctx, start, request)
	if errors.Is(err, nats.ErrMaxPayload) && len(request.LastSuccess) > 0 {
		request.LastSuccess, request.LastSuccessOmitted = nil, true
		err = s.send(ctx, start, request)
	}
	return err
}

// send publishes the request. One that is larger than a message may be, with its headers, is nats.ErrMaxPayload before
// anything has left the process.
func (s *session) send(ctx context.Context, start *wire.BufferedStart, request *schedule.ActionRequest) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	msg := &nats.Msg{
		Subject: s.config.Names.Action(request.Namespace, request.TaskQueue, request.WorkflowID),
		Header: nats.Header{
			"Content-Type":              {"application/json"},
			nats.MsgIdHdr:               {request.RequestID},
			nats.ExpectedLastSubjSeqHdr: {"0"},
		},
		Data: body,
	}
	telemetry.InjectTraceparent(ctx, start.Trace, msg.Header)
	repeated, err := s.config.Bus.PublishOnce(ctx, msg)
	if err == nil && repeated {
		return errRepeated
	}
	return err
}

// queued returns the message of the run of a workflow ID that waits for a worker or is in the hands of one;
// bus.ErrNone if there is none.
func (p *Pool) queued(ctx context.Context, namespace, queue, workflowID string) (bus.Message, error) {
	subject := p.config.Names.Action(namespace, queue, workflowID)
	return p.config.Bus.Last(ctx, p.config.Names.ActionStream(), subject)
}

// makeWay looks at the run of the same workflow ID that is in the way of a start. It reports whether that is the run of the
// start itself, which another process has published, or an earlier attempt; and whether the way is free. For that it removes
// a run that is over from the action stream: its worker has reported and is about to acknowledge, or has died in between and
// would be followed by another that runs it once more.
func (s *session) makeWay(ctx context.Context, start *wire.BufferedStart) (started, free bool) {
	stored, err := s.queued(ctx, s.key.Namespace, start.TaskQueue, start.WorkflowID)
	if err != nil {
		return false, errors.Is(err, bus.ErrNone)
	}
	requestID := stored.Header.Get(jetstream.MsgIDHeader)
	if requestID == start.RequestID {
		return true, false
	}
	return false, s.completed(requestID) && s.remove(ctx, stored.Sequence) == nil
}

// judge turns the error of a publish into a result. The stream checks the expected sequence before it drops repeats, so
// an own earlier attempt is refused as well: the stored message tells.
func (s *session) judge(ctx context.Context, start *wire.BufferedStart, err error) (Result, string) {
	if errors.Is(err, nats.ErrMaxPayload) {
		return Refused, "the request is larger than a NATS message may be"
	}
	if errors.Is(err, errRepeated) {
		return s.repeated(ctx, s.key, start)
	}
	if !bus.IsWrongSequence(err) {
		return Failed, err.Error()
	}
	stored, err := s.queued(ctx, s.key.Namespace, start.TaskQueue, start.WorkflowID)
	switch {
	case errors.Is(err, bus.ErrNone):
		return Failed, "the run before has just ended"
	case err != nil:
		return Failed, err.Error()
	case stored.Header.Get(jetstream.MsgIDHeader) == start.RequestID:
		return Accepted, ""
	}
	return Refused, fmt.Sprintf("workflow ID %s is already running", start.WorkflowID)
}

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

// perform executes work: first controls, so that a start sees their effect, then starts, in parallel. It may leave starts out.
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

// freshOf returns the fresh starts: nobody else can have published them, or so recently that the action stream recognizes a second publish
// as a repeat. (Another process may have read the record meanwhile.) These starts need no search, and do not wait for the search for
// others.
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

// start publishes one run to its task queue, or starts an execution. Nobody has done so before since. An error means that this process can no longer rely on
// its copy of the record.
func (s *session) start(
	ctx context.Context, start *wire.BufferedStart, last wire.Result, since time.Time,
) (StartReport, error) {
	report := StartReport{RequestID: start.RequestID, At: s.config.Now()}
	if err := s.current(since); err != nil {
		return report, err
	}
	if start.Attempt > 1 && isLate(&s.definition.Value, start, report.At) {
		report.Result = TooLate
	} else if err := s.try(ctx, start, last, since, &report); err != nil {
		return report, err
	}
	if report.givesUp() || report.Result == Failed && start.Attempt >= MaxAttempts {
		s.renounce(ctx, start, &report)
	}
	if report.givesUp() && !start.ActionKind.IsWorkflow() && runTimeout(&s.definition.Value.Schedule.Action) > 0 {
		s.disarm(ctx, s.key, start.RequestID)
	}
	report.At = s.config.Now()
	return report, nil
}

// try makes one attempt to start a run, and reports the result. Its error has the same meaning as that of start.
func (s *session) try(
	ctx context.Context, start *wire.BufferedStart, last wire.Result, since time.Time, report *StartReport,
) error {
	action, refused, err := s.actionOf(ctx, start)
	switch {
	case err != nil && refused:
		report.Result, report.Reason = Refused, err.Error()
		return nil
	case err != nil:
		report.Result, report.Reason = Failed, err.Error()
		return nil
	case start.ActionKind.IsWorkflow():
		return s.tryWorkflow(ctx, start, &action, last, since, report)
	}
	request := s.request(start, &action, last, report.At)
	return s.tryRun(ctx, start, &request, since, report)
}

// tryRun makes one attempt to publish a run.
func (s *session) tryRun(
	ctx context.Context, start *wire.BufferedStart, request *schedule.ActionRequest, since time.Time, report *StartReport,
) error {
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

// current makes sure that the action stream would recognize a repeat of what is published now. The stream knows message IDs only for the
// DuplicateWindow. If this process stood still for longer, another one may have started the run, and the run may have ended. It also makes
// sure that there is a connection: without one, nats.go would keep the start and send it later.
func (s *session) current(since time.Time) error {
	if s.wallClock().Sub(since) > subjects.DuplicateWindow/2 {
		return fmt.Errorf("%w: invoker: read too long ago", kv.ErrConflict)
	}
	if !s.config.Bus.Connected() {
		return nats.ErrDisconnected
	}
	return nil
}

// earlier finds out what became of starts that may have been published before. It reports the published ones and returns the others. A
// worker first reports and then acknowledges, and a completion stays in its stream until it has been applied. So earlier looks at the
// queue, the completions and the record, in this order: a run that is in none of them was never accepted. It reads the record once for all
// starts, because a record with many starts is large.
//
// If the record has changed, another process works on the same schedule, usually on the same starts. The starts are left to that process.
// If it dies, the retry timer brings them back.
func (s *session) earlier(
	ctx context.Context, starts []wire.BufferedStart,
) (found []StartReport, others []wire.BufferedStart, err error) {
	reports := make([]*StartReport, len(starts)) // results for the starts that are found; the order must not depend on the replies
	var group errgroup.Group
	group.SetLimit(startsAtOnce)
	for i := range starts {
		group.Go(func() error {
			result, known, err := s.look(ctx, s.key, &starts[i])
			switch {
			case err != nil && starts[i].ActionKind.IsWorkflow():
				reports[i] = &StartReport{RequestID: starts[i].RequestID, Result: Unreachable, Reason: err.Error(), At: s.config.Now()}
				return nil // history does not answer; NATS does
			case known:
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

// look searches for a run in the queue, then for its completion.
func (p *Pool) look(
	ctx context.Context, key schedule.Key, start *wire.BufferedStart,
) (result Result, known bool, err error) {
	if start.ActionKind.IsWorkflow() {
		return p.lookWorkflow(ctx, key, start)
	}
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

// armTimeout arms the delayed completion of a run that may never report. It does so before the run is published, so that no run is without
// it. The timer belongs to the trace of the run.
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

// publish puts the request into the action stream, unless a run of this workflow ID is queued or running there. The last success is
// optional: if the request is too large for a message with it, publish omits it.
//
// It checks the clock itself, because the process may have stood still during the requests to NATS before.
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

// send publishes the request. If the request with its headers is larger than a message may be, the error is nats.ErrMaxPayload, and nothing
// has left the process.
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

// queued returns the message of a run of the workflow ID that waits for a worker or that a worker has taken; bus.ErrNone if there is none.
func (p *Pool) queued(ctx context.Context, namespace, queue, workflowID string) (bus.Message, error) {
	subject := p.config.Names.Action(namespace, queue, workflowID)
	return p.config.Bus.Last(ctx, p.config.Names.ActionStream(), subject)
}

// makeWay looks at the run of the same workflow ID that blocks a start. started reports whether that is the run of the start itself,
// published by another process or an earlier attempt. free reports whether the start is no longer blocked: makeWay removes a run that is
// over from the action stream. The worker of such a run has reported it and is about to acknowledge it, or has died in between; then
// another worker would execute the run again.
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

// judge turns the error of a publish into a result. The stream checks the expected sequence before it drops repeats, so it also refuses a
// repeat of our own earlier attempt. The stored message shows which it was.
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

package invoker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/leader"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/timer"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// perform executes work: controls first, so that a start sees them, then starts, side by side.
func (s *session) perform(ctx context.Context, work Work) (Report, error) {
	var report Report
	terminated := map[string]bool{}
	for _, control := range work.Controls {
		if err := s.deliver(ctx, control); err != nil {
			s.config.Logger.WarnContext(ctx, "control not delivered, will try again", "kind", control.Kind,
				"run_id", control.RunID, "error", err)
			continue
		}
		report.Delivered = append(report.Delivered, control)
		terminated[control.RequestID] = control.Kind == schedule.ControlTerminate
	}
	last, err := s.lastResult(ctx, work)
	if err != nil {
		return Report{}, err
	}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(s.config.Concurrency)
	for i := range work.Starts {
		start := &work.Starts[i]
		if terminated[start.RequestID] {
			continue
		}
		group.Go(func() error {
			result, err := s.start(ctx, start, last)
			mu.Lock()
			defer mu.Unlock()
			report.Starts = append(report.Starts, result)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Report{}, err
	}
	return report, ctx.Err()
}

// lastResult reads what the next runs are told about the earlier ones.
func (s *session) lastResult(ctx context.Context, work Work) (schedule.Result, error) {
	if len(work.Starts) == 0 || !s.record.Value.HasResult {
		return schedule.Result{}, nil
	}
	// From the leader, since it may have been written a moment ago.
	record, err := kv.OrZero(kv.GetLeader(ctx, s.config.Store, kv.Result(s.key)))
	if err != nil {
		return schedule.Result{}, err
	}
	if record.Value.Incarnation != s.definition.Value.Incarnation {
		return schedule.Result{}, nil
	}
	return record.Value, nil
}

// start publishes one run to its task queue. Its error means that this process may not go by the record any more.
func (s *session) start(ctx context.Context, start *schedule.BufferedStart, last schedule.Result) (StartReport, error) {
	report := StartReport{RequestID: start.RequestID, At: s.config.Now()}
	request := s.request(start, last, report.At)
	if s.repeated[start.RequestID] || start.Attempt > 1 {
		result, known, err := s.earlier(ctx, start, request.Callback)
		if known || err != nil {
			report.Result = result
			return report, err
		}
	}
	if err := s.current(); err != nil {
		return report, err
	}
	err := s.armTimeout(ctx, &request)
	if err == nil {
		err = s.publish(ctx, start, &request)
	}
	if isOccupied(err) && s.makeWay(ctx, start) {
		err = s.publish(ctx, start, &request)
	}
	if err != nil {
		report.Result, report.Reason = s.judge(ctx, start, err)
	}
	report.At = s.config.Now()
	return report, nil
}

// current makes sure that what is published now cannot be a repeat that nobody recognises. The action stream tells
// repeats for the DuplicateWindow only: after a stop of the process, another may have started the run since, and the run
// have ended. And without a connection nats.go would keep the start, and send it whenever there is one again.
func (s *session) current() error {
	if s.wallClock().Sub(s.seen) > subjects.DuplicateWindow/2 {
		return fmt.Errorf("%w: invoker: read too long ago", kv.ErrConflict)
	}
	if !s.config.JS.Conn().IsConnected() {
		return nats.ErrDisconnected
	}
	return nil
}

// earlier finds out what became of a start that may have been published before. A worker reports, then acknowledges,
// and a completion stays in the task stream until it has been applied: so the places are looked at in this order, and the
// run that is in none of them, with the record unchanged, has never been accepted.
func (s *session) earlier(ctx context.Context, start *schedule.BufferedStart, callback string) (result Result, known bool, err error) {
	stored, err := s.queued(ctx, start.TaskQueue, start.WorkflowID)
	switch {
	case err == nil && stored.Header.Get(jetstream.MsgIDHeader) == start.RequestID:
		return Accepted, true, nil
	case err != nil && !errors.Is(err, leader.ErrNone):
		return Failed, true, err
	}
	_, err = leader.Last(ctx, s.config.JS, s.config.Names.TaskStream(s.shard()), callback)
	if !errors.Is(err, leader.ErrNone) {
		return Over, true, err
	}
	record, err := kv.GetLeader(ctx, s.config.Store, kv.Invoker(s.key))
	if err == nil && record.Revision != s.record.Revision {
		err = fmt.Errorf("%w: %s", kv.ErrConflict, kv.Invoker(s.key))
	}
	return Failed, err != nil, err
}

func (s *session) request(start *schedule.BufferedStart, last schedule.Result, now time.Time) schedule.ActionRequest {
	d := &s.definition.Value
	action := &d.Schedule.Action
	request := schedule.ActionRequest{
		Namespace: d.Namespace, ScheduleID: d.ID, WorkflowID: start.WorkflowID, RunID: start.RunID,
		RequestID: start.RequestID, Type: action.Type, TaskQueue: start.TaskQueue,
		Callback:    s.config.Names.Callback(s.shard(), s.key, start.TaskQueue, start.RequestID),
		NominalTime: start.Nominal, DueTime: start.Actual,
		TaskTimeout: action.TaskTimeout, Input: action.Input, Headers: action.Headers, Memo: action.Memo,
		SearchAttributes: action.SearchAttributes, RetryPolicy: action.RetryPolicy, Priority: action.Priority,
		LastSuccess: last.Success, LastFailure: last.Failure,
	}
	if timeout := runTimeout(action); timeout > 0 {
		request.Deadline = now.Add(timeout).UTC()
		request.TimeoutTimer = s.config.Names.TimeoutTimer(s.shard(), s.key, start.RequestID)
	}
	return request
}

// runTimeout is the shorter of run and execution timeout; 0 if there is neither.
func runTimeout(action *schedule.Action) time.Duration {
	run, execution := action.RunTimeout.Std(), action.ExecutionTimeout.Std()
	if run == 0 || execution > 0 && execution < run {
		return execution
	}
	return run
}

// armTimeout arms the delayed completion of a run that may never report. It comes before the run, so that no run is
// without it.
func (s *session) armTimeout(ctx context.Context, request *schedule.ActionRequest) error {
	if request.TimeoutTimer == "" {
		return nil
	}
	body, err := json.Marshal(&schedule.Completion{
		RequestID: request.RequestID, RunID: request.RunID, Status: schedule.StatusTimedOut, CloseTime: request.Deadline,
		Failure: &schedule.Failure{Type: "timeout", Message: "no completion before the run timeout"},
	})
	if err != nil {
		return err
	}
	return timer.Arm(ctx, s.config.JS, request.TimeoutTimer, request.Callback, request.Deadline, nil, body)
}

// publish puts the request into the action stream, unless a run of this workflow ID is queued or running there.
func (s *session) publish(ctx context.Context, start *schedule.BufferedStart, request *schedule.ActionRequest) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	msg := &nats.Msg{
		Subject: s.config.Names.Action(request.Namespace, request.TaskQueue, request.WorkflowID),
		Header:  nats.Header{"Content-Type": {"application/json"}}, Data: body,
	}
	telemetry.Inject(telemetry.WithTraceparent(ctx, start.Trace), msg.Header)
	_, err = s.config.JS.PublishMsg(ctx, msg,
		jetstream.WithMsgID(request.RequestID), jetstream.WithExpectLastSequencePerSubject(0))
	return err
}

// queued returns the message of the run of a workflow ID that waits for a worker or is in the hands of one;
// leader.ErrNone if there is none.
func (s *session) queued(ctx context.Context, queue, workflowID string) (leader.Message, error) {
	subject := s.config.Names.Action(s.key.Namespace, queue, workflowID)
	return leader.Last(ctx, s.config.JS, s.config.Names.ActionStream(), subject)
}

// makeWay removes from the action stream a run of the same workflow ID that is over: its worker has reported and is about
// to acknowledge, or has died in between and would be followed by another that runs it once more.
func (s *session) makeWay(ctx context.Context, start *schedule.BufferedStart) bool {
	stored, err := s.queued(ctx, start.TaskQueue, start.WorkflowID)
	if err != nil {
		return errors.Is(err, leader.ErrNone)
	}
	over := slices.ContainsFunc(s.record.Value.Starts, func(other schedule.BufferedStart) bool {
		return other.Phase == schedule.PhaseCompleted && other.RequestID == stored.Header.Get(jetstream.MsgIDHeader)
	})
	return over && s.remove(ctx, stored.Sequence) == nil
}

// judge turns the error of a publish into a result. The stream checks the expected sequence before it drops repeats, so
// an own earlier attempt is refused as well: the stored message tells.
func (s *session) judge(ctx context.Context, start *schedule.BufferedStart, err error) (Result, string) {
	if errors.Is(err, nats.ErrMaxPayload) {
		return Refused, "the request is larger than a NATS message may be"
	}
	if !isOccupied(err) {
		return Failed, err.Error()
	}
	stored, err := s.queued(ctx, start.TaskQueue, start.WorkflowID)
	switch {
	case errors.Is(err, leader.ErrNone):
		return Failed, "the run before has just ended"
	case err != nil:
		return Failed, err.Error()
	case stored.Header.Get(jetstream.MsgIDHeader) == start.RequestID:
		return Accepted, ""
	}
	return Refused, fmt.Sprintf("workflow ID %s is already running", start.WorkflowID)
}

// isOccupied reports whether a publish was refused because its subject has a message; the code depends on the replicas.
func isOccupied(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// deliver brings a cancel or terminate to a run, wherever it is: the control stream keeps it for a worker that takes the
// run later, and a terminated run is taken out of the action stream.
func (s *session) deliver(ctx context.Context, c schedule.PendingControl) error {
	body, err := json.Marshal(&schedule.Control{Kind: c.Kind, RequestID: c.RequestID, RunID: c.RunID, WorkflowID: c.WorkflowID})
	if err != nil {
		return err
	}
	subject := s.config.Names.Control(s.key.Namespace, c.TaskQueue, c.WorkflowID)
	if _, err := s.config.JS.Publish(ctx, subject, body, jetstream.WithMsgID(string(c.Kind)+"-"+c.RequestID)); err != nil {
		return err
	}
	if c.Kind != schedule.ControlTerminate {
		return nil
	}
	return s.withdraw(ctx, c)
}

// withdraw removes a run from the action stream.
func (s *session) withdraw(ctx context.Context, c schedule.PendingControl) error {
	stored, err := s.queued(ctx, c.TaskQueue, c.WorkflowID)
	if errors.Is(err, leader.ErrNone) || err == nil && stored.Header.Get(jetstream.MsgIDHeader) != c.RequestID {
		return nil
	}
	if err != nil {
		return err
	}
	return s.remove(ctx, stored.Sequence)
}

// remove takes a message out of the action stream.
func (s *session) remove(ctx context.Context, sequence uint64) error {
	stream, err := s.config.JS.Stream(ctx, s.config.Names.ActionStream())
	if err != nil {
		return err
	}
	err = stream.DeleteMsg(ctx, sequence)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	return err
}

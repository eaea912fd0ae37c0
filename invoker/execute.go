package invoker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
)

// perform executes work: controls first, so that a start sees them, then starts, side by side.
func (s *session) perform(ctx context.Context, work, recovering Work) (Report, error) {
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
	repeated := map[string]bool{}
	for i := range recovering.Starts {
		repeated[recovering.Starts[i].RequestID] = true
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
			result := s.start(ctx, start, last, repeated[start.RequestID])
			mu.Lock()
			defer mu.Unlock()
			report.Starts = append(report.Starts, result)
			return nil
		})
	}
	_ = group.Wait() // start reports its errors
	return report, ctx.Err()
}

// lastResult reads what the next runs are told about the earlier ones.
func (s *session) lastResult(ctx context.Context, work Work) (schedule.Result, error) {
	if len(work.Starts) == 0 || !s.record.Value.HasResult {
		return schedule.Result{}, nil
	}
	record, err := kv.Get(ctx, s.config.Store, kv.Result(s.key))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return schedule.Result{}, err
	}
	if record.Value.Incarnation != s.definition.Value.Incarnation {
		return schedule.Result{}, nil
	}
	return record.Value, nil
}

// start publishes one run to its task queue. A repeated one may have run meanwhile: its completion, which stays in the
// stream until it has been applied, says so.
func (s *session) start(ctx context.Context, start *schedule.BufferedStart, last schedule.Result, repeated bool) StartReport {
	report := StartReport{RequestID: start.RequestID, At: s.config.Now()}
	failed := func(err error) StartReport {
		report.Result, report.Reason = Failed, err.Error()
		return report
	}
	request := s.request(start, last, report.At)
	if repeated {
		over, err := s.completionWaits(ctx, request.Callback)
		if err != nil {
			return failed(err)
		}
		if over {
			report.Result = Over
			return report
		}
	}
	if err := s.armTimeout(ctx, &request); err != nil {
		return failed(err)
	}
	if err := s.publish(ctx, start, &request); err != nil {
		report.Result, report.Reason = s.judge(ctx, start, err)
	}
	report.At = s.config.Now()
	return report
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

// completionWaits reports whether the run has ended and its completion has not been applied yet.
func (s *session) completionWaits(ctx context.Context, callback string) (bool, error) {
	_, err := leader.Last(ctx, s.config.JS, s.config.Names.TaskStream(s.shard()), callback)
	if errors.Is(err, leader.ErrNone) {
		return false, nil
	}
	return err == nil, err
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

// judge turns the error of a publish into a result. The stream checks the expected sequence before it drops repeats, so
// an own earlier attempt is refused as well: the stored message tells.
func (s *session) judge(ctx context.Context, start *schedule.BufferedStart, err error) (Result, string) {
	if errors.Is(err, nats.ErrMaxPayload) {
		return Refused, "the request is larger than a NATS message may be"
	}
	if !isOccupied(err) {
		return Failed, err.Error()
	}
	d := &s.definition.Value
	subject := s.config.Names.Action(d.Namespace, start.TaskQueue, start.WorkflowID)
	stored, err := leader.Last(ctx, s.config.JS, s.config.Names.ActionStream(), subject)
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
	name := s.config.Names.ActionStream()
	stored, err := leader.Last(ctx, s.config.JS, name, s.config.Names.Action(s.key.Namespace, c.TaskQueue, c.WorkflowID))
	if errors.Is(err, leader.ErrNone) || err == nil && stored.Header.Get(jetstream.MsgIDHeader) != c.RequestID {
		return nil
	}
	if err != nil {
		return err
	}
	stream, err := s.config.JS.Stream(ctx, name)
	if err != nil {
		return err
	}
	err = stream.DeleteMsg(ctx, stored.Sequence)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	return err
}

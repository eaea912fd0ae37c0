package history

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	querypb "go.temporal.io/api/query/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// queryRound is how often a query looks again for a worker, or whether the first workflow task has been completed by another process.
	queryRound = 250 * time.Millisecond
	// workerQuery is how long a worker has for a query, before another worker gets it too.
	workerQuery = 5 * time.Second
)

// failing is from which attempt of a workflow task on queries are refused: the code of the workflow cannot answer.
const failing = 3

var (
	errClosedEarly = serviceerror.NewWorkflowNotReady("Workflow execution closed before WorkflowTaskStarted event")
	errSilent      = errors.New("history: a worker has not answered a query")
	errStops       = serviceerror.NewUnavailable("the process stops: try again")
	errFailing     = serviceerror.NewWorkflowNotReady("the workflow cannot be queried: its workflow task fails again and again")
)

// query is a query on its way.
type query struct {
	*Service
	key     schedule.Key
	request *workflowservice.QueryWorkflowRequest
	id      string
	answers chan *nats.Msg
}

// query asks a worker about a run. Nothing of it is stored.
func (s *Service) query(ctx context.Context, key schedule.Key, r *workflowservice.QueryWorkflowRequest) (proto.Message, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.open, cancel)()
	if s.open.Err() != nil {
		return nil, errStops // below, the query would begin, and end at some moment
	}
	of := s.slots.use(key, s.shardOf(key)) // so that the queries of one workflow do not fill the process
	if of == nil {
		return nil, errBusyWorkflow
	}
	defer s.slots.release(of, unchanged)
	q := &query{Service: s, key: key, request: r, id: s.config.NewID(), answers: make(chan *nats.Msg, 1)}
	run, err := q.ready(ctx)
	if err == nil || errors.Is(err, errClosedEarly) {
		if rejected := rejection(&run, r.GetQueryRejectCondition()); rejected != nil {
			return &workflowservice.QueryWorkflowResponse{QueryRejected: rejected}, nil
		}
	}
	if err != nil {
		return nil, q.explain(err)
	}
	answered, err := s.config.Conn.ChanQueueSubscribe(s.config.Names.QueryAnswer(key.Namespace, q.id), "", q.answers)
	if err != nil {
		return nil, err
	}
	defer s.config.Conn.Unsubscribe(answered)
	reply, err := q.ask(ctx, &run)
	if err != nil {
		return nil, q.explain(err)
	}
	return reply, nil
}

// ready waits until the run can be queried, and returns it as it is then. What it refers to may change. A query sees what was acknowledged
// before it came: it waits for the workflow task that handles that.
func (q *query) ready(ctx context.Context) (run execution.Run, err error) {
	runID, handled := q.request.GetExecution().GetRunId(), int64(0)
	for {
		var changed <-chan struct{}
		err := q.onRun(ctx, q.key, runID, func(of *slot, state *execution.State) error {
			run = *state.Run
			if of.changed == nil {
				of.changed = make(chan struct{})
			}
			changed = of.changed
			return nil
		})
		if err != nil {
			return run, err
		}
		if handled == 0 {
			runID, handled = run.ID, run.HandledBy()
		}
		if ready, err := canAnswer(&run, handled); ready || err != nil {
			return run, err
		}
		if err := awaitChange(ctx, changed); err != nil {
			return run, err
		}
	}
}

// canAnswer reports whether the code of a run can answer a query: it has completed the task that starts with the event handled, or a later
// one, or has nothing to do.
func canAnswer(run *execution.Run, handled int64) (ready bool, err error) {
	begun := run.LastStarted > 0
	switch {
	case !run.Open() && !begun:
		return false, errClosedEarly
	case !run.Open():
		return true, nil
	case run.Task.Scheduled > 0 && run.Task.Attempt >= failing:
		return false, errFailing
	}
	return begun && (run.Task.Scheduled == 0 || run.LastStarted >= handled), nil
}

// awaitChange waits for a change by this process, or for the time after which another process may have changed something.
func awaitChange(ctx context.Context, changed <-chan struct{}) error {
	timer := time.NewTimer(queryRound)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// rejection says whether a run in its state is not to be queried.
func rejection(run *execution.Run, condition enumspb.QueryRejectCondition) *querypb.QueryRejected {
	refused := false
	switch condition {
	case enumspb.QUERY_REJECT_CONDITION_NOT_OPEN:
		refused = !run.Open()
	case enumspb.QUERY_REJECT_CONDITION_NOT_COMPLETED_CLEANLY:
		refused = !run.Open() && run.Status != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	}
	if !refused {
		return nil
	}
	return &querypb.QueryRejected{Status: run.Status}
}

// ask asks the worker that has the run in its cache, and then any other.
func (q *query) ask(ctx context.Context, run *execution.Run) (proto.Message, error) {
	if run.Sticky.Queue != "" && run.Open() {
		sticky, cancel := context.WithTimeout(ctx, workerQuery)
		reply, err := q.askQueue(sticky, run, run.Sticky.Queue, true)
		cancel()
		if !errors.Is(err, offer.ErrNobody) && !errors.Is(err, errSilent) && !(errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil) {
			return reply, err
		}
	}
	for {
		reply, err := q.askQueue(ctx, run, run.Attributes.GetTaskQueue().GetName(), false)
		if errors.Is(err, errSilent) {
			continue // its answer still counts
		}
		if !errors.Is(err, offer.ErrNobody) {
			return reply, err
		}
		if err := sleep.For(ctx, queryRound); err != nil {
			return nil, err
		}
	}
}

// askQueue asks a worker that polls a queue.
func (q *query) askQueue(ctx context.Context, run *execution.Run, queue string, sticky bool) (proto.Message, error) {
	of := offer.Queue{Namespace: q.key.Namespace, Kind: offer.Workflow, Name: queue}
	poller, err := q.offers.Offer(ctx, of, workerQuery)
	if err != nil {
		return nil, err
	}
	q.offers.Count(of, subjects.PriorityOf(run.Attributes.GetPriority().GetPriorityKey()), 1, 1)
	data, err := q.task(ctx, run, sticky)
	if handErr := q.offers.Hand(context.WithoutCancel(ctx), poller, data); err == nil {
		err = handErr
	}
	if err != nil {
		return nil, err
	}
	var answer *nats.Msg
	patience := time.NewTimer(workerQuery)
	defer patience.Stop()
	select {
	case answer = <-q.answers:
	case <-patience.C:
		return nil, errSilent
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var completed workflowservice.RespondQueryTaskCompletedRequest
	if err := proto.Unmarshal(answer.Data, &completed); err != nil {
		return nil, serviceerror.NewInternal("the answer to the query cannot be read")
	}
	if completed.GetCompletedType() == enumspb.QUERY_RESULT_TYPE_FAILED {
		return nil, serviceerror.NewQueryFailedWithFailure(completed.GetErrorMessage(), completed.GetFailure())
	}
	return &workflowservice.QueryWorkflowResponse{QueryResult: completed.GetQueryResult()}, nil
}

// task is what the worker gets. The worker of the sticky queue has the history.
func (q *query) task(ctx context.Context, run *execution.Run, sticky bool) ([]byte, error) {
	token := execution.QueryToken{Namespace: q.key.Namespace, QueryID: q.id}
	task := &workflowservice.PollWorkflowTaskQueueResponse{
		TaskToken: token.Marshal(), WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: q.key.ID, RunId: run.ID},
		WorkflowType: run.Attributes.GetWorkflowType(), PreviousStartedEventId: run.LastStarted, Attempt: 1,
		Query: q.request.GetQuery(), WorkflowExecutionTaskQueue: run.Attributes.GetTaskQueue(), History: &historypb.History{},
	}
	if !sticky {
		err := q.onRun(ctx, q.key, run.ID, func(of *slot, state *execution.State) error {
			return q.fill(ctx, of, state, task, &execution.History{From: 1, To: state.Run.NextEvent - 1})
		})
		if err != nil {
			return nil, err
		}
	}
	return proto.Marshal(task)
}

// explain turns the end of the time into an error that says what was missing.
func (q *query) explain(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return serviceerror.NewDeadlineExceeded("no worker has answered the query in time")
	case errors.Is(err, context.Canceled):
		return errStops
	}
	return err
}

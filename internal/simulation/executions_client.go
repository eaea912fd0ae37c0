package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	querypb "go.temporal.io/api/query/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	requests "github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/subjects"
)

// operation is what a client asks about an execution, until it gets an answer.
type operation struct {
	verb, id string
	// name is different for each operation, and the ID of its request, unless it repeats that of another one.
	name     string
	repeats  *operation
	conflict enumspb.WorkflowIdConflictPolicy
	timeout  time.Duration
	// retried says that a run that fails is tried again.
	retried bool
	// run is the run that has taken an update.
	run string
	// err is the answer, and text the run ID that a start answers with, or what a query does.
	err      error
	answered bool
	text     string
	from, to time.Time
}

// clients arranges what clients ask: that each workflow starts, and then anything.
func (w *world) clients() {
	rng := rand.New(rand.NewPCG(w.seed, streamClients))
	for i := range w.plan.Executions {
		id, verb := fmt.Sprintf("w%d-%d", w.seed, i), subjects.VerbStart
		if rng.IntN(4) == 0 {
			verb = subjects.VerbStartScheduled
		}
		start := &operation{verb: verb, id: id, timeout: someTimeout(rng), retried: rng.IntN(2) == 0}
		w.operate(start, w.moment(between(rng, 0, w.plan.Duration/2)))
		w.finishFrom(id, w.moment(w.plan.Duration+time.Second))
	}
	verbs := []string{
		subjects.VerbSignal, subjects.VerbSignal, subjects.VerbSignal, subjects.VerbSignal, subjects.VerbSignalWithStart, subjects.VerbStart,
		subjects.VerbStart, subjects.VerbRequestCancel, subjects.VerbTerminate, subjects.VerbResetSticky, subjects.VerbQuery, subjects.VerbQuery,
		subjects.VerbReset, subjects.VerbReset, subjects.VerbDescribe, subjects.VerbHistory, subjects.VerbUpdate, subjects.VerbUpdate, subjects.VerbUpdate,
		subjects.VerbDelete, subjects.VerbDelete,
	}
	starts := map[string]*operation{}
	for range w.plan.Requests {
		op := &operation{
			verb: verbs[rng.IntN(len(verbs))], id: fmt.Sprintf("w%d-%d", w.seed, rng.IntN(w.plan.Executions)), timeout: someTimeout(rng),
			conflict: enumspb.WorkflowIdConflictPolicy(rng.IntN(4)),
		}
		if op.mayBeForChild() && rng.IntN(4) < op.forChildren() {
			hangs := rng.IntN(2) == 0 && op.verb != subjects.VerbReset // nobody ends one that is reset after its end
			op.id = (&childPlan{hangs: hangs}).workflowID(op.id, rng.IntN(3))
		}
		if op.verb == subjects.VerbStart && rng.IntN(2) == 0 {
			op.repeats = starts[op.id]
		}
		w.operate(op, w.moment(between(rng, 0, w.plan.Duration)))
		if op.verb == subjects.VerbStart {
			starts[op.id] = op
		}
	}
	w.activityOperations()
}

// forChildren is how many of four operations are for children: those that end one end no workflow that others need.
func (op *operation) forChildren() int {
	if op.verb == subjects.VerbTerminate || op.verb == subjects.VerbDelete {
		return 3
	}
	return 1
}

// mayBeForChild reports whether an operation begins no run: only parents start children.
func (op *operation) mayBeForChild() bool {
	return op.verb != subjects.VerbStart && op.verb != subjects.VerbSignalWithStart
}

// someTimeout draws the timeout of a run; 0 for none.
func someTimeout(rng *rand.Rand) time.Duration {
	if rng.IntN(5) > 0 {
		return 0
	}
	return between(rng, 2*time.Second, 40*time.Second)
}

// clientReady is when the client has begun.
const clientReady = 20 * time.Millisecond

// operate arranges that a client asks something at a time.
func (w *world) operate(op *operation, at time.Time) {
	op.name = fmt.Sprintf("%s-%d", op.verb, len(w.executions.asks))
	w.executions.asks = append(w.executions.asks, op)
	w.unanswered++
	w.at(at.Add(clientReady), func(now time.Time) {
		client := w.nodes[len(w.nodes)-1]
		op.from = now
		go func() {
			text, err := client.carryOut(op)
			client.note("answered "+op.name, func() {
				op.err, op.text, op.answered, op.to = err, text, true, time.Now()
				w.unanswered--
				w.unseen = true
			})
		}()
	})
}

// carryOut asks until there is an answer. The text is the run ID of a start, or what a query answers.
func (n *node) carryOut(op *operation) (text string, err error) {
	ctx := context.Background() //permit:context.Background the drain limit bounds it
	switch op.verb {
	case subjects.VerbStartScheduled:
		return "", n.startScheduled(ctx, op)
	case subjects.VerbStart:
		started := &workflowservice.StartWorkflowExecutionResponse{}
		err = n.insist(ctx, op.verb, op.id, op.start(), started, drainLimit)
		if op.repeats == nil { // a worker works on the first of two answers that bring the same task
			n.workAtOnce(ctx, started.GetEagerWorkflowTask())
		}
		return started.GetRunId(), err
	case subjects.VerbSignalWithStart:
		started := &workflowservice.SignalWithStartWorkflowExecutionResponse{}
		err = n.insist(ctx, op.verb, op.id, op.signalWithStart(), started, drainLimit)
		return started.GetRunId(), err
	case subjects.VerbUpdate:
		return n.update(ctx, op)
	case subjects.VerbReset:
		return n.reset(ctx, op)
	case subjects.VerbDelete:
		return n.delete(ctx, op)
	case subjects.VerbHistory:
		_, err = n.fetchHistory(ctx, &commonpb.WorkflowExecution{WorkflowId: op.id}, drainLimit)
		return "", err
	}
	request, response := op.request()
	err = n.insist(ctx, op.verb, op.id, request, response, op.patience())
	if queried, ok := response.(*workflowservice.QueryWorkflowResponse); ok {
		text = textOf(queried.GetQueryResult())
	}
	return text, err
}

// patience is how long a client asks again. A query may find no worker.
func (op *operation) patience() time.Duration {
	if op.verb == subjects.VerbQuery {
		return 5 * time.Second
	}
	return drainLimit
}

// request is the request about the newest run of a workflow, and a message for the answer.
func (op *operation) request() (request, response proto.Message) {
	execution := &commonpb.WorkflowExecution{WorkflowId: op.id}
	switch op.verb {
	case subjects.VerbSignal:
		return &workflowservice.SignalWorkflowExecutionRequest{
			Namespace: namespace, WorkflowExecution: execution, SignalName: op.name, RequestId: op.name,
		}, &workflowservice.SignalWorkflowExecutionResponse{}
	case subjects.VerbRequestCancel:
		return &workflowservice.RequestCancelWorkflowExecutionRequest{
			Namespace: namespace, WorkflowExecution: execution, RequestId: op.name,
		}, &workflowservice.RequestCancelWorkflowExecutionResponse{}
	case subjects.VerbTerminate:
		return &workflowservice.TerminateWorkflowExecutionRequest{Namespace: namespace, WorkflowExecution: execution},
			&workflowservice.TerminateWorkflowExecutionResponse{}
	case subjects.VerbResetSticky:
		return &workflowservice.ResetStickyTaskQueueRequest{Namespace: namespace, Execution: execution},
			&workflowservice.ResetStickyTaskQueueResponse{}
	case subjects.VerbQuery:
		return &workflowservice.QueryWorkflowRequest{
			Namespace: namespace, Execution: execution, Query: &querypb.WorkflowQuery{QueryType: "seen"},
		}, &workflowservice.QueryWorkflowResponse{}
	case subjects.VerbDescribe:
		return &workflowservice.DescribeWorkflowExecutionRequest{Namespace: namespace, Execution: execution},
			&workflowservice.DescribeWorkflowExecutionResponse{}
	}
	if request, response = op.activityRequest(); request != nil {
		return request, response
	}
	panic("simulation: no request for " + op.verb)
}

// requestID is the ID of the request.
func (op *operation) requestID() string {
	if op.repeats != nil {
		return op.repeats.requestID()
	}
	return op.name
}

func (op *operation) start() *workflowservice.StartWorkflowExecutionRequest {
	request := &workflowservice.StartWorkflowExecutionRequest{
		Namespace: namespace, WorkflowId: op.id, WorkflowType: &commonpb.WorkflowType{Name: "script"},
		TaskQueue: &taskqueuepb.TaskQueue{Name: taskQueue}, RequestId: op.requestID(), WorkflowIdConflictPolicy: op.conflict,
		RequestEagerExecution: diceFor("eager "+op.requestID()+op.id).IntN(3) == 0,
		Priority:              op.priority(),
	}
	if op.retried {
		request.RetryPolicy = &commonpb.RetryPolicy{InitialInterval: durationpb.New(500 * time.Millisecond), MaximumAttempts: 4}
	}
	if op.timeout > 0 {
		request.WorkflowRunTimeout = durationpb.New(op.timeout)
	}
	return request
}

// priority follows from the name, so that tasks of all priorities wait together.
func (op *operation) priority() *commonpb.Priority {
	key := 0
	for _, letter := range op.name {
		key += int(letter)
	}
	return &commonpb.Priority{PriorityKey: int32(key % (subjects.LastPriority + 1))}
}

func (op *operation) signalWithStart() *workflowservice.SignalWithStartWorkflowExecutionRequest {
	return &workflowservice.SignalWithStartWorkflowExecutionRequest{
		Namespace: namespace, WorkflowId: op.id, WorkflowType: &commonpb.WorkflowType{Name: "script"},
		TaskQueue: &taskqueuepb.TaskQueue{Name: taskQueue}, RequestId: op.name, SignalName: op.name,
	}
}

// startScheduled starts an execution as a schedule does, which is told how it ends.
func (n *node) startScheduled(ctx context.Context, op *operation) error {
	request, err := proto.Marshal(op.start())
	if err != nil {
		return err
	}
	callback, err := codec.Marshal(&wire.WorkflowCallback{ScheduleID: "s-" + op.id, TaskQueue: taskQueue, RequestID: op.name})
	if err != nil {
		return err
	}
	body, err := codec.Marshal(&wire.StartWorkflow{Request: request, RunID: "run-of-" + op.name, Callback: callback})
	if err != nil {
		return err
	}
	key := aboutExecution(op.id)
	shard := subjects.ShardOf(key, shards)
	return n.persist(ctx, drainLimit, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		return requests.AskBytes(ctx, n.owners.For(key), n.world.names.Execution(shard, namespace, op.verb), body, nil)
	})
}

// finishFrom brings a workflow to its end when all operations have been answered, but not before a time: it gets the signals that it may wait
// for. Everything else must go on by itself, for nobody asks about the workflow until it has ended.
func (w *world) finishFrom(id string, at time.Time) {
	w.unanswered++
	w.at(at, func(now time.Time) {
		w.unanswered--
		if slices.ContainsFunc(w.executions.asks, func(op *operation) bool { return !op.answered }) {
			w.finishFrom(id, now.Add(time.Second))
			return
		}
		w.unseen, w.executions.finishing[id] = true, true
		for _, run := range w.executions.runsOf(id) {
			w.finish(id, run, now)
		}
	})
}

// finish sends the signals that a run may wait for, and lets its activities go on, or compares it if it has ended.
func (w *world) finish(id string, run *executionRun, now time.Time) {
	if run.ended {
		w.compareFrom(id, run, now.Add(time.Second))
		return
	}
	w.operate(&operation{verb: subjects.VerbUnpauseActivity, id: id}, now)
	for range scriptOf(id).signals() {
		w.operate(&operation{verb: subjects.VerbSignal, id: id}, now)
	}
}

// compareFrom compares what history says about a run that has ended with its journal, at a time.
func (w *world) compareFrom(id string, run *executionRun, at time.Time) {
	w.unanswered++
	w.at(at, func(time.Time) {
		client := w.nodes[len(w.nodes)-1]
		go func() {
			client.compare(context.Background(), id, run) //permit:context.Background the drain limit bounds it
			client.note("compared "+run.id, func() {
				w.unanswered--
				w.unseen = true
			})
		}()
	})
}

// compare compares what history says about a run that has ended with its journal.
func (n *node) compare(ctx context.Context, id string, run *executionRun) {
	of, asked := &commonpb.WorkflowExecution{WorkflowId: id, RunId: run.id}, time.Now()
	var described workflowservice.DescribeWorkflowExecutionResponse
	err := n.insist(ctx, subjects.VerbDescribe, id, &workflowservice.DescribeWorkflowExecutionRequest{Namespace: namespace, Execution: of}, &described, drainLimit)
	events, failed := n.fetchHistory(ctx, of, drainLimit)
	n.note("compare "+run.id, func() {
		if n.world.executions.checkThere(id, run, asked, err, failed); err != nil || failed != nil {
			return
		}
		if got, want := described.GetWorkflowExecutionInfo().GetHistoryLength(), int64(len(run.events)); got != want {
			n.world.ledger.find("replay", id, "run %s has %d events by its description, and %d in the journal", run.id, got, want)
		}
		if !sameEvents(events, run.events) {
			n.world.ledger.find("replay", id, "the history of run %s is not what the journal has", run.id)
		}
	})
}

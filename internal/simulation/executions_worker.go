package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/execution"
	requests "github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/subjects"
)

// flowWorker is a worker of Temporal's SDK and the gateway before it, in one process: the real polls of a gateway, and a model of the worker.
// It has the runs in its cache, answers over a sticky queue, and asks for the history that it lacks.
type flowWorker struct {
	*node
	polls  *offer.Polls
	sticky string

	eager sync.WaitGroup // of the activities that came with answers

	mu sync.Mutex
	// cache has the history of runs up to the start of the last workflow task that the worker has completed.
	cache map[string][]*historypb.HistoryEvent
}

const (
	// pollTime is how long a poll waits.
	pollTime = 20 * time.Second
	// stickyTime is how long a task may wait on a sticky queue.
	stickyTime = 5 * time.Second
	// pollsOfAKind is how many polls of each kind a worker has.
	pollsOfAKind = 2
)

func (n *node) newFlowWorker() *flowWorker {
	return &flowWorker{node: n, sticky: fmt.Sprintf("sticky-%d", n.birth), cache: map[string][]*historypb.HistoryEvent{}}
}

// serveExecutions is the program of the process.
func (n *node) serveExecutions(ctx context.Context) {
	w := n.newFlowWorker()
	var err error
	w.polls, err = offer.NewPolls(offer.Config{
		Conn: n, Names: n.world.names, Logger: slog.New(slog.DiscardHandler), Now: n.now, NewID: n.newID,
	})
	if err != nil {
		panic(err) // the configuration is ours
	}
	var running sync.WaitGroup
	defer w.eager.Wait()
	defer running.Wait()
	running.Go(func() { _ = w.polls.Run(ctx) })
	queues := []polled{
		{offer.Queue{Namespace: namespace, Kind: offer.Workflow, Name: taskQueue}, w.workflowTask},
		{offer.Queue{Namespace: namespace, Kind: offer.Workflow, Name: w.sticky}, w.workflowTask},
		{offer.Queue{Namespace: namespace, Kind: offer.Activity, Name: taskQueue}, w.activityTask},
	}
	for i := range pollsOfAKind * len(queues) {
		running.Go(func() {
			// Two polls that begin or end at the same moment would be in any order.
			apart := time.Duration(1+i) * 1009 * time.Microsecond
			if sleep.For(ctx, apart) == nil {
				w.poll(ctx, queues[i%len(queues)], pollTime+apart)
			}
		})
	}
}

// workAtOnce works on the first task of a run that a client has started, and on those that come in the answers; there may be none. The client has a
// worker that nobody else gives tasks to, so those for its sticky queue go to others after a while.
func (n *node) workAtOnce(ctx context.Context, task *workflowservice.PollWorkflowTaskQueueResponse) {
	w := n.newFlowWorker()
	defer w.eager.Wait()
	for task != nil {
		task = w.workOn(ctx, task)
	}
}

// polled is a queue that a worker polls, and what it does with the tasks.
type polled struct {
	queue offer.Queue
	work  func(ctx context.Context, task []byte)
}

// poll polls a queue until ctx ends.
func (w *flowWorker) poll(ctx context.Context, of polled, limit time.Duration) {
	for ctx.Err() == nil && !w.Closed() {
		waiting, cancel := context.WithTimeout(ctx, limit)
		data, err := w.polls.Wait(waiting, of.queue, offer.Poller{Identity: w.name})
		cancel()
		switch {
		case err != nil:
			_ = sleep.For(ctx, limit/20)
		case data != nil:
			of.work(ctx, data)
		}
	}
}

// answerTime is how long who asks history waits for an answer.
const answerTime = 10 * time.Second

// request asks history about a workflow ID.
func (n *node) request(ctx context.Context, verb, workflowID string, request, response proto.Message) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	key := aboutExecution(workflowID)
	shard := subjects.ShardOf(key, shards)
	return requests.Ask(ctx, n.owners.For(key), n.world.names.Execution(shard, namespace, verb), request, response)
}

// insist repeats a request until it has an answer that says something, or patience is over.
func (n *node) insist(ctx context.Context, verb, workflowID string, request, response proto.Message, patience time.Duration) error {
	return n.persist(ctx, patience, func(ctx context.Context) error { return n.request(ctx, verb, workflowID, request, response) })
}

// persist does something until it has an answer that says something, or patience is over.
func (n *node) persist(ctx context.Context, patience time.Duration, do func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err = do(ctx)
		if !isUnsure(err) || n.Closed() || sleep.For(ctx, 100*time.Millisecond) != nil {
			return err
		}
	}
}

// isUnsure reports whether an error says that it may be worth trying again.
func isUnsure(err error) bool {
	_, unavailable := errors.AsType[*serviceerror.Unavailable](err)
	_, late := errors.AsType[*serviceerror.DeadlineExceeded](err)
	_, busy := errors.AsType[*serviceerror.ResourceExhausted](err)
	_, gone := errors.AsType[*serviceerror.Canceled](err)
	_, internal := errors.AsType[*serviceerror.Internal](err)
	return unavailable || late || busy || gone || internal
}

// workflowTask works on a workflow task, and on those that come in the answers.
func (w *flowWorker) workflowTask(ctx context.Context, data []byte) {
	task := &workflowservice.PollWorkflowTaskQueueResponse{}
	if err := proto.Unmarshal(data, task); err != nil {
		w.find("task", "", "%v", err)
		return
	}
	for task != nil && ctx.Err() == nil {
		if task.GetQuery() != nil {
			w.answer(ctx, task)
			return
		}
		task = w.workOn(ctx, task)
	}
}

// workOn works on a workflow task, and returns the next one if there is one in the answer.
func (w *flowWorker) workOn(ctx context.Context, task *workflowservice.PollWorkflowTaskQueueResponse) *workflowservice.PollWorkflowTaskQueueResponse {
	id, run := task.GetWorkflowExecution().GetWorkflowId(), task.GetWorkflowExecution().GetRunId()
	dice := diceFor(string(task.GetTaskToken()))
	w.note("task 1 begins "+string(task.GetTaskToken()), func() { w.world.executions.beginTask(w.node, task) })
	events, err := w.events(ctx, task)
	switch {
	case err != nil || dice.IntN(40) == 0:
		return nil // it takes too long
	case dice.IntN(40) == 0:
		w.forget(run)
		_ = w.insist(ctx, subjects.VerbFailWorkflowTask, id, &workflowservice.RespondWorkflowTaskFailedRequest{
			Namespace: namespace, TaskToken: task.GetTaskToken(), Identity: w.name, Failure: &failurepb.Failure{Message: "broken"},
		}, nil, pollTime)
		return nil
	}
	w.remember(run, events) // a query may come before the answer to the completion
	response, completion := &workflowservice.RespondWorkflowTaskCompletedResponse{}, w.completion(task, events)
	w.signalItself(ctx, task, completion)
	if w.insist(ctx, subjects.VerbCompleteWorkflowTask, id, completion, response, pollTime) != nil {
		w.forget(run)
		return nil
	}
	for _, activity := range response.GetActivityTasks() {
		w.eager.Go(func() { w.workOnActivity(ctx, activity) })
	}
	if back := response.GetResetHistoryEventId(); back > 0 { // the task is not in the history
		events = events[:back]
		w.remember(run, events)
	}
	w.note("task 2 ends "+string(task.GetTaskToken()), func() { w.world.executions.endTask(id, run, events) })
	return response.GetWorkflowTask()
}

// completion is the result of a workflow task.
func (w *flowWorker) completion(
	task *workflowservice.PollWorkflowTaskQueueResponse, events []*historypb.HistoryEvent,
) *workflowservice.RespondWorkflowTaskCompletedRequest {
	id := task.GetWorkflowExecution().GetWorkflowId()
	if last := events[len(events)-1]; last.GetEventId() != task.GetStartedEventId() {
		w.find("task", id, "the history of a task ends with event %d, and not with %d", last.GetEventId(), task.GetStartedEventId())
	}
	messages, commands := answerUpdates(task, events)
	return &workflowservice.RespondWorkflowTaskCompletedRequest{
		Namespace: namespace, TaskToken: task.GetTaskToken(), Identity: w.name, ReturnNewWorkflowTask: true, Messages: messages,
		Commands: append(commands, scriptOf(id).decide(events)...),
		StickyAttributes: &taskqueuepb.StickyExecutionAttributes{
			WorkerTaskQueue: &taskqueuepb.TaskQueue{
				Name: w.sticky, Kind: enumspb.TASK_QUEUE_KIND_STICKY, NormalName: taskQueue,
			},
			ScheduleToStartTimeout: durationpb.New(stickyTime),
		},
	}
}

func (w *flowWorker) forget(run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.cache, run)
}

func (w *flowWorker) remember(run string, events []*historypb.HistoryEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cache[run] = events
}

func (w *flowWorker) cached(run string) []*historypb.HistoryEvent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cache[run]
}

// events returns the history of a task from its beginning.
func (w *flowWorker) events(ctx context.Context, task *workflowservice.PollWorkflowTaskQueueResponse) ([]*historypb.HistoryEvent, error) {
	given := task.GetHistory().GetEvents()
	known := w.cached(task.GetWorkflowExecution().GetRunId())
	switch {
	case len(given) > 0 && given[0].GetEventId() == 1 && len(task.GetNextPageToken()) == 0:
		return given, nil
	case len(given) > 0 && len(known) > 0 && given[0].GetEventId() == known[len(known)-1].GetEventId()+1:
		return append(known[:len(known):len(known)], given...), nil
	}
	all, err := w.fetchHistory(ctx, task.GetWorkflowExecution(), pollTime)
	// The events of an attempt that is in nobody's history yet are only in the task.
	for _, event := range given {
		if err == nil && event.GetEventId() == int64(len(all))+1 {
			all = append(all, event)
		}
	}
	if most := task.GetStartedEventId(); err == nil && int64(len(all)) > most {
		all = all[:most]
	}
	return all, err
}

// fetchHistory asks history for all events of a run, in pages.
func (n *node) fetchHistory(ctx context.Context, of *commonpb.WorkflowExecution, patience time.Duration) (all []*historypb.HistoryEvent, err error) {
	var token []byte
	for {
		var page workflowservice.GetWorkflowExecutionHistoryResponse
		err := n.insist(ctx, subjects.VerbHistory, of.GetWorkflowId(), &workflowservice.GetWorkflowExecutionHistoryRequest{
			Namespace: namespace, Execution: of, NextPageToken: token, MaximumPageSize: 7,
		}, &page, patience)
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetHistory().GetEvents()...)
		if token = page.GetNextPageToken(); len(token) == 0 {
			return all, nil
		}
	}
}

// answer answers a query: how many signals the workflow has seen.
func (w *flowWorker) answer(ctx context.Context, task *workflowservice.PollWorkflowTaskQueueResponse) {
	token, err := execution.ParseQueryToken(task.GetTaskToken())
	if err != nil {
		w.find("task", "", "the token of a query: %v", err)
		return
	}
	events := w.cached(task.GetWorkflowExecution().GetRunId())
	if given := task.GetHistory().GetEvents(); len(given) > 0 {
		events = given
	}
	if len(events) == 0 { // it has forgotten the run
		if events, err = w.fetchHistory(ctx, task.GetWorkflowExecution(), pollTime); err != nil {
			return
		}
	}
	seen := readHistory(events)
	data, err := proto.Marshal(&workflowservice.RespondQueryTaskCompletedRequest{
		Namespace: namespace, TaskToken: task.GetTaskToken(), CompletedType: enumspb.QUERY_RESULT_TYPE_ANSWERED,
		QueryResult: seen.result(),
	})
	if err == nil && ctx.Err() == nil {
		_ = w.PublishMsg(&nats.Msg{Subject: w.world.names.QueryAnswer(namespace, token.QueryID), Data: data})
	}
}

// activityTask works on an activity task.
func (w *flowWorker) activityTask(ctx context.Context, data []byte) {
	task := &workflowservice.PollActivityTaskQueueResponse{}
	if err := proto.Unmarshal(data, task); err != nil {
		w.find("task", "", "%v", err)
		return
	}
	w.workOnActivity(ctx, task)
}

// workOnActivity works on an attempt of an activity.
func (w *flowWorker) workOnActivity(ctx context.Context, task *workflowservice.PollActivityTaskQueueResponse) {
	token, err := execution.ParseToken(task.GetTaskToken())
	if err != nil {
		w.find("task", "", "the token of an activity: %v", err)
		return
	}
	id := task.GetWorkflowExecution().GetWorkflowId()
	w.note(fmt.Sprintf("activity 1 begins %s %s %d", id, task.GetActivityId(), task.GetAttempt()), func() {
		w.world.executions.beginAttempt(w.node, &token)
	})
	plan := scriptOf(id).planOf(task.GetActivityId())
	fails := int(task.GetAttempt()) <= plan.failures
	if fails && plan.silent && task.GetAttempt() == 1 {
		return
	}
	canceled, there := w.takeTime(ctx, task, plan)
	switch {
	case !there:
	case canceled:
		_ = w.insist(ctx, subjects.VerbCancelActivity, id, &workflowservice.RespondActivityTaskCanceledRequest{
			Namespace: namespace, TaskToken: task.GetTaskToken(), Identity: w.name,
		}, nil, pollTime)
	default:
		w.report(ctx, task, &token, fails)
	}
}

// report says how an attempt of an activity ended.
func (w *flowWorker) report(ctx context.Context, task *workflowservice.PollActivityTaskQueueResponse, token *execution.Token, fails bool) {
	id := task.GetWorkflowExecution().GetWorkflowId()
	if fails {
		_ = w.insist(ctx, subjects.VerbFailActivity, id, &workflowservice.RespondActivityTaskFailedRequest{
			Namespace: namespace, TaskToken: task.GetTaskToken(), Identity: w.name, Failure: &failurepb.Failure{Message: task.GetActivityId()},
		}, nil, pollTime)
		return
	}
	result := fmt.Sprintf("%s by attempt %d", task.GetActivityId(), task.GetAttempt())
	err := w.insist(ctx, subjects.VerbCompleteActivity, id, &workflowservice.RespondActivityTaskCompletedRequest{
		Namespace: namespace, TaskToken: task.GetTaskToken(), Identity: w.name, Result: payloadOf(result),
	}, nil, pollTime)
	if err == nil {
		w.note(fmt.Sprintf("activity 2 done %s %s", id, result), func() { w.world.executions.completed(token, result) })
	}
}

// takeTime lets an attempt last, and reports its progress if it has to. It reports whether the attempt has been asked to end, and whether the
// worker is still there.
func (w *flowWorker) takeTime(ctx context.Context, task *workflowservice.PollActivityTaskQueueResponse, plan activityPlan) (canceled, there bool) {
	left := plan.lasts
	for plan.beats && left > beatTime/2 {
		if sleep.For(ctx, beatTime/2) != nil {
			return false, false
		}
		left -= beatTime / 2
		response := &workflowservice.RecordActivityTaskHeartbeatResponse{}
		_ = w.request(ctx, subjects.VerbHeartbeatActivity, task.GetWorkflowExecution().GetWorkflowId(),
			&workflowservice.RecordActivityTaskHeartbeatRequest{
				Namespace: namespace, TaskToken: task.GetTaskToken(), Identity: w.name, Details: payloadOf(left.String()),
			}, response)
		if response.GetCancelRequested() {
			return true, true
		}
	}
	return false, sleep.For(ctx, left) == nil && !w.Closed()
}

package history

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	querypb "go.temporal.io/api/query/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/eventpage"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestSignals: a signal wakes the workflow, and a repeat does nothing. Whoever signals with a start begins a run at most once.
func TestSignals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	request := &workflowservice.SignalWithStartWorkflowExecutionRequest{
		Namespace: space, WorkflowId: "w", WorkflowType: &commonpb.WorkflowType{Name: "greet"},
		TaskQueue: &taskqueuepb.TaskQueue{Name: queue}, RequestId: "1", SignalName: "first",
	}
	for i, started := range []bool{true, false} {
		got, err := ask[workflowservice.SignalWithStartWorkflowExecutionResponse](b, subjects.VerbSignalWithStart, "w", request)
		require.NoError(t, err)
		require.Equal(t, started, got.Started, i)
	}
	b.complete(b.pollWorkflow())
	for range 2 {
		b.signal("w", "2")
	}
	task := b.pollWorkflow()
	require.Equal(t, []enumspb.EventType{
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
		enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED, enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
		enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED,
	}, types(t, task.History.Events))
}

func (b *bundle) signal(id, requestID string) {
	b.Helper()
	_, err := ask[workflowservice.SignalWorkflowExecutionResponse](b, subjects.VerbSignal, id, &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: space, WorkflowExecution: b.execution(id, ""), SignalName: "s", RequestId: requestID,
	})
	require.NoError(b, err)
}

// TestEnds: a run can be asked to end, and ended. The workflow ID is free afterwards, and the run before can still be read.
func TestEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	first := b.start("w")
	_, err := ask[workflowservice.StartWorkflowExecutionResponse](b, subjects.VerbStart, "w", func() *workflowservice.StartWorkflowExecutionRequest {
		r := startRequest("w")
		r.RequestId = "another"
		return r
	}())
	var already *serviceerror.WorkflowExecutionAlreadyStarted
	require.ErrorAs(t, err, &already)
	require.Equal(t, first, already.RunId)

	_, err = ask[workflowservice.RequestCancelWorkflowExecutionResponse](b, subjects.VerbRequestCancel, "w",
		&workflowservice.RequestCancelWorkflowExecutionRequest{Namespace: space, WorkflowExecution: b.execution("w", ""), RequestId: "c"})
	require.NoError(t, err)
	require.True(t, b.describe("w", "").WorkflowExtendedInfo.CancelRequested)
	_, err = ask[workflowservice.TerminateWorkflowExecutionResponse](b, subjects.VerbTerminate, "w",
		&workflowservice.TerminateWorkflowExecutionRequest{Namespace: space, WorkflowExecution: b.execution("w", first)})
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, b.describe("w", "").WorkflowExecutionInfo.Status)

	again := startRequest("w")
	again.RequestId = "again"
	second, err := ask[workflowservice.StartWorkflowExecutionResponse](b, subjects.VerbStart, "w", again)
	require.NoError(t, err)
	require.NotEqual(t, first, second.RunId)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, b.describe("w", "").WorkflowExecutionInfo.Status)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, b.describe("w", first).WorkflowExecutionInfo.Status)
	for runID, want := range map[string]string{first: "workflow execution already completed", uuid.NewString(): "workflow not found for ID: w"} {
		_, terminated := ask[workflowservice.TerminateWorkflowExecutionResponse](b, subjects.VerbTerminate, "w",
			&workflowservice.TerminateWorkflowExecutionRequest{Namespace: space, WorkflowExecution: b.execution("w", runID)})
		_, canceled := ask[workflowservice.RequestCancelWorkflowExecutionResponse](b, subjects.VerbRequestCancel, "w",
			&workflowservice.RequestCancelWorkflowExecutionRequest{Namespace: space, WorkflowExecution: b.execution("w", runID)})
		_, signaled := ask[workflowservice.SignalWorkflowExecutionResponse](b, subjects.VerbSignal, "w",
			&workflowservice.SignalWorkflowExecutionRequest{Namespace: space, WorkflowExecution: b.execution("w", runID), SignalName: "s"})
		for _, err := range []error{terminated, canceled, signaled} {
			require.ErrorAs(t, err, new(*serviceerror.NotFound))
			require.EqualError(t, err, want)
		}
	}
	old := types(t, b.events("w", first, 2))
	require.Equal(t, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, old[len(old)-1])
	require.Len(t, b.events("w", second.RunId, 0), 2)
	_, err = ask[workflowservice.DescribeWorkflowExecutionResponse](b, subjects.VerbDescribe, "w",
		&workflowservice.DescribeWorkflowExecutionRequest{Namespace: space, Execution: b.execution("w", "00000000-0000-0000-0000-000000000000")})
	require.ErrorAs(t, err, new(*serviceerror.NotFound))
	b.settled()
}

// TestResult: whoever awaits the end of a run gets a token until then, and the last event afterwards.
func TestResult(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	runID := b.start("w")
	request := &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: space, Execution: b.execution("w", ""), WaitNewEvent: true,
		HistoryEventFilterType: enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT,
	}
	got, err := ask[workflowservice.GetWorkflowExecutionHistoryResponse](b, subjects.VerbHistory, "w", request)
	require.NoError(t, err)
	require.Empty(t, got.History.Events)
	require.NotEmpty(t, got.NextPageToken)
	all := proto.CloneOf(request)
	all.HistoryEventFilterType = enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT
	follow, err := ask[workflowservice.GetWorkflowExecutionHistoryResponse](b, subjects.VerbHistory, "w", all)
	require.NoError(t, err)
	require.Len(t, follow.History.Events, 2)
	all.NextPageToken = follow.NextPageToken
	follow, err = ask[workflowservice.GetWorkflowExecutionHistoryResponse](b, subjects.VerbHistory, "w", all)
	require.NoError(t, err)
	require.Empty(t, follow.History.Events, "nothing is new")

	b.complete(b.pollWorkflow(), end())
	request.NextPageToken = got.NextPageToken
	got, err = ask[workflowservice.GetWorkflowExecutionHistoryResponse](b, subjects.VerbHistory, "w", request)
	require.NoError(t, err)
	require.Empty(t, got.NextPageToken)
	require.Len(t, got.History.Events, 1)
	require.Equal(t, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, got.History.Events[0].EventType)
	all.NextPageToken = follow.NextPageToken
	follow, err = ask[workflowservice.GetWorkflowExecutionHistoryResponse](b, subjects.VerbHistory, "w", all)
	require.NoError(t, err)
	require.Len(t, follow.History.Events, 3)
	require.Empty(t, follow.NextPageToken)

	for name, change := range map[string]func(*workflowservice.GetWorkflowExecutionHistoryRequest){
		"garbage": func(r *workflowservice.GetWorkflowExecutionHistoryRequest) { r.NextPageToken = []byte("x") },
		"another run": func(r *workflowservice.GetWorkflowExecutionHistoryRequest) {
			r.Execution.RunId = "other"
			r.NextPageToken = eventpage.Token{RunID: runID, Next: 1}.Marshal()
		},
		"no event": func(r *workflowservice.GetWorkflowExecutionHistoryRequest) {
			r.NextPageToken = eventpage.Token{RunID: runID}.Marshal()
		},
	} {
		bad := proto.CloneOf(all)
		change(bad)
		_, err = ask[workflowservice.GetWorkflowExecutionHistoryResponse](b, subjects.VerbHistory, "w", bad)
		require.ErrorAs(t, err, new(*serviceerror.InvalidArgument), name)
	}
	b.requireSameBack("w", runID, 0, 1, 2, 3, 100)
	for _, bad := range [][]byte{[]byte("x"), eventpage.Token{RunID: "other", Next: 1}.Marshal(), eventpage.Token{RunID: runID}.Marshal()} {
		_, err = ask[workflowservice.GetWorkflowExecutionHistoryReverseResponse](b, subjects.VerbHistoryReverse, "w",
			&workflowservice.GetWorkflowExecutionHistoryReverseRequest{Namespace: space, Execution: b.execution("w", runID), NextPageToken: bad})
		require.ErrorAs(t, err, new(*serviceerror.InvalidArgument))
	}
	back, err := ask[workflowservice.GetWorkflowExecutionHistoryReverseResponse](b, subjects.VerbHistoryReverse, "w",
		&workflowservice.GetWorkflowExecutionHistoryReverseRequest{
			Namespace: space, Execution: b.execution("w", ""), NextPageToken: eventpage.Token{RunID: runID, Next: 1 << 60}.Marshal(),
		})
	require.NoError(t, err)
	require.Len(t, back.History.Events, 5, "from the end on")
	far := proto.CloneOf(all)
	far.NextPageToken = eventpage.Token{RunID: runID, Next: 1 << 60, Sequence: 1 << 60}.Marshal()
	got, err = ask[workflowservice.GetWorkflowExecutionHistoryResponse](b, subjects.VerbHistory, "w", far)
	require.NoError(t, err)
	require.Empty(t, got.History.Events)
}

// TestActivities: an activity fails and comes again; it sends heartbeats, which the next attempt gets; it can be ended by its ID.
func TestActivities(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	b.start("w")
	b.complete(b.pollWorkflow(), activity("a", func(a *commandpb.ScheduleActivityTaskCommandAttributes) {
		a.RetryPolicy = &commonpb.RetryPolicy{InitialInterval: durationpb.New(50 * time.Millisecond)}
		a.HeartbeatTimeout = durationpb.New(time.Minute)
	}))
	task := b.pollActivity()
	details := &commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: []byte("half")}}}
	_, err := ask[workflowservice.RecordActivityTaskHeartbeatResponse](b, subjects.VerbHeartbeatActivity, "w",
		&workflowservice.RecordActivityTaskHeartbeatRequest{Namespace: space, TaskToken: task.TaskToken, Details: details})
	require.NoError(t, err)
	require.True(t, proto.Equal(details, b.describe("w", "").PendingActivities[0].HeartbeatDetails))
	_, err = ask[workflowservice.RespondActivityTaskFailedResponse](b, subjects.VerbFailActivity, "w",
		&workflowservice.RespondActivityTaskFailedRequest{Namespace: space, TaskToken: task.TaskToken, Failure: &failurepb.Failure{Message: "no"}})
	require.NoError(t, err)
	task = b.pollActivity()
	require.EqualValues(t, 2, task.Attempt)
	require.True(t, proto.Equal(details, task.HeartbeatDetails))
	_, err = ask[workflowservice.RespondActivityTaskCanceledResponse](b, subjects.VerbCancelActivity, "w",
		&workflowservice.RespondActivityTaskCanceledRequest{Namespace: space, TaskToken: task.TaskToken})
	require.ErrorAs(t, err, new(*serviceerror.InvalidArgument), "nobody asked for it")
	_, err = ask[workflowservice.RecordActivityTaskHeartbeatByIdResponse](b, subjects.VerbHeartbeatActivityByID, "w",
		&workflowservice.RecordActivityTaskHeartbeatByIdRequest{Namespace: space, WorkflowId: "w", ActivityId: "a"})
	require.NoError(t, err)
	_, err = ask[workflowservice.RespondActivityTaskCompletedByIdResponse](b, subjects.VerbCompleteActivityByID, "w",
		&workflowservice.RespondActivityTaskCompletedByIdRequest{Namespace: space, WorkflowId: "w", ActivityId: "a"})
	require.NoError(t, err)
	b.complete(b.pollWorkflow(), end())
	b.settled()
}

// TestFailedTask: a failed workflow task comes again. Its second attempt is at the end of the history that others read, and not in the journal.
func TestFailedTask(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	b.start("w")
	task := b.pollWorkflow()
	b.failWorkflowTask(task)
	again := b.pollWorkflow()
	require.EqualValues(t, 2, again.Attempt)
	require.Len(t, again.History.Events, 6)
	require.Len(t, b.events("w", "", 3), 6)
	_, err := ask[workflowservice.RespondWorkflowTaskCompletedResponse](b, subjects.VerbCompleteWorkflowTask, "w",
		&workflowservice.RespondWorkflowTaskCompletedRequest{Namespace: space, TaskToken: task.TaskToken})
	require.ErrorAs(t, err, new(*serviceerror.NotFound), "the first attempt is over")
	b.complete(again, end())
}

// failWorkflowTask says that the code of the workflow failed.
func (b *bundle) failWorkflowTask(task *workflowservice.PollWorkflowTaskQueueResponse) {
	b.Helper()
	_, err := ask[workflowservice.RespondWorkflowTaskFailedResponse](b, subjects.VerbFailWorkflowTask,
		task.GetWorkflowExecution().GetWorkflowId(),
		&workflowservice.RespondWorkflowTaskFailedRequest{Namespace: space, TaskToken: task.TaskToken, Failure: &failurepb.Failure{Message: "bug"}})
	require.NoError(b, err)
}

// TestSticky: the worker that has the execution gets the next task, with the events that it does not have. If it is gone, any worker gets the
// whole history.
func TestSticky(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	b.start("w")
	sticky := func(task *workflowservice.PollWorkflowTaskQueueResponse, returnNew bool) *workflowservice.RespondWorkflowTaskCompletedResponse {
		got, err := ask[workflowservice.RespondWorkflowTaskCompletedResponse](b, subjects.VerbCompleteWorkflowTask, "w",
			&workflowservice.RespondWorkflowTaskCompletedRequest{
				Namespace: space, TaskToken: task.TaskToken, ReturnNewWorkflowTask: returnNew, ForceCreateNewWorkflowTask: returnNew,
				StickyAttributes: &taskqueuepb.StickyExecutionAttributes{
					WorkerTaskQueue:        &taskqueuepb.TaskQueue{Name: "own", Kind: enumspb.TASK_QUEUE_KIND_STICKY, NormalName: queue},
					ScheduleToStartTimeout: durationpb.New(5 * time.Second),
				},
			})
		require.NoError(t, err)
		return got
	}
	next := sticky(b.pollWorkflow(), true).WorkflowTask
	require.NotNil(t, next)
	require.Equal(t, []int64{4, 5, 6}, ids(next))
	sticky(next, false)
	came := make(chan *workflowservice.PollWorkflowTaskQueueResponse)
	go func() { came <- poll[workflowservice.PollWorkflowTaskQueueResponse](b, offer.Workflow, "own") }()
	b.awaitPoll("own")
	b.signal("w", "1")
	task := <-came
	require.Equal(t, []int64{7, 8, 9, 10}, ids(task))
	sticky(task, false)
	_, err := ask[workflowservice.ResetStickyTaskQueueResponse](b, subjects.VerbResetSticky, "w",
		&workflowservice.ResetStickyTaskQueueRequest{Namespace: space, Execution: b.execution("w", "")})
	require.NoError(t, err)
	b.signal("w", "2")
	require.EqualValues(t, 1, ids(b.pollWorkflow())[0])
}

func ids(task *workflowservice.PollWorkflowTaskQueueResponse) (all []int64) {
	for _, event := range task.History.Events {
		all = append(all, event.EventId)
	}
	return all
}

// TestQuery: a query waits for the first workflow task, and is then answered by a worker, also after the end of the run.
func TestQuery(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	b.start("w")
	request := &workflowservice.QueryWorkflowRequest{
		Namespace: space, Execution: b.execution("w", ""), Query: &querypb.WorkflowQuery{QueryType: "state"},
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	subject := b.names.Execution(subjects.ShardOf(b.key("w"), b.facts.Shards), space, subjects.VerbQuery)
	err := call.Ask(ctx, b.conn, subject, request, &workflowservice.QueryWorkflowResponse{})
	require.ErrorAs(t, err, new(*serviceerror.DeadlineExceeded))

	answers := make(chan *workflowservice.QueryWorkflowResponse, 1)
	query := func() {
		got, err := ask[workflowservice.QueryWorkflowResponse](b, subjects.VerbQuery, "w", request)
		if err != nil {
			t.Error(err)
		}
		answers <- got
	}
	go query()
	b.complete(b.pollWorkflow())
	require.Equal(t, "fine", string(b.answerQueries(3+1, answers).GetQueryResult().GetPayloads()[0].GetData()))
	b.signal("w", "1")
	b.complete(b.pollWorkflow(), end())
	go query()
	require.Equal(t, "fine", string(b.answerQueries(9, answers).GetQueryResult().GetPayloads()[0].GetData()))

	request.QueryRejectCondition = enumspb.QUERY_REJECT_CONDITION_NOT_OPEN
	go query()
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, (<-answers).QueryRejected.Status)
}

// TestQuerySeesWhatCameBefore: a query that follows an acknowledged signal is answered after the workflow has handled the signal. While the
// workflow task fails again and again, it is refused.
func TestQuerySeesWhatCameBefore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	b.start("w")
	b.complete(b.pollWorkflow())
	b.signal("w", "1")
	task := b.pollWorkflow()
	b.signal("w", "2") // it is buffered
	request := &workflowservice.QueryWorkflowRequest{
		Namespace: space, Execution: b.execution("w", ""), Query: &querypb.WorkflowQuery{QueryType: "state"},
	}
	query := func(limit time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		subject := b.names.Execution(subjects.ShardOf(b.key("w"), b.facts.Shards), space, subjects.VerbQuery)
		return call.Ask(ctx, b.conn, subject, request, &workflowservice.QueryWorkflowResponse{})
	}
	polled := make(chan *workflowservice.PollWorkflowTaskQueueResponse)
	go func() { polled <- poll[workflowservice.PollWorkflowTaskQueueResponse](b, offer.Workflow, queue) }()
	b.awaitPoll(queue)
	require.ErrorAs(t, query(300*time.Millisecond), new(*serviceerror.DeadlineExceeded))
	select {
	case got := <-polled:
		require.Fail(t, "the query came before the signal", "%v", got)
	default:
	}
	answered := make(chan error, 1)
	go func() { answered <- query(natstest.Patience) }()
	b.complete(task)
	task = <-polled
	require.Nil(t, task.Query, "the query came before the buffered signal")
	b.complete(task)
	b.answerQuery(b.pollWorkflow(), len(b.events("w", "", 0)))
	require.NoError(t, <-answered)

	b.signal("w", "3")
	for failed := 0; failed < 3; {
		// A worker that was slow to answer is not the only one that gets a query.
		if task := b.pollWorkflow(); task.Query == nil {
			b.failWorkflowTask(task)
			failed++
		}
	}
	require.ErrorAs(t, query(natstest.Patience), new(*serviceerror.WorkflowNotReady))
}

// TestQueryOfAProcessThatStops: a process that stops begins no query, not even with a look at the journal.
func TestQueryOfAProcessThatStops(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, err := New(b.config(b.js))
	require.NoError(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	s.open = ended
	_, err = s.query(t.Context(), b.key("w"), &workflowservice.QueryWorkflowRequest{})
	require.ErrorIs(t, err, errStops)
}

// answerQueries answers queries as a gateway does, until the answer comes that the test waits for. History may still work on an earlier query,
// for which nobody waits any more.
func (b *bundle) answerQueries(events int, answers <-chan *workflowservice.QueryWorkflowResponse) *workflowservice.QueryWorkflowResponse {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	got := make(chan *workflowservice.QueryWorkflowResponse, 1)
	go func() {
		got <- <-answers
		cancel()
	}()
	for {
		data, err := b.polls.Wait(ctx, offer.Queue{Namespace: space, Kind: offer.Workflow, Name: queue}, offer.Poller{Identity: "worker"})
		require.NoError(b, err)
		if data == nil {
			break
		}
		var task workflowservice.PollWorkflowTaskQueueResponse
		require.NoError(b, proto.Unmarshal(data, &task))
		b.answerQuery(&task, events)
	}
	answer := <-got
	require.NotNil(b, answer.GetQueryResult())
	return answer
}

// TestQueryOfADeadWorker: a query that a worker has taken and not answered goes to another one.
func TestQueryOfADeadWorker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	b.start("w")
	b.complete(b.pollWorkflow())
	answered := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), natstest.Patience)
		defer cancel()
		subject := b.names.Execution(subjects.ShardOf(b.key("w"), b.facts.Shards), space, subjects.VerbQuery)
		answered <- call.Ask(ctx, b.conn, subject, &workflowservice.QueryWorkflowRequest{
			Namespace: space, Execution: b.execution("w", ""), Query: &querypb.WorkflowQuery{QueryType: "state"},
		}, &workflowservice.QueryWorkflowResponse{})
	}()
	require.NotNil(t, b.pollWorkflow().Query)
	b.answerQuery(b.pollWorkflow(), 4)
	require.NoError(t, <-answered)
}

// answerQuery answers a query, whose history has a number of events.
func (b *bundle) answerQuery(task *workflowservice.PollWorkflowTaskQueueResponse, events int) {
	b.Helper()
	require.Equal(b, "state", task.Query.GetQueryType())
	require.Len(b, types(b, task.History.Events), events)
	token, err := execution.ParseQueryToken(task.TaskToken)
	require.NoError(b, err)
	answer, err := proto.Marshal(&workflowservice.RespondQueryTaskCompletedRequest{
		CompletedType: enumspb.QUERY_RESULT_TYPE_ANSWERED,
		QueryResult:   &commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: []byte("fine")}}},
	})
	require.NoError(b, err)
	require.NoError(b, b.conn.Publish(b.names.QueryAnswer(space, token.QueryID), answer))
}

// TestTimer: a timer of a workflow fires when it is due.
func TestTimer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	b.start("w")
	b.complete(b.pollWorkflow(), timer("t", 300*time.Millisecond))
	task := b.pollWorkflow()
	fired := task.History.Events[5]
	require.Equal(t, enumspb.EVENT_TYPE_TIMER_FIRED, fired.EventType)
	late := fired.EventTime.AsTime().Sub(task.History.Events[4].EventTime.AsTime()) - 300*time.Millisecond
	require.GreaterOrEqual(t, late, time.Duration(0))
	b.complete(task, end())
	b.settled()
}

// TestBadRequests are refused, and change nothing.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	shard := subjects.ShardOf(b.key("w"), b.facts.Shards)
	good, err := proto.Marshal(startRequest("w"))
	require.NoError(t, err)
	for name, bad := range map[string]struct {
		subject string
		data    []byte
		want    any
	}{
		"no namespace":       {b.names.Execution(shard, "none", subjects.VerbStart), good, new(*serviceerror.NamespaceNotFound)},
		"another shard":      {b.names.Execution(1-shard, space, subjects.VerbStart), good, new(*serviceerror.InvalidArgument)},
		"no verb":            {b.names.Execution(shard, space, "dance"), good, new(*serviceerror.Unimplemented)},
		"garbage":            {b.names.Execution(shard, space, subjects.VerbStart), []byte("\xff"), new(*serviceerror.InvalidArgument)},
		"nothing":            {b.names.Execution(shard, space, subjects.VerbStart), nil, new(*serviceerror.InvalidArgument)},
		"garbage of a start": {b.names.Execution(shard, space, subjects.VerbStartTask), []byte("x"), new(*serviceerror.InvalidArgument)},
		"no token":           {b.names.Execution(shard, space, subjects.VerbCompleteActivity), encoded(t, &workflowservice.RespondActivityTaskCompletedRequest{Namespace: space}), new(*serviceerror.InvalidArgument)},
		"token of another namespace": {b.names.Execution(shard, space, subjects.VerbCompleteWorkflowTask), encoded(t, &workflowservice.RespondWorkflowTaskCompletedRequest{
			Namespace: space, TaskToken: execution.Token{Namespace: "other", WorkflowID: "w", RunID: "r"}.Marshal(),
		}), new(*serviceerror.InvalidArgument)},
	} {
		err := call.AskBytes(t.Context(), b.conn, bad.subject, bad.data, nil)
		require.ErrorAs(t, err, bad.want, name)
	}
	stored, err := natstest.Stored(t.Context(), b.js, b.names.JournalStream(shard))
	require.NoError(t, err)
	require.Empty(t, stored)
}

func encoded(t testing.TB, m proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(m)
	require.NoError(t, err)
	return data
}

// TestTooLarge: what does not fit into a message of NATS is refused. A workflow task whose commands do not fit fails.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	most := int(b.conn.MaxPayload())
	large := func(n int) *commonpb.Payloads {
		return &commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: make([]byte, n)}}}
	}
	request := startRequest("large")
	request.Input = large(most - 500)
	_, err := ask[workflowservice.StartWorkflowExecutionResponse](b, subjects.VerbStart, "large", request)
	require.ErrorAs(t, err, new(*serviceerror.InvalidArgument))

	b.start("w")
	task := b.pollWorkflow()
	commands := []*commandpb.Command{}
	for _, id := range []string{"a", "b", "c"} {
		commands = append(commands, activity(id, func(a *commandpb.ScheduleActivityTaskCommandAttributes) { a.Input = large(most/3 - 200) }))
	}
	_, err = ask[workflowservice.RespondWorkflowTaskCompletedResponse](b, subjects.VerbCompleteWorkflowTask, "w",
		&workflowservice.RespondWorkflowTaskCompletedRequest{Namespace: space, TaskToken: task.TaskToken, Commands: commands})
	require.ErrorAs(t, err, new(*serviceerror.InvalidArgument))
	again := b.pollWorkflow()
	require.EqualValues(t, 2, again.Attempt)
	require.Equal(t, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, again.History.Events[3].EventType)

	// The result of an activity that does not fit fails the activity for good.
	b.complete(again, activity("result"))
	work := b.pollActivity()
	_, err = ask[workflowservice.RespondActivityTaskCompletedResponse](b, subjects.VerbCompleteActivity, "w",
		&workflowservice.RespondActivityTaskCompletedRequest{Namespace: space, TaskToken: work.TaskToken, Result: large(most - 500)})
	require.NoError(t, err)
	again = b.pollWorkflow()
	failed := again.History.Events[len(again.History.Events)-3].GetActivityTaskFailedEventAttributes()
	require.True(t, failed.GetFailure().GetServerFailureInfo().GetNonRetryable())
	require.Equal(t, enumspb.RETRY_STATE_NON_RETRYABLE_FAILURE, failed.GetRetryState())

	// A long history comes in pages.
	b.complete(again, activity("a", func(a *commandpb.ScheduleActivityTaskCommandAttributes) { a.Input = large(most / 2) }))
	b.completeActivity(b.pollActivity())
	again = b.pollWorkflow()
	b.complete(again, activity("b", func(a *commandpb.ScheduleActivityTaskCommandAttributes) { a.Input = large(most / 2) }))
	b.completeActivity(b.pollActivity())
	again = b.pollWorkflow()
	require.NotEmpty(t, again.NextPageToken)
	require.Greater(t, len(b.events("w", "", 0)), len(again.History.Events))
	b.complete(again, end())
	b.requireSameBack("w", "", 0, 3)
	_, pages := b.eventsBack("w", "", 0)
	require.Greater(t, pages, 1)
}

// TestMuchArrivesDuringATask: more than one message of NATS can hold arrives while a worker has the workflow task. All of it comes into the
// history, and the workflow can go on and be ended.
func TestMuchArrivesDuringATask(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	b.start("w")
	b.pollWorkflow()
	for i := range 20 {
		data := make([]byte, b.conn.MaxPayload()/10)
		_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(data) // does not fail
		_, err := ask[workflowservice.SignalWorkflowExecutionResponse](b, subjects.VerbSignal, "w", &workflowservice.SignalWorkflowExecutionRequest{
			Namespace: space, WorkflowExecution: b.execution("w", ""), SignalName: "s",
			Input: &commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: data}}},
		})
		require.NoError(t, err)
	}
	_, err := ask[workflowservice.TerminateWorkflowExecutionResponse](b, subjects.VerbTerminate, "w", &workflowservice.TerminateWorkflowExecutionRequest{
		Namespace: space, WorkflowExecution: b.execution("w", ""),
	})
	require.NoError(t, err)
	signals := 0
	for _, event := range b.events("w", "", 0) {
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED {
			signals++
		}
	}
	require.Equal(t, 20, signals)
}

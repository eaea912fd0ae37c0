package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// startEvery is the time from one start to the next, by the times in the journals.
	startEvery = 50 * time.Millisecond
	// atOnce is how many workflows run at once: their entries are mixed.
	atOnce = 64
	// fillPending is how many entries may be on their way to NATS.
	fillPending = 4096
)

// firstStart is when the first of the workflows begins: after the namespace was made, or the index would take it for one of an earlier namespace.
func (s *session) firstStart() time.Time { return s.cluster.Facts.Created.Add(time.Minute) }

// writeJournals writes the journals of workflows that have ended, as history would: each has two workflow tasks, and three search attributes. 90 %
// complete, 6 % fail, 4 % are terminated.
func (s *session) writeJournals(ctx context.Context) error {
	var failed atomic.Int64
	js, err := jetstream.New(s.asks, jetstream.WithPublishAsyncMaxPending(fillPending),
		jetstream.WithPublishAsyncErrHandler(func(jetstream.JetStream, *nats.Msg, error) { failed.Add(1) }))
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	for i := 0; i < s.Workflows && ctx.Err() == nil; i += atOnce {
		some := make([]*pastWorkflow, min(atOnce, s.Workflows-i))
		for j := range some {
			some[j] = newPastWorkflow(i+j, s.firstStart().Add(time.Duration(i+j)*startEvery))
		}
		for range entriesOfPast {
			for _, w := range some {
				if err := s.publishNext(js, w); err != nil {
					return err
				}
			}
		}
		s.config.Progress("writing journals", i, s.Workflows)
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if n := failed.Load(); n > 0 {
		return fmt.Errorf("bench: %d entries were not stored", n)
	}
	return nil
}

func (s *session) publishNext(js jetstream.JetStream, w *pastWorkflow) error {
	data, err := w.next()
	if err == nil {
		key := schedule.Key{Namespace: namespace, ID: w.state.Key.WorkflowID}
		_, err = js.PublishAsync(s.names.Journal(subjects.ShardOf(key, s.cluster.Facts.Shards), key), data)
	}
	if err != nil {
		return fmt.Errorf("bench: write a journal: %w", err)
	}
	return nil
}

// entriesOfPast is how many entries a workflow has: its start, and the start and the end of two workflow tasks. One that is terminated
// ends with the last.
const entriesOfPast = 5

// pastWorkflow makes the journal of a workflow.
type pastWorkflow struct {
	number int
	state  execution.State
	now    time.Time
	// token is that of the workflow task in progress, and written counts the entries so far.
	token   []byte
	written uint64
}

func newPastWorkflow(number int, at time.Time) *pastWorkflow {
	key := execution.Key{Namespace: namespace, WorkflowID: fmt.Sprint("order-", number)}
	return &pastWorkflow{number: number, state: execution.State{Key: key}, now: at}
}

// next returns the next entry.
func (w *pastWorkflow) next() ([]byte, error) {
	input, err := w.input()
	if err != nil {
		return nil, err
	}
	d, err := execution.Decide(&w.state, input, w.now)
	if err != nil {
		return nil, err
	}
	if polled, ok := d.Reply.(*workflowservice.PollWorkflowTaskQueueResponse); ok {
		w.token = polled.TaskToken
	}
	w.written++
	w.state = *d.After
	w.state.Stored(w.written)
	w.now = w.now.Add(time.Duration(1+w.number%97) * 100 * time.Millisecond)
	return d.Entry.Marshal()
}

// input is what the next entry decides about.
func (w *pastWorkflow) input() (execution.Input, error) {
	last := w.written == entriesOfPast-1
	switch {
	case w.written == 0:
		return execution.Start{RunID: uuid.NewString(), Request: w.start()}, nil
	case last && w.number%25 == 1:
		return execution.Terminate{Request: &workflowservice.TerminateWorkflowExecutionRequest{Reason: "no longer wanted"}}, nil
	case w.written%2 == 1:
		task := w.state.Run.Task
		return execution.StartWorkflowTask{
			RunID: w.state.Run.ID, Event: task.Scheduled, Attempt: task.Attempt, Queue: "orders", RequestID: fmt.Sprint("poll-", w.written), Identity: "bench",
		}, nil
	}
	token, err := execution.ParseToken(w.token)
	request := &workflowservice.RespondWorkflowTaskCompletedRequest{Identity: "bench", ForceCreateNewWorkflowTask: !last}
	if last {
		request.Commands = []*commandpb.Command{w.end()}
	}
	return execution.CompleteWorkflowTask{Token: token, Request: request, RequestID: "bench"}, err
}

func (w *pastWorkflow) start() *workflowservice.StartWorkflowExecutionRequest {
	tiers := []string{"gold", "silver", "bronze", "none"}
	field := func(kind, format string, value any) *commonpb.Payload {
		return &commonpb.Payload{
			Metadata: map[string][]byte{"encoding": []byte("json/plain"), "type": []byte(kind)}, Data: fmt.Appendf(nil, format, value),
		}
	}
	return &workflowservice.StartWorkflowExecutionRequest{
		Namespace: namespace, WorkflowId: w.state.Key.WorkflowID, WorkflowType: &commonpb.WorkflowType{Name: fmt.Sprint("type-", w.number/3%20)},
		TaskQueue: &taskqueuepb.TaskQueue{Name: "orders"}, Identity: "bench",
		Input: &commonpb.Payloads{Payloads: []*commonpb.Payload{field("", `"%064d"`, w.number)}},
		Memo:  &commonpb.Memo{Fields: map[string]*commonpb.Payload{"note": field("", `"order %d"`, w.number)}},
		SearchAttributes: &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{
			"CustomerId": field("Keyword", `"customer-%d"`, w.number%5000), "Tier": field("Keyword", "%q", tiers[w.number/7%len(tiers)]),
			"Amount": field("Int", "%d", w.number%1000),
		}},
	}
}

// end is the command that ends the workflow.
func (w *pastWorkflow) end() *commandpb.Command {
	if w.number%50 < 3 {
		return &commandpb.Command{
			CommandType: enumspb.COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION,
			Attributes: &commandpb.Command_FailWorkflowExecutionCommandAttributes{
				FailWorkflowExecutionCommandAttributes: &commandpb.FailWorkflowExecutionCommandAttributes{Failure: &failurepb.Failure{Message: "no stock"}},
			},
		}
	}
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_CompleteWorkflowExecutionCommandAttributes{
			CompleteWorkflowExecutionCommandAttributes: &commandpb.CompleteWorkflowExecutionCommandAttributes{},
		},
	}
}

package gateway_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// awaitEvent asks for the next event of the workflow w.
func (in *installation) awaitEvent(ctx context.Context) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	return in.GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: "default", Execution: &common.WorkflowExecution{WorkflowId: w}, WaitNewEvent: true,
	})
}

// journal has the pages of one journal. The page has events once it has any.
type journal struct {
	in     *installation
	events atomic.Int64
}

// tokens collects the tokens that the owner is asked with.
func (j *journal) serve() <-chan request {
	return j.in.owners(func(request) (proto.Message, error) {
		page := &workflowservice.GetWorkflowExecutionHistoryResponse{NextPageToken: []byte("run 1")}
		for i := range j.events.Load() {
			page.History = &history.History{Events: append(page.History.GetEvents(), &history.HistoryEvent{EventId: i + 1})}
		}
		return page, nil
	})
}

// hint does what the append of an entry does, as far as others see it.
func (j *journal) hint() { j.hintOf(&nats.Msg{Data: []byte("entry")}) }

func (j *journal) hintOf(entry *nats.Msg) {
	key := schedule.Key{Namespace: "default", ID: w}
	entry.Subject = j.in.names.Journal(subjects.ShardOf(key, shards), key)
	require.NoError(j.in.t, j.in.conn.PublishMsg(entry))
	require.NoError(j.in.t, j.in.conn.Flush())
}

// TestHistoryWaits until something is appended that brings an event.
func TestHistoryWaits(t *testing.T) {
	t.Parallel()
	j := &journal{in: install(t)}
	asked := j.serve()
	pages := make(chan *workflowservice.GetWorkflowExecutionHistoryResponse, 1)
	go func() {
		page, err := j.in.awaitEvent(t.Context())
		assert.NoError(t, err)
		pages <- page
	}()
	first := <-asked
	for range 3 { // entries without events, such as a heartbeat
		j.hint()
		again := <-asked
		var r workflowservice.GetWorkflowExecutionHistoryRequest
		require.NoError(t, proto.Unmarshal(again.data, &r))
		assert.Equal(t, "run 1", string(r.NextPageToken), "the run must not change")
	}
	assert.NotEmpty(t, first.data)
	j.events.Store(2)
	j.hint()
	page := <-pages
	assert.Len(t, page.History.Events, 2)
}

// awaitEnd asks for the end of the workflow w in the background.
func (in *installation) awaitEnd() <-chan *workflowservice.GetWorkflowExecutionHistoryResponse {
	pages := make(chan *workflowservice.GetWorkflowExecutionHistoryResponse, 1)
	go func() {
		page, err := in.GetWorkflowExecutionHistory(in.t.Context(), &workflowservice.GetWorkflowExecutionHistoryRequest{
			Namespace: "default", Execution: &common.WorkflowExecution{WorkflowId: w}, WaitNewEvent: true,
			HistoryEventFilterType: enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT,
		})
		assert.NoError(in.t, err)
		pages <- page
	}()
	return pages
}

// TestOnlyTheEndWakesThoseWhoWaitForIt: other entries lead to no question.
func TestOnlyTheEndWakesThoseWhoWaitForIt(t *testing.T) {
	t.Parallel()
	j := &journal{in: install(t)}
	asked, began := j.serve(), time.Now()
	pages := j.in.awaitEnd()
	<-asked
	for range 10 {
		j.hint()
		_, err := j.in.GetSystemInfo(t.Context(), &workflowservice.GetSystemInfoRequest{})
		require.NoError(t, err)
	}
	j.events.Store(1)
	j.hintOf(&nats.Msg{Header: nats.Header{subjects.HeaderEnds: {"1"}}})
	assert.Len(t, (<-pages).History.Events, 1)
	rounds := int(time.Since(began) / time.Second) // without a hint, the owner is asked every five seconds
	assert.LessOrEqual(t, len(asked), 1+rounds)
}

// TestAnEndThatIsNotStoredYet: the owner is asked again, although nothing else happens.
func TestAnEndThatIsNotStoredYet(t *testing.T) {
	t.Parallel()
	j := &journal{in: install(t)}
	asked := j.serve()
	pages := j.in.awaitEnd()
	<-asked
	j.hintOf(&nats.Msg{Header: nats.Header{subjects.HeaderEnds: {"1"}}})
	<-asked
	<-asked
	j.events.Store(1)
	assert.Len(t, (<-pages).History.Events, 1)
}

// TestHistoryIsThereAlready answers at once.
func TestHistoryIsThereAlready(t *testing.T) {
	t.Parallel()
	j := &journal{in: install(t)}
	asked := j.serve()
	j.events.Store(1)
	page, err := j.in.awaitEvent(t.Context())
	require.NoError(t, err)
	assert.Len(t, page.History.Events, 1)
	assert.Len(t, asked, 1)
}

// TestNothingNew gives the client an empty page before its time is over, and one from which it can go on.
func TestNothingNew(t *testing.T) {
	t.Parallel()
	j := &journal{in: install(t)}
	j.serve()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	page, err := j.in.awaitEvent(ctx)
	require.NoError(t, err)
	assert.Empty(t, page.History.GetEvents())
	assert.Equal(t, "run 1", string(page.NextPageToken))
}

// TestStopEndsTheWait: a gateway that stops gives everybody an empty answer.
func TestStopEndsTheWait(t *testing.T) {
	t.Parallel()
	j := &journal{in: install(t)}
	asked := j.serve()
	ended := make(chan error, 1)
	go func() {
		_, err := j.in.awaitEvent(t.Context())
		ended <- err
	}()
	<-asked
	j.in.stop()
	assert.NoError(t, <-ended)
	natstest.Eventually(t, patience, "nobody listens", func() bool {
		_, err := j.in.GetSystemInfo(t.Context(), &workflowservice.GetSystemInfoRequest{})
		return err != nil
	})
}

// TestAnswerIsLost: when an owner has died with a request about the state of an execution, another one is asked while the client waits.
func TestAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(*installation) error{
		"history": func(in *installation) error {
			_, err := in.awaitEvent(t.Context())
			return err
		},
		"describe": func(in *installation) error {
			_, err := in.DescribeWorkflowExecution(t.Context(), &workflowservice.DescribeWorkflowExecutionRequest{
				Namespace: "default", Execution: &common.WorkflowExecution{WorkflowId: w},
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := install(t)
			lost := make(chan struct{})
			var asked atomic.Int64
			in.owners(func(request) (proto.Message, error) {
				if asked.Add(1) == 1 {
					<-lost
				}
				return nil, nil
			})
			t.Cleanup(func() { close(lost) })
			require.NoError(t, read(in))
			require.EqualValues(t, 2, asked.Load())
		})
	}
}

// TestHistoryOfNobody passes the error on.
func TestHistoryOfNobody(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.owners(func(request) (proto.Message, error) { return nil, serviceerror.NewNotFound("no such execution") })
	var notFound *serviceerror.NotFound
	_, err := in.awaitEvent(t.Context())
	assert.ErrorAs(t, err, &notFound)
}

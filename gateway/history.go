package gateway

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// historyWait is how long a request waits for a new event.
	historyWait = 20 * time.Second
	// historyMargin is how long before the deadline of its client a wait ends.
	historyMargin = time.Second
	// historyRound is how often the owner is asked although nothing hints at a new event: hints may be lost.
	historyRound = 5 * time.Second
	// firstRest is the pause after an entry that brought nothing new. It doubles up to maxRest, so that a busy execution is not asked about
	// after each of its entries.
	firstRest = time.Millisecond
	maxRest   = 250 * time.Millisecond
)

// GetWorkflowExecutionHistory returns a page of the history of an execution. If it is asked to wait for a new event and none comes in time, the
// page is empty and has a token with which to ask again.
func (s *workflowService) GetWorkflowExecutionHistory(
	ctx context.Context, r *workflowservice.GetWorkflowExecutionHistoryRequest,
) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	if err := checkExecution(r.Execution); err != nil {
		return nil, err
	}
	workflow := schedule.Key{Namespace: r.Namespace, ID: r.Execution.WorkflowId}
	if !r.WaitNewEvent {
		return s.historyPage(ctx, workflow, r)
	}
	return s.awaitHistory(ctx, workflow, r)
}

func (s *workflowService) historyPage(
	ctx context.Context, workflow schedule.Key, r *workflowservice.GetWorkflowExecutionHistoryRequest,
) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	return route[workflowservice.GetWorkflowExecutionHistoryResponse](ctx, s.Gateway, subjects.VerbHistory, workflow, r)
}

// awaitHistory asks the owner until there is something new or the wait is over. The journal itself hints at what is new: whatever is appended
// to it comes by here. The subscription begins before the first question, so nothing is missed in between.
func (s *workflowService) awaitHistory(
	ctx context.Context, workflow schedule.Key, r *workflowservice.GetWorkflowExecutionHistoryRequest,
) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	hints, err := s.config.Conn.SubscribeSync(s.config.Names.Journal(s.shard(workflow), workflow))
	if err != nil {
		return nil, err
	}
	defer func() { _ = hints.Unsubscribe() }() // it fails if the connection is closed
	waiting, stop := waiting(ctx, historyWait, historyMargin)
	defer stop()
	defer context.AfterFunc(s.stopping, stop)()
	r = proto.CloneOf(r)
	for rest := firstRest; ; rest = min(2*rest, maxRest) {
		page, err := s.historyPage(ctx, workflow, r)
		if err != nil || len(page.GetHistory().GetEvents())+len(page.RawHistory) > 0 || len(page.NextPageToken) == 0 {
			return page, err
		}
		r.NextPageToken = page.NextPageToken // it names the run, which must not change while the client waits
		if !awaitHint(waiting, hints) || sleep.For(waiting, rest) != nil {
			return page, nil
		}
	}
}

// awaitHint waits until something has been appended, or it is time to ask anyway. It returns false if the wait is over.
func awaitHint(ctx context.Context, hints *nats.Subscription) bool {
	round, stop := context.WithTimeout(ctx, historyRound)
	defer stop()
	_, _ = hints.NextMsgWithContext(round) // whatever it is, the owner is asked
	for {
		if pending, _, err := hints.Pending(); err != nil || pending == 0 {
			return ctx.Err() == nil
		}
		if _, err := hints.NextMsgWithContext(round); err != nil {
			return ctx.Err() == nil
		}
	}
}

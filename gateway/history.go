package gateway

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	enumspb "go.temporal.io/api/enums/v1"
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
	// firstRound is how soon the owner is asked again if a hint brought nothing. It doubles up to historyRound.
	firstRound = 2 * time.Millisecond
)

// GetWorkflowExecutionHistory returns a page of the history of an execution. If it is asked to wait for a new event and none comes in time, the
// page is empty and has a token with which to ask again. The history of a run that is gone is read from the archive of its namespace.
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

// GetWorkflowExecutionHistoryReverse returns a page of the history of an execution, the newest event first.
func (s *workflowService) GetWorkflowExecutionHistoryReverse(
	ctx context.Context, r *workflowservice.GetWorkflowExecutionHistoryReverseRequest,
) (*workflowservice.GetWorkflowExecutionHistoryReverseResponse, error) {
	if err := checkExecution(r.Execution); err != nil {
		return nil, err
	}
	page, err := route[workflowservice.GetWorkflowExecutionHistoryReverseResponse](
		ctx, s.Gateway, subjects.VerbHistoryReverse, schedule.Key{Namespace: r.Namespace, ID: r.Execution.WorkflowId}, r)
	if err != nil {
		page = &workflowservice.GetWorkflowExecutionHistoryReverseResponse{}
		err = s.orArchived(ctx, err, r.Namespace, subjects.VerbArchivedHistoryReverse, r, page)
	}
	if err != nil {
		return nil, err
	}
	return page, nil
}

func (s *workflowService) historyPage(
	ctx context.Context, workflow schedule.Key, r *workflowservice.GetWorkflowExecutionHistoryRequest,
) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	page, err := routeRead[workflowservice.GetWorkflowExecutionHistoryResponse](ctx, s.Gateway, subjects.VerbHistory, workflow, r)
	if err != nil {
		page = &workflowservice.GetWorkflowExecutionHistoryResponse{}
		err = s.orArchived(ctx, err, r.Namespace, subjects.VerbArchivedHistory, r, page)
	}
	if err != nil {
		return nil, err
	}
	return page, nil
}

// awaitHistory asks the owner until there is something new or the wait is over.
func (s *workflowService) awaitHistory(
	ctx context.Context, workflow schedule.Key, r *workflowservice.GetWorkflowExecutionHistoryRequest,
) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	r = proto.CloneOf(r)
	var page *workflowservice.GetWorkflowExecutionHistoryResponse
	onlyEnds := r.GetHistoryEventFilterType() == enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT
	err := s.await(ctx, workflow, onlyEnds, func() (found bool, err error) {
		if page, err = s.historyPage(ctx, workflow, r); err != nil {
			return false, err
		}
		r.NextPageToken = page.NextPageToken // it names the run, which must not change while the client waits
		return len(page.GetHistory().GetEvents())+len(page.RawHistory) > 0 || len(page.NextPageToken) == 0, nil
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// await calls ask, which asks the owner, until it has found what the client waits for, or the wait is over. The journal itself hints at what is
// new: whatever is appended to it comes by here. The subscription begins before the first question, so nothing is missed in between.
func (s *workflowService) await(ctx context.Context, workflow schedule.Key, onlyEnds bool, ask func() (found bool, err error)) error {
	hints, end, err := s.hints(workflow, onlyEnds)
	if err != nil {
		return err
	}
	defer end()
	waiting, stop := waiting(ctx, historyWait, historyMargin)
	defer stop()
	defer context.AfterFunc(s.stopping, stop)()
	for p := (pace{firstRest, historyRound}); ; {
		if found, err := ask(); found || err != nil || !p.wait(waiting, hints) {
			return err
		}
	}
}

// pace says when the owner is asked next.
type pace struct {
	// rest is the pause after a hint, and round how long to wait for one.
	rest, round time.Duration
}

// wait waits until it is time to ask the owner. It returns false if the wait of the client is over.
//
// An entry comes by before it is stored. If the owner did not know of it yet, nothing else may come, so it is asked again soon after a hint.
func (p *pace) wait(ctx context.Context, hints <-chan struct{}) bool {
	if awaitHint(ctx, hints, p.round) {
		p.round = firstRound
	} else {
		p.round = min(2*p.round, historyRound)
	}
	if sleep.For(ctx, p.rest) != nil {
		return false
	}
	p.rest = min(2*p.rest, maxRest)
	select {
	case <-hints: // what has come meanwhile needs no question of its own
	default:
	}
	return true
}

// hints returns a channel that has an element when an entry has been appended to the journal of a workflow, or only when a run has ended. The
// caller calls end.
func (s *workflowService) hints(workflow schedule.Key, onlyEnds bool) (hints <-chan struct{}, end func(), err error) {
	hint := make(chan struct{}, 1)
	journal, err := s.config.Conn.Subscribe(s.config.Names.Journal(s.shard(workflow), workflow), func(entry *nats.Msg) {
		if onlyEnds && entry.Header.Get(subjects.HeaderEnds) == "" {
			return
		}
		select {
		case hint <- struct{}{}:
		default: // there is one already
		}
	})
	if err != nil {
		return nil, nil, err
	}
	return hint, func() { _ = journal.Unsubscribe() }, nil // it fails if the connection is closed
}

// awaitHint waits until there is a hint, for at most d. It returns false if there is none.
func awaitHint(ctx context.Context, hints <-chan struct{}, d time.Duration) bool {
	round := time.NewTimer(d)
	defer round.Stop()
	select {
	case <-hints:
		return true
	case <-round.C:
	case <-ctx.Done():
	}
	return false
}

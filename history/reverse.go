package history

import (
	"context"
	"slices"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/eventpage"
	"github.com/carillon-scheduler/carillon/schedule"
)

// historyReverse answers a page of the history of a run, the newest event first. The next event of its token is the newest that has not been
// answered.
func (s *Service) historyReverse(
	ctx context.Context, key schedule.Key, r *workflowservice.GetWorkflowExecutionHistoryReverseRequest,
) (reply proto.Message, err error) {
	token, err := eventpage.TokenOf(r)
	if err != nil {
		return nil, err
	}
	err = s.onRun(ctx, key, token.RunID, func(of *slot, state *execution.State) error {
		newest := state.Run.NextEvent - 1
		if len(r.GetNextPageToken()) > 0 {
			newest = min(newest, token.Next)
		}
		events, err := s.pageBack(ctx, of, state, newest, eventpage.SizeOf(r))
		if err != nil {
			return err
		}
		response := &workflowservice.GetWorkflowExecutionHistoryReverseResponse{History: &historypb.History{Events: events}}
		if next := events[len(events)-1].GetEventId() - 1; next > 0 {
			response.NextPageToken = eventpage.Token{RunID: state.Run.ID, Next: next}.Marshal()
		}
		reply = response
		return nil
	})
	return reply, err
}

// pageBack returns the events of a run that end with the one with the ID to, the newest first: one at least, most at most, and no more bytes than
// a message of NATS has room for. The caller has the turn.
func (s *Service) pageBack(ctx context.Context, of *slot, state *execution.State, to int64, most int) ([]*historypb.HistoryEvent, error) {
	var events []*historypb.HistoryEvent
	from := eventpage.Token{RunID: state.Run.ID, Next: max(1, to-int64(most)+1)}
	for from.Next <= to {
		p, err := s.page(ctx, of, state, from, to, most)
		if err != nil {
			return nil, err
		}
		events, from = newestThatFit(append(events, p.events...), s.bytesOfPage()), p.next
	}
	slices.Reverse(events)
	return events, nil
}

// newestThatFit returns the last of some events for which there is room: one at least.
func newestThatFit(events []*historypb.HistoryEvent, bytes int) []*historypb.HistoryEvent {
	for i := len(events) - 1; i >= 0; i-- {
		if bytes -= proto.Size(events[i]); bytes < 0 {
			return events[min(i+1, len(events)-1):]
		}
	}
	return events
}

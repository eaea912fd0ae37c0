package history

import (
	"cmp"
	"context"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/eventpage"
	"github.com/carillon-scheduler/carillon/schedule"
)

// run returns the state of the run with an ID, at the end of the journal; of the newest run if the ID is empty. The caller has the turn.
func (s *Service) run(ctx context.Context, of *slot, runID string) (*execution.State, error) {
	if _, err := s.refresh(ctx, of); err != nil {
		return nil, err
	}
	switch run := of.state.Run; {
	case run == nil || run.Deleted(cmp.Or(runID, run.ID)):
		return nil, serviceerror.NewNotFound("workflow not found for ID: " + of.key.ID)
	case runID == "" || runID == run.ID:
		return of.state, nil
	}
	return s.find(ctx, of, runID)
}

// onRun calls do with the turn of a workflow ID and the state of one of its runs: see run.
func (s *Service) onRun(ctx context.Context, key schedule.Key, runID string, do func(*slot, *execution.State) error) error {
	return s.with(ctx, key, func(of *slot) error {
		state, err := s.run(ctx, of, runID)
		if err != nil {
			return err
		}
		return do(of, state)
	})
}

// describe answers what is to be said about a run.
func (s *Service) describe(
	ctx context.Context, key schedule.Key, r *workflowservice.DescribeWorkflowExecutionRequest,
) (reply proto.Message, err error) {
	err = s.onRun(ctx, key, r.GetExecution().GetRunId(), func(_ *slot, state *execution.State) error {
		reply = execution.Describe(state)
		return nil
	})
	return reply, err
}

// bytesOfPage returns how large a page may be.
func (s *Service) bytesOfPage() int { return eventpage.BytesOf(s.bus.MaxPayload()) }

// history answers a page of the history of a run. It does not wait: a request that waits for events gets none and a token.
func (s *Service) history(
	ctx context.Context, key schedule.Key, r *workflowservice.GetWorkflowExecutionHistoryRequest,
) (reply proto.Message, err error) {
	token, err := eventpage.TokenOf(r)
	if err != nil {
		return nil, err
	}
	err = s.onRun(ctx, key, token.RunID, func(of *slot, state *execution.State) (err error) {
		token.RunID = state.Run.ID
		if r.GetHistoryEventFilterType() == enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT {
			reply, err = s.closeEvent(ctx, of, state, r.GetWaitNewEvent())
		} else {
			reply, err = s.nextPage(ctx, of, state, token, r)
		}
		return err
	})
	return reply, err
}

// closeEvent answers the last event of a run. While the run is open, a request that waits gets a token.
func (s *Service) closeEvent(ctx context.Context, of *slot, state *execution.State, wait bool) (proto.Message, error) {
	run := state.Run
	reply := &workflowservice.GetWorkflowExecutionHistoryResponse{History: &historypb.History{}}
	if run.Open() && wait {
		reply.NextPageToken = eventpage.Token{RunID: run.ID, Next: run.NextEvent, Sequence: state.Sequence}.Marshal()
		return reply, nil
	}
	last := run.NextEvent - 1
	p, err := s.page(ctx, of, state, eventpage.Token{RunID: run.ID, Next: last}, last, 1)
	reply.History.Events = p.events
	return reply, err
}

// nextPage answers the events from a token on.
func (s *Service) nextPage(
	ctx context.Context, of *slot, state *execution.State, token eventpage.Token, r *workflowservice.GetWorkflowExecutionHistoryRequest,
) (proto.Message, error) {
	run := state.Run
	p, err := s.page(ctx, of, state, token, run.NextEvent-1, eventpage.SizeOf(r))
	if err != nil {
		return nil, err
	}
	reply := &workflowservice.GetWorkflowExecutionHistoryResponse{History: &historypb.History{Events: p.events}}
	switch {
	case p.next.Next < run.NextEvent:
		reply.NextPageToken = p.next.Marshal()
	case run.Open() && r.GetWaitNewEvent():
		reply.NextPageToken = eventpage.Token{RunID: run.ID, Next: run.NextEvent, Sequence: state.Sequence}.Marshal()
	default:
		reply.History.Events = append(p.events[:len(p.events):len(p.events)], state.Suffix()...)
	}
	return reply, nil
}

// page are some events of a run, and where the next ones begin.
type page struct {
	events []*historypb.HistoryEvent
	next   eventpage.Token
}

// page returns the events of a run from a token, with a sequence or without, to the event with the ID to: one at least, if there is one; most at most, and no more bytes than
// a message of NATS has room for. The caller has the turn.
func (s *Service) page(ctx context.Context, of *slot, state *execution.State, from eventpage.Token, to int64, most int) (page, error) {
	p := &pager{page: page{next: from}, to: to, most: most, bytes: s.bytesOfPage()}
	if events, ok := of.recent.span(from.RunID, from.Next, to); ok {
		for _, event := range events {
			if !p.add(event) {
				break
			}
		}
		return p.page, nil
	}
	for more := true; more && p.next.Next <= to; {
		var err error
		if more, err = s.addStretch(ctx, of, p, state.Run.Author(p.next.Next)); err != nil {
			return p.page, s.unlessRemoved(ctx, of, state.Run.ID, state.Run.First, err)
		}
	}
	if p.next.Next <= to && len(p.events) == 0 {
		return p.page, s.unlessRemoved(ctx, of, state.Run.ID, state.Run.First, errIncomplete)
	}
	return p.page, nil
}

// addStretch adds the next events, which one run wrote. It reports whether it has added all of them.
func (s *Service) addStretch(ctx context.Context, of *slot, p *pager, by execution.Stretch) (all bool, err error) {
	last, full := min(p.to, by.Through), false
	err = s.walk(ctx, of, by.RunID, max(p.next.Sequence, by.First), func(entry *execution.Entry, sequence uint64) (bool, error) {
		p.next.Sequence = sequence
		for _, event := range entry.Parts[0].Events {
			switch id := event.GetEventId(); {
			case id < p.next.Next || id > last:
			case id > p.next.Next:
				return false, errIncomplete
			case !p.add(event):
				full = true
				return false, nil
			}
		}
		return p.next.Next <= last, nil
	})
	return err == nil && !full && p.next.Next > last, err
}

// pager collects a page.
type pager struct {
	page
	to    int64
	most  int
	bytes int // for which there is room
}

// add adds the next event, and reports whether there is room for it.
func (p *pager) add(event *historypb.HistoryEvent) bool {
	if event.GetEventId() > p.to || len(p.events) == p.most {
		return false
	}
	if p.bytes -= proto.Size(event); p.bytes < 0 && len(p.events) > 0 {
		return false
	}
	p.events = append(p.events, event)
	p.next.Next = event.GetEventId() + 1
	return true
}

// fillHistory puts the events into a reply that brings a workflow task. The caller has the turn.
func (s *Service) fillHistory(ctx context.Context, of *slot, d execution.Decision) error {
	if d.History == nil {
		return nil
	}
	var task *workflowservice.PollWorkflowTaskQueueResponse
	switch reply := d.Reply.(type) {
	case *workflowservice.PollWorkflowTaskQueueResponse:
		task = reply
	case *workflowservice.RespondWorkflowTaskCompletedResponse:
		task = reply.WorkflowTask
	case *workflowservice.StartWorkflowExecutionResponse:
		task = reply.EagerWorkflowTask
	}
	return s.fill(ctx, of, of.state, task, d.History)
}

func (s *Service) fill(
	ctx context.Context, of *slot, state *execution.State, task *workflowservice.PollWorkflowTaskQueueResponse, h *execution.History,
) error {
	from := eventpage.Token{RunID: state.Run.ID, Next: h.From}
	p, err := s.page(ctx, of, state, from, h.To, eventpage.Most)
	if err != nil {
		return err
	}
	task.History = &historypb.History{Events: p.events}
	if p.next.Next <= h.To {
		task.NextPageToken = p.next.Marshal()
		return nil
	}
	task.History.Events = append(p.events[:len(p.events):len(p.events)], h.Suffix...)
	return nil
}

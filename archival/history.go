package archival

import (
	"cmp"
	"context"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/eventpage"
)

// history answers a page of an archived history.
func (r reading) history(
	ctx context.Context, request *workflowservice.GetWorkflowExecutionHistoryRequest,
) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	events, token, err := r.asked(ctx, request)
	if err != nil {
		return nil, err
	}
	response := &workflowservice.GetWorkflowExecutionHistoryResponse{Archived: true, History: &historypb.History{}}
	if request.GetHistoryEventFilterType() == enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT {
		response.History.Events = events[len(events)-1:]
		return response, nil
	}
	from := min(int(token.Next)-1, len(events))
	n := r.fit(events[from:], eventpage.SizeOf(request))
	response.History.Events = events[from : from+n]
	if from+n < len(events) {
		response.NextPageToken = eventpage.Token{RunID: token.RunID, Next: int64(from + n + 1)}.Marshal()
	}
	return response, nil
}

// historyReverse answers a page of an archived history, the newest event first. The next event of its token is the newest that has not been answered.
func (r reading) historyReverse(
	ctx context.Context, request *workflowservice.GetWorkflowExecutionHistoryReverseRequest,
) (*workflowservice.GetWorkflowExecutionHistoryReverseResponse, error) {
	events, token, err := r.asked(ctx, request)
	if err != nil {
		return nil, err
	}
	if len(request.GetNextPageToken()) > 0 {
		events = events[:min(int(token.Next), len(events))]
	}
	events = slices.Clone(events)
	slices.Reverse(events)
	n := r.fit(events, eventpage.SizeOf(request))
	response := &workflowservice.GetWorkflowExecutionHistoryReverseResponse{History: &historypb.History{Events: events[:n]}}
	if n < len(events) {
		response.NextPageToken = eventpage.Token{RunID: token.RunID, Next: int64(len(events) - n)}.Marshal()
	}
	return response, nil
}

// asked reads the history that a request is about, and says where its page begins. The token names the run.
func (r reading) asked(ctx context.Context, request eventpage.Request) (events []*historypb.HistoryEvent, token eventpage.Token, err error) {
	if token, err = eventpage.TokenOf(request); err != nil {
		return nil, token, err
	}
	events, token.RunID, err = r.read(ctx, request.GetExecution().GetWorkflowId(), token.RunID)
	return events, token, err
}

// fit returns how many of some events a page has: one at least, unless there is none.
func (r reading) fit(events []*historypb.HistoryEvent, most int) int {
	room := r.bytesOfPage()
	for i, event := range events {
		if room -= proto.Size(event); i == most || room < 0 && i > 0 {
			return i
		}
	}
	return len(events)
}

// read reads the history of a run; of the one that ended last if the run ID is empty. It has one event at least, which the caller does not change.
func (r reading) read(ctx context.Context, workflowID, runID string) ([]*historypb.HistoryEvent, string, error) {
	name, runID, err := r.bucket.FindHistory(ctx, r.namespace, workflowID, runID)
	if err != nil {
		return nil, "", err
	}
	at := placed{r.address, name}
	if events := r.pages.get(at, r.config.Now()); events != nil {
		return events, runID, nil
	}
	data, err := r.bucket.Get(ctx, name)
	if err != nil {
		return nil, "", err
	}
	history, err := archive.ParseHistory(data)
	if err != nil || len(history.GetEvents()) == 0 {
		return nil, "", serviceerror.NewDataLoss(cmp.Or(err, archive.ErrIncomplete).Error())
	}
	r.pages.put(at, history.GetEvents(), len(data), r.config.Now())
	return history.GetEvents(), runID, nil
}

package archival

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"gocloud.dev/blob"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/codec"
)

// maxPage is how many events a page has at most.
const maxPage = 1000

// pageToken says where the next page of a history begins: a part of what the token of history says, so that either may continue what the other began.
type pageToken struct {
	RunID string `json:"runId"`
	// Next is the ID of the next event.
	Next int64 `json:"next"`
}

// pageRequest is a request for a page of a history.
type pageRequest interface {
	GetExecution() *commonpb.WorkflowExecution
	GetNextPageToken() []byte
	GetMaximumPageSize() int32
}

// tokenOf returns the token of a request; with zero as the next event for the first page.
func tokenOf(r pageRequest) (pageToken, error) {
	token := pageToken{RunID: r.GetExecution().GetRunId()}
	if len(r.GetNextPageToken()) == 0 {
		return token, nil
	}
	if err := codec.Unmarshal(r.GetNextPageToken(), &token); err != nil || token.RunID == "" || token.Next < 1 {
		return token, serviceerror.NewInvalidArgument("Invalid NextPageToken.")
	}
	return token, nil
}

func (t pageToken) marshal() []byte {
	data, err := codec.Marshal(&t)
	if err != nil {
		panic(err) // a struct of scalars can be encoded
	}
	return data
}

// history answers a page of an archived history.
func (r reading) history(
	ctx context.Context, request *workflowservice.GetWorkflowExecutionHistoryRequest,
) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	token, err := tokenOf(request)
	if err != nil {
		return nil, err
	}
	events, runID, err := r.read(ctx, request.GetExecution().GetWorkflowId(), token.RunID)
	if err != nil {
		return nil, err
	}
	response := &workflowservice.GetWorkflowExecutionHistoryResponse{Archived: true, History: &historypb.History{}}
	if request.GetHistoryEventFilterType() == enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT {
		response.History.Events = events[len(events)-1:]
		return response, nil
	}
	from := min(max(int(token.Next)-1, 0), len(events))
	n := r.fit(events[from:], sizeOfPage(request))
	response.History.Events = events[from : from+n]
	if from+n < len(events) {
		response.NextPageToken = pageToken{runID, int64(from + n + 1)}.marshal()
	}
	return response, nil
}

// historyReverse answers a page of an archived history, the newest event first. The next event of its token is the newest that has not been answered.
func (r reading) historyReverse(
	ctx context.Context, request *workflowservice.GetWorkflowExecutionHistoryReverseRequest,
) (*workflowservice.GetWorkflowExecutionHistoryReverseResponse, error) {
	token, err := tokenOf(request)
	if err != nil {
		return nil, err
	}
	events, runID, err := r.read(ctx, request.GetExecution().GetWorkflowId(), token.RunID)
	if err != nil {
		return nil, err
	}
	if token.Next > 0 {
		events = events[:min(int(token.Next), len(events))]
	}
	slices.Reverse(events)
	n := r.fit(events, sizeOfPage(request))
	response := &workflowservice.GetWorkflowExecutionHistoryReverseResponse{History: &historypb.History{Events: events[:n]}}
	if n < len(events) {
		response.NextPageToken = pageToken{runID, int64(len(events) - n)}.marshal()
	}
	return response, nil
}

// sizeOfPage returns how many events a page may have.
func sizeOfPage(r pageRequest) int {
	most := int(r.GetMaximumPageSize())
	if most < 1 || most > maxPage {
		return maxPage
	}
	return most
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

// read reads the history of a run; of the one that was archived last if the run ID is empty. It has one event at least.
func (r reading) read(ctx context.Context, workflowID, runID string) ([]*historypb.HistoryEvent, string, error) {
	if runID == "" {
		var err error
		if runID, err = r.newest(ctx, workflowID); err != nil {
			return nil, "", err
		}
	}
	data, err := r.bucket.Get(ctx, archive.HistoryName(r.namespace, workflowID, runID))
	if err != nil {
		return nil, "", err
	}
	history, err := archive.ParseHistory(data)
	if err == nil && len(history.GetEvents()) == 0 {
		err = archive.ErrIncomplete
	}
	if err != nil {
		return nil, "", serviceerror.NewDataLoss(err.Error())
	}
	return history.GetEvents(), runID, nil
}

// newest returns the run of a workflow ID that was archived last.
func (r reading) newest(ctx context.Context, workflowID string) (runID string, err error) {
	prefix := archive.HistoriesPrefix(r.namespace, workflowID)
	each := r.bucket.List(&blob.ListOptions{Prefix: prefix})
	var last time.Time
	for {
		object, err := each.Next(ctx)
		switch {
		case errors.Is(err, io.EOF) && runID == "":
			return "", archive.ErrNotFound
		case errors.Is(err, io.EOF):
			return runID, nil
		case err != nil:
			return "", err
		}
		if id, ok := strings.CutSuffix(strings.TrimPrefix(object.Key, prefix), ".json"); ok && !object.ModTime.Before(last) {
			runID, last = id, object.ModTime
		}
	}
}

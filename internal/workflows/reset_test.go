package workflows_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/workflows"
)

// TestTasksToResetTo: the first or the last completed task is found on any page.
func TestTasksToResetTo(t *testing.T) {
	t.Parallel()
	const (
		scheduled = enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED
		completed = enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
		other     = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
	)
	for name, test := range map[string]struct {
		events      []enumspb.EventType
		first, last int64
	}{
		"some are completed": {[]enumspb.EventType{other, scheduled, other, completed, scheduled, other, completed, scheduled}, 4, 7},
		"one is completed":   {[]enumspb.EventType{other, scheduled, completed, other}, 3, 3},
		"none is completed":  {[]enumspb.EventType{other, other, scheduled, other, other, scheduled, other}, 4, 4},
		"there is none":      {[]enumspb.EventType{other, other}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var events []*historypb.HistoryEvent
			for i, of := range test.events {
				events = append(events, &historypb.HistoryEvent{EventId: int64(i + 1), EventType: of})
			}
			for size := 1; size <= len(events)+1; size++ {
				read := pagesOf(t, events, size)
				first, err := workflows.FirstTask(t.Context(), "n", nil, func(
					_ context.Context, r *workflowservice.GetWorkflowExecutionHistoryRequest,
				) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
					page, next := read(r.NextPageToken)
					return &workflowservice.GetWorkflowExecutionHistoryResponse{History: page, NextPageToken: next}, nil
				})
				requireTask(t, test.first, first, err)
				slices.Reverse(events)
				read = pagesOf(t, events, size)
				last, err := workflows.LastTask(t.Context(), "n", nil, func(
					_ context.Context, r *workflowservice.GetWorkflowExecutionHistoryReverseRequest,
				) (*workflowservice.GetWorkflowExecutionHistoryReverseResponse, error) {
					page, next := read(r.NextPageToken)
					return &workflowservice.GetWorkflowExecutionHistoryReverseResponse{History: page, NextPageToken: next}, nil
				})
				requireTask(t, test.last, last, err)
				slices.Reverse(events)
			}
		})
	}
}

func requireTask(t *testing.T, want, got int64, err error) {
	t.Helper()
	if want == 0 {
		require.ErrorAs(t, err, new(*serviceerror.FailedPrecondition))
		return
	}
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// pagesOf reads events in pages of a size.
func pagesOf(t *testing.T, events []*historypb.HistoryEvent, size int) func(token []byte) (*historypb.History, []byte) {
	all := slices.Collect(slices.Chunk(events, size))
	return func(token []byte) (*historypb.History, []byte) {
		at := 0
		if len(token) > 0 {
			var err error
			at, err = strconv.Atoi(string(token))
			require.NoError(t, err)
		}
		page := &historypb.History{Events: all[at]}
		if at++; at < len(all) {
			return page, []byte(strconv.Itoa(at))
		}
		return page, nil
	}
}

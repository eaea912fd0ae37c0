package workflows_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/carillon-scheduler/carillon/internal/workflows"
)

// TestTaskToReset: the first or the last completed task is found on any page.
func TestTaskToReset(t *testing.T) {
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
				requireTask(t, test.first, pagesOf(t, events, size))
				slices.Reverse(events)
				requireTask(t, test.last, pagesOf(t, events, size))
				slices.Reverse(events)
			}
		})
	}
}

func requireTask(t *testing.T, want int64, read workflows.Pages) {
	t.Helper()
	got, err := workflows.TaskToReset(read)
	if want == 0 {
		require.ErrorAs(t, err, new(*serviceerror.FailedPrecondition))
		return
	}
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// pagesOf reads events in pages of a size.
func pagesOf(t *testing.T, events []*historypb.HistoryEvent, size int) workflows.Pages {
	all := slices.Collect(slices.Chunk(events, size))
	return func(token []byte) (*historypb.History, []byte, error) {
		at := 0
		if len(token) > 0 {
			var err error
			at, err = strconv.Atoi(string(token))
			require.NoError(t, err)
		}
		page := &historypb.History{Events: all[at]}
		if at++; at < len(all) {
			return page, []byte(strconv.Itoa(at)), nil
		}
		return page, nil, nil
	}
}

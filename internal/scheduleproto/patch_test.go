package scheduleproto_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/carillon-scheduler/carillon/internal/scheduleproto"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestPatch(t *testing.T) {
	t.Parallel()
	r, err := scheduleproto.Patch(&schedulepb.SchedulePatch{
		Pause: "broken", TriggerImmediately: &schedulepb.TriggerImmediatelyRequest{
			OverlapPolicy: enumspb.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL, ScheduledTime: timestamppb.New(to.Add(time.Millisecond)),
		},
		BackfillRequest: []*schedulepb.BackfillRequest{{
			StartTime: timestamppb.New(from), EndTime: timestamppb.New(to), OverlapPolicy: enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE,
		}},
	})
	require.NoError(t, err)
	assert.Equal(t, schedule.PatchRequest{
		Pause: &schedule.Note{Note: "broken"}, Trigger: &schedule.Trigger{Overlap: schedule.OverlapAllowAll, NominalTime: to},
		Backfills: []schedule.BackfillRange{{Start: from, End: to, Overlap: schedule.OverlapBufferOne}},
	}, r)
	for field, p := range map[string]*schedulepb.SchedulePatch{
		"patch.timeSkippingConfig":               {TimeSkippingConfig: &commonpb.TimeSkippingConfig{}},
		"patch.triggerImmediately.scheduledTime": {TriggerImmediately: &schedulepb.TriggerImmediatelyRequest{ScheduledTime: &timestamppb.Timestamp{Nanos: -1}}},
		"patch.triggerImmediately.overlapPolicy": {TriggerImmediately: &schedulepb.TriggerImmediatelyRequest{OverlapPolicy: -1}},
		"patch.backfillRequest[0].endTime":       {BackfillRequest: []*schedulepb.BackfillRequest{{EndTime: &timestamppb.Timestamp{Nanos: -1}}}},
	} {
		_, err := scheduleproto.Patch(p)
		assert.ErrorContains(t, err, field)
	}
}

func TestQueries(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "",
		"TemporalSchedulePaused = true": "paused = true",
		"`TemporalSchedulePaused`=false AND ScheduleId IN (\"it's\", 'TemporalSchedulePaused')": "paused = false and id in ('it''s', 'TemporalSchedulePaused')",
		"ScheduleNextActionTime < '2027-01-01'":                                                 "nextTime < '2027-01-01T00:00:00Z'",
		"id = 'a''b' or attr.'Größe' = 1e6":                                                     "id = 'a''b' or attr.'Größe' = 1e+06",
		"CustomerId = 'acme' or NOT `in` IS NULL and `ScheduleId` <> 'x'":                       "scheduleAttr.CustomerId = 'acme' or not scheduleAttr.in is null and id != 'x'",
		"`Größe` > 1 and memo.a = 2 and scheduleMemo.b = true":                                  "scheduleAttr.'Größe' > 1 and memo.a = 2 and scheduleMemo.b = true",
		`ScheduleId NOT STARTS_WITH 'it\'s' ORDER BY ScheduleNextActionTime DESC`:               "id is not null and not id starts_with 'it''s' order by nextTime desc",
		"TemporalScheduleId = 'a' and SchedulePaused = true":                                    "id = 'a' and paused = true",
	} {
		got, err := scheduleproto.Query(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got)
	}
	for text, want := range map[string]string{
		"ScheduleId = 'open": "at character 14: the string has no end",
		"`":                  "at character 1: the string has no end",
		"``= 1":              "at character 1: expected a name in the backquotes",
		"CustomerId = 'a' AND TemporalSchedulePaused = 'x'": "at character 47: paused is true or false",
		"`memo.` = 1":         "at character 6: expected a name after memo.",
		"GROUP BY ScheduleId": "at character 7: expected",
	} {
		_, err := scheduleproto.Query(text)
		require.ErrorContains(t, err, want, text)
		assert.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
	}
}

// TestEntryHasTheLastActions: an entry of a list has the newest 5 actions of the 10 that a schedule keeps.
func TestEntryHasTheLastActions(t *testing.T) {
	t.Parallel()
	described := &schedule.Description{ID: "s", Schedule: native()}
	for i := range 10 {
		described.Info.RecentActions = append(described.Info.RecentActions, schedule.Run{
			WorkflowID: "w" + strconv.Itoa(i), RunID: "r", ActionKind: schedule.ActionWorkflow, DueTime: from, StartTime: to,
		})
	}
	entry, err := scheduleproto.Entry(described)
	require.NoError(t, err)
	var got []string
	for _, action := range entry.Info.RecentActions {
		got = append(got, action.StartWorkflowResult.WorkflowId)
	}
	assert.Equal(t, []string{"w5", "w6", "w7", "w8", "w9"}, got)
	assert.Len(t, scheduleproto.Info(&described.Info).RecentActions, 10)
}

// TestInfo: a run of Carillon's own protocol is no execution of a workflow.
func TestInfo(t *testing.T) {
	t.Parallel()
	runs := []schedule.Run{
		{WorkflowID: "w", RunID: "r", ActionKind: schedule.ActionWorkflow, DueTime: from, StartTime: to},
		{WorkflowID: "n", RunID: "n", DueTime: from, StartTime: to, Status: schedule.StatusTimedOut},
	}
	info := scheduleproto.Info(&schedule.Info{
		ActionCount: 1, MissedCatchupWindow: 2, OverlapSkipped: 3, BufferDropped: 4, BufferSize: 5,
		RunningWorkflows: runs, RecentActions: runs, FutureActionTimes: []time.Time{from, to}, CreateTime: from,
	})
	require.Len(t, info.RunningWorkflows, 1)
	assert.Equal(t, "w", info.RunningWorkflows[0].WorkflowId)
	require.Len(t, info.RecentActions, 2)
	assert.Equal(t, "r", info.RecentActions[0].StartWorkflowResult.RunId)
	assert.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, info.RecentActions[0].StartWorkflowStatus)
	assert.Nil(t, info.RecentActions[1].StartWorkflowResult)
	assert.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT, info.RecentActions[1].StartWorkflowStatus)
	assert.Len(t, info.FutureActionTimes, 2)
	assert.Nil(t, info.UpdateTime)
	assert.EqualValues(t, 15, info.ActionCount+info.MissedCatchupWindow+info.OverlapSkipped+info.BufferDropped+info.BufferSize)

	native := native()
	payload := func(data string) *commonpb.Payload {
		return &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain"), "type": []byte("Keyword")}, Data: []byte(data)}
	}
	memo := &commonpb.Memo{Fields: map[string]*commonpb.Payload{"m": payload("1")}}
	attributes := &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{"a": payload(`"x"`)}}
	require.NoError(t, scheduleproto.SetFields(&native, memo, attributes))
	require.NoError(t, scheduleproto.SetFields(&native, nil, nil), "changes nothing")
	entry, err := scheduleproto.Entry(&schedule.Description{ID: "s", Schedule: native})
	require.NoError(t, err)
	assert.Equal(t, "carillon-run:report", entry.Info.WorkflowType.Name)
	assert.True(t, proto.Equal(memo, entry.Memo) && proto.Equal(attributes, entry.SearchAttributes))
	require.NoError(t, scheduleproto.SetFields(&native, &commonpb.Memo{}, &commonpb.SearchAttributes{}))
	assert.Empty(t, len(native.Memo)+len(native.SearchAttributes))
}

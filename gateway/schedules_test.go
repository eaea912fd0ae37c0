package gateway_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdkclient "go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// hourly is a schedule as Temporal's clients create one.
func hourly() *schedulepb.Schedule {
	return &schedulepb.Schedule{
		Spec: &schedulepb.ScheduleSpec{CronString: []string{"0 * * * *"}},
		Action: &schedulepb.ScheduleAction{Action: &schedulepb.ScheduleAction_StartWorkflow{StartWorkflow: &workflow.NewWorkflowExecutionInfo{
			WorkflowId: "report", WorkflowType: &common.WorkflowType{Name: "Report"}, TaskQueue: &taskqueue.TaskQueue{Name: "reports"},
		}}},
	}
}

func (in *installation) createSchedule(id string) *workflowservice.CreateScheduleResponse {
	in.t.Helper()
	created, err := in.CreateSchedule(in.t.Context(), &workflowservice.CreateScheduleRequest{
		Namespace: "default", ScheduleId: id, Schedule: hourly(), RequestId: "create " + id,
	})
	require.NoError(in.t, err)
	return created
}

func (in *installation) describeSchedule(id string) *workflowservice.DescribeScheduleResponse {
	in.t.Helper()
	d, err := in.DescribeSchedule(in.t.Context(), &workflowservice.DescribeScheduleRequest{Namespace: "default", ScheduleId: id})
	require.NoError(in.t, err)
	return d
}

// carillon is a client of Carillon's own API.
func (in *installation) carillon() *client.Client {
	c, err := client.New(in.conn, client.Config{Prefix: in.names.Prefix()})
	require.NoError(in.t, err)
	return c
}

func TestCreateSchedule(t *testing.T) {
	t.Parallel()
	in := install(t)
	created := in.createSchedule("s")
	assert.Len(t, created.ConflictToken, 8)
	d := in.describeSchedule("s")
	assert.Equal(t, created.ConflictToken, d.ConflictToken)
	assert.Len(t, d.Schedule.Spec.StructuredCalendar, 1)
	assert.Equal(t, "Report", d.Schedule.Action.GetStartWorkflow().WorkflowType.Name)
	assert.Equal(t, created.ConflictToken, in.createSchedule("s").ConflictToken, "a repeat")

	_, err := in.CreateSchedule(t.Context(), &workflowservice.CreateScheduleRequest{
		Namespace: "default", ScheduleId: "s", Schedule: hourly(), RequestId: "other",
	})
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	require.ErrorAs(t, err, &started)
	for _, change := range []func(*workflowservice.CreateScheduleRequest){
		func(r *workflowservice.CreateScheduleRequest) { r.ScheduleId = "" },
		func(r *workflowservice.CreateScheduleRequest) { r.Schedule = nil },
		func(r *workflowservice.CreateScheduleRequest) { r.RequestId = strings.Repeat("x", 1001) },
		func(r *workflowservice.CreateScheduleRequest) { r.Schedule.Spec.CronString[0] = "nonsense" },
		func(r *workflowservice.CreateScheduleRequest) {
			r.InitialPatch = &schedulepb.SchedulePatch{Pause: "a", Unpause: "b"}
		},
	} {
		r := &workflowservice.CreateScheduleRequest{Namespace: "default", ScheduleId: "t", Schedule: hourly(), RequestId: "t"}
		change(r)
		_, err = in.CreateSchedule(t.Context(), r)
		var invalid *serviceerror.InvalidArgument
		assert.ErrorAs(t, err, &invalid)
	}
}

// TestScheduleFields: memo and search attributes of a schedule itself are described, listed, searched for, kept by an update that says nothing
// of them, and replaced by one that does.
func TestScheduleFields(t *testing.T) {
	t.Parallel()
	in := seen(t)
	customer := func(name string) *common.SearchAttributes {
		return &common.SearchAttributes{IndexedFields: map[string]*common.Payload{"CustomerId": {
			Metadata: map[string][]byte{"encoding": []byte("json/plain"), "type": []byte("Keyword")}, Data: []byte(`"` + name + `"`),
		}}}
	}
	memo := &common.Memo{Fields: map[string]*common.Payload{"raw": {Metadata: map[string][]byte{"encoding": []byte("binary/plain")}, Data: []byte{0}}}}
	_, err := in.CreateSchedule(t.Context(), &workflowservice.CreateScheduleRequest{
		Namespace: "default", ScheduleId: "s", Schedule: hourly(), Memo: memo, SearchAttributes: customer("acme"),
	})
	require.NoError(t, err)
	in.createSchedule("other")
	found := func(name string) []*schedulepb.ScheduleListEntry {
		page, err := in.ListSchedules(t.Context(), &workflowservice.ListSchedulesRequest{
			Namespace: "default", Query: "CustomerId = '" + name + "'",
		})
		require.NoError(t, err)
		return page.Schedules
	}
	require.Len(t, found("acme"), 1)
	assert.True(t, proto.Equal(memo, found("acme")[0].Memo))
	assert.True(t, proto.Equal(customer("acme"), found("acme")[0].SearchAttributes))

	update := &workflowservice.UpdateScheduleRequest{Namespace: "default", ScheduleId: "s", Schedule: in.describeSchedule("s").Schedule}
	_, err = in.UpdateSchedule(t.Context(), update)
	require.NoError(t, err)
	d := in.describeSchedule("s")
	assert.True(t, proto.Equal(memo, d.Memo) && proto.Equal(customer("acme"), d.SearchAttributes))
	update.SearchAttributes = customer("globex")
	_, err = in.UpdateSchedule(t.Context(), update)
	require.NoError(t, err)
	assert.Empty(t, found("acme"))
	require.Len(t, found("globex"), 1)
	update.SearchAttributes, update.Memo = &common.SearchAttributes{}, &common.Memo{}
	_, err = in.UpdateSchedule(t.Context(), update)
	require.NoError(t, err)
	assert.Empty(t, found("globex"))
	assert.Empty(t, in.describeSchedule("s").Memo.Fields)
	assert.Nil(t, in.describeSchedule("s").SearchAttributes, "SDKs tell none from an empty set")
}

// TestInitialPatch: both ways in which a new schedule is triggered leave one trigger, also if the request is repeated.
func TestInitialPatch(t *testing.T) {
	t.Parallel()
	in := install(t)
	for id, overlap := range map[string]enums.ScheduleOverlapPolicy{
		"plain": enums.SCHEDULE_OVERLAP_POLICY_UNSPECIFIED, "all": enums.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL,
	} {
		for range 2 {
			_, err := in.CreateSchedule(t.Context(), &workflowservice.CreateScheduleRequest{
				Namespace: "default", ScheduleId: id, Schedule: hourly(), RequestId: id, InitialPatch: &schedulepb.SchedulePatch{
					Pause: "later", TriggerImmediately: &schedulepb.TriggerImmediatelyRequest{OverlapPolicy: overlap},
				},
			})
			require.NoError(t, err)
		}
		d, err := in.carillon().Describe(t.Context(), id)
		require.NoError(t, err)
		assert.True(t, d.State.Paused)
		assert.Equal(t, "later", d.State.Notes)
		require.Len(t, d.Info.Backfills, 1)
		assert.True(t, d.Info.Backfills[0].Trigger)
	}
}

func TestUpdateSchedule(t *testing.T) {
	t.Parallel()
	in := install(t)
	token := in.createSchedule("s").ConflictToken
	update := &workflowservice.UpdateScheduleRequest{
		Namespace: "default", ScheduleId: "s", ConflictToken: token, RequestId: "first", Schedule: in.describeSchedule("s").Schedule,
	}
	update.Schedule.State.Notes = "new"
	for range 2 { // a repeat is carried out once
		_, err := in.UpdateSchedule(t.Context(), update)
		require.NoError(t, err)
	}
	stored, err := in.carillon().Describe(t.Context(), "s")
	require.NoError(t, err)
	assert.Equal(t, []string{"0 * * * *"}, stored.Spec.Cron, "the expression is still there")
	assert.Equal(t, "new", stored.State.Notes)

	update.RequestId = "second"
	_, err = in.UpdateSchedule(t.Context(), update)
	var failed *serviceerror.FailedPrecondition
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "mismatched conflict token", failed.Message)
	update.ConflictToken, update.Schedule = nil, hourly()
	_, err = in.UpdateSchedule(t.Context(), update)
	require.NoError(t, err, "without a token")
	update.ConflictToken = []byte("x")
	_, err = in.UpdateSchedule(t.Context(), update)
	var invalid *serviceerror.InvalidArgument
	require.ErrorAs(t, err, &invalid)
	update.ConflictToken, update.ScheduleId = nil, "none"
	_, err = in.UpdateSchedule(t.Context(), update)
	var missing *serviceerror.NotFound
	require.ErrorAs(t, err, &missing)
}

// TestNativeSchedule: a schedule of runs is shown as such, can be paused by an update, and does not become one of workflows.
func TestNativeSchedule(t *testing.T) {
	t.Parallel()
	in := install(t)
	_, err := in.carillon().Create(t.Context(), schedule.CreateRequest{ID: "n", Schedule: schedule.Schedule{
		Spec:   schedule.Spec{Cron: []string{"0 9 L * *"}},
		Action: schedule.Action{Type: "report", TaskQueue: "reports", Input: []byte(`{"a":1}`)},
	}})
	require.NoError(t, err)
	d := in.describeSchedule("n")
	assert.Equal(t, "carillon-run:report", d.Schedule.Action.GetStartWorkflow().WorkflowType.Name)
	d.Schedule.State.Paused = true
	update := &workflowservice.UpdateScheduleRequest{Namespace: "default", ScheduleId: "n", Schedule: d.Schedule}
	_, err = in.UpdateSchedule(t.Context(), update)
	require.NoError(t, err)
	stored, err := in.carillon().Describe(t.Context(), "n")
	require.NoError(t, err)
	assert.True(t, stored.State.Paused)
	assert.JSONEq(t, `{"a":1}`, string(stored.Action.Input))
	assert.Equal(t, []string{"0 9 L * *"}, stored.Spec.Cron)
	update.Schedule.Action = hourly().Action
	_, err = in.UpdateSchedule(t.Context(), update)
	var failed *serviceerror.FailedPrecondition
	require.ErrorAs(t, err, &failed)
}

func TestPatchSchedule(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.createSchedule("s")
	patch := func(id string, p *schedulepb.SchedulePatch) error {
		_, err := in.PatchSchedule(t.Context(), &workflowservice.PatchScheduleRequest{Namespace: "default", ScheduleId: id, Patch: p})
		return err
	}
	require.NoError(t, patch("s", &schedulepb.SchedulePatch{Pause: "broken"}))
	d := in.describeSchedule("s")
	assert.True(t, d.Schedule.State.Paused)
	assert.Equal(t, "broken", d.Schedule.State.Notes)
	require.NoError(t, patch("s", &schedulepb.SchedulePatch{Unpause: "repaired"}))
	assert.False(t, in.describeSchedule("s").Schedule.State.Paused)
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	backfill := &schedulepb.BackfillRequest{StartTime: timestamppb.New(day), EndTime: timestamppb.New(day.AddDate(0, 0, 1))}
	require.NoError(t, patch("s", &schedulepb.SchedulePatch{
		TriggerImmediately: &schedulepb.TriggerImmediatelyRequest{}, BackfillRequest: []*schedulepb.BackfillRequest{backfill},
	}))
	stored, err := in.carillon().Describe(t.Context(), "s")
	require.NoError(t, err)
	assert.Len(t, stored.Info.Backfills, 2)

	var missing *serviceerror.NotFound
	require.ErrorAs(t, patch("none", &schedulepb.SchedulePatch{Pause: "x"}), &missing)
	var invalid *serviceerror.InvalidArgument
	require.ErrorAs(t, patch("s", nil), &invalid)
	many := &schedulepb.SchedulePatch{}
	for range schedule.MaxBackfills - 1 {
		many.BackfillRequest = append(many.BackfillRequest, backfill)
	}
	var exhausted *serviceerror.ResourceExhausted
	require.ErrorAs(t, patch("s", many), &exhausted)
}

func TestDeleteSchedule(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.createSchedule("s")
	request := &workflowservice.DeleteScheduleRequest{Namespace: "default", ScheduleId: "s"}
	_, err := in.DeleteSchedule(t.Context(), request)
	require.NoError(t, err)
	var missing *serviceerror.NotFound
	_, err = in.DescribeSchedule(t.Context(), &workflowservice.DescribeScheduleRequest{Namespace: "default", ScheduleId: "s"})
	require.ErrorAs(t, err, &missing)
	_, err = in.DeleteSchedule(t.Context(), request)
	require.ErrorAs(t, err, &missing)
}

func TestListSchedules(t *testing.T) {
	t.Parallel()
	in := seen(t)
	for _, id := range []string{"a", "b", "c"} {
		in.createSchedule(id)
	}
	var ids []string
	request := &workflowservice.ListSchedulesRequest{Namespace: "default", MaximumPageSize: 2}
	for more := true; more; more = len(request.NextPageToken) > 0 {
		page, err := in.ListSchedules(t.Context(), request)
		require.NoError(t, err)
		for _, entry := range page.Schedules {
			ids = append(ids, entry.ScheduleId)
			assert.Equal(t, "Report", entry.Info.WorkflowType.Name)
		}
		request.NextPageToken = page.NextPageToken
	}
	assert.Equal(t, []string{"a", "b", "c"}, ids)
	counted, err := in.CountSchedules(t.Context(), &workflowservice.CountSchedulesRequest{Namespace: "default"})
	require.NoError(t, err)
	assert.EqualValues(t, 3, counted.Count)
	found := &workflowservice.CountSchedulesRequest{Namespace: "default", Query: `TemporalSchedulePaused = false AND ScheduleId != "b"`}
	counted, err = in.CountSchedules(t.Context(), found)
	var without *serviceerror.FailedPrecondition
	if !errors.As(err, &without) { // the other frontend has no index
		require.NoError(t, err)
		assert.EqualValues(t, 2, counted.Count)
	}
}

func TestListScheduleMatchingTimes(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.createSchedule("s")
	first := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	request := &workflowservice.ListScheduleMatchingTimesRequest{
		Namespace: "default", ScheduleId: "s", StartTime: timestamppb.New(first), EndTime: timestamppb.New(first.Add(3 * time.Hour)),
	}
	times, err := in.ListScheduleMatchingTimes(t.Context(), request)
	require.NoError(t, err)
	require.Len(t, times.StartTime, 3, "the first one is not in the range")
	assert.Equal(t, first.Add(time.Hour), times.StartTime[0].AsTime())
	request.StartTime, request.EndTime = request.EndTime, request.StartTime
	times, err = in.ListScheduleMatchingTimes(t.Context(), request)
	require.NoError(t, err)
	assert.Empty(t, times.StartTime)
	request.StartTime = nil
	_, err = in.ListScheduleMatchingTimes(t.Context(), request)
	var invalid *serviceerror.InvalidArgument
	require.ErrorAs(t, err, &invalid)
}

// TestScheduleClientOfTheSDK goes with a schedule through its life, as a program with Temporal's SDK does.
func TestScheduleClientOfTheSDK(t *testing.T) {
	t.Parallel()
	in := install(t)
	c, err := sdkclient.Dial(sdkclient.Options{HostPort: in.address, Logger: natstest.Logger(t)})
	require.NoError(t, err)
	defer c.Close()
	options := sdkclient.ScheduleOptions{
		ID: "s", Spec: sdkclient.ScheduleSpec{CronExpressions: []string{"30 2 * * mon-fri"}, TimeZoneName: "Europe/Berlin"},
		Action:  &sdkclient.ScheduleWorkflowAction{ID: "report", Workflow: "Report", TaskQueue: "reports", Args: []any{"a", 1}},
		Overlap: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE, TriggerImmediately: true, CatchupWindow: time.Hour,
	}
	handle, err := c.ScheduleClient().Create(t.Context(), options)
	require.NoError(t, err)
	_, err = c.ScheduleClient().Create(t.Context(), options)
	require.ErrorContains(t, err, "already")
	d, err := handle.Describe(t.Context())
	require.NoError(t, err)
	assert.Equal(t, time.Hour, d.Schedule.Policy.CatchupWindow)
	require.NoError(t, handle.Update(t.Context(), sdkclient.ScheduleUpdateOptions{
		DoUpdate: func(in sdkclient.ScheduleUpdateInput) (*sdkclient.ScheduleUpdate, error) {
			in.Description.Schedule.Policy.PauseOnFailure = true
			return &sdkclient.ScheduleUpdate{Schedule: &in.Description.Schedule}, nil
		},
	}))
	stored, err := in.carillon().Describe(t.Context(), "s")
	require.NoError(t, err)
	assert.True(t, stored.Policies.PauseOnFailure)
	assert.Equal(t, []string{"30 2 * * mon-fri"}, stored.Spec.Cron)
	assert.JSONEq(t, `["a",1]`, string(stored.Action.Input))
	require.NoError(t, handle.Pause(t.Context(), sdkclient.SchedulePauseOptions{Note: "broken"}))
	require.NoError(t, handle.Trigger(t.Context(), sdkclient.ScheduleTriggerOptions{Overlap: enums.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL}))
	list, err := c.ScheduleClient().List(t.Context(), sdkclient.ScheduleListOptions{})
	require.NoError(t, err)
	entry, err := list.Next()
	require.NoError(t, err)
	assert.True(t, entry.Paused)
	require.NoError(t, handle.Delete(t.Context()))
}

// TestScheduleWithoutTimeouts: clients send zero durations for those that are not set.
func TestScheduleWithoutTimeouts(t *testing.T) {
	t.Parallel()
	in := install(t)
	s := hourly()
	s.Action.GetStartWorkflow().WorkflowTaskTimeout, s.Policies = durationpb.New(0), &schedulepb.SchedulePolicies{CatchupWindow: durationpb.New(0)}
	_, err := in.CreateSchedule(t.Context(), &workflowservice.CreateScheduleRequest{Namespace: "default", ScheduleId: "s", Schedule: s})
	require.NoError(t, err)
	assert.Nil(t, in.describeSchedule("s").Schedule.Action.GetStartWorkflow().WorkflowTaskTimeout)
}

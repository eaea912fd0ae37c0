package scheduleproto_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/scheduleproto"
	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

var (
	from = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	to   = time.Date(2027, 12, 31, 0, 0, 0, 0, time.UTC)
)

// full is a schedule of a workflow with everything that Temporal can express.
func full() schedule.Schedule {
	return schedule.Schedule{
		Spec: schedule.Spec{
			Cron: []string{"30 2 * * mon-fri", "@every 1h/5m"}, Calendars: []schedule.Calendar{{Hour: "9-17/2", Comment: "office"}},
			StructuredCalendars: []schedule.StructuredCalendar{{
				Second: []schedule.Range{{}}, Minute: []schedule.Range{{}}, Hour: []schedule.Range{{Start: 3}},
				DayOfMonth: []schedule.Range{{Start: 1, End: 31}}, Month: []schedule.Range{{Start: 1, End: 12}}, DayOfWeek: []schedule.Range{{End: 6}},
			}},
			Intervals: []schedule.Interval{{Every: schedule.Duration(time.Hour), Phase: schedule.Duration(time.Minute)}},
			Jitter:    schedule.Duration(time.Second), TimeZone: "Europe/Berlin", StartTime: from, EndTime: to,
			ExcludeCalendars: []schedule.Calendar{{Month: "aug"}},
		},
		Action: schedule.Action{
			Kind: schedule.ActionWorkflow, Type: "Report", WorkflowID: "report", TaskQueue: "reports", Priority: 2, FairnessKey: "acme", FairnessWeight: 2.5,
			Input:            json.RawMessage(`["a",1,null,{"metadata":{"encoding":"YmluYXJ5L3BsYWlu"},"data":"AP8="}]`),
			HeaderPayloads:   map[string]json.RawMessage{"h": json.RawMessage(`"x"`)},
			Memo:             map[string]json.RawMessage{"m": json.RawMessage(`{"a":1}`)},
			SearchAttributes: map[string]json.RawMessage{"s": json.RawMessage(`["k"]`)},
			UserMetadata:     &schedule.UserMetadata{Summary: json.RawMessage(`"sum"`), Details: json.RawMessage(`"det"`)},
			RunTimeout:       schedule.Duration(time.Hour), ExecutionTimeout: schedule.Duration(2 * time.Hour), TaskTimeout: schedule.Duration(time.Second),
			RetryPolicy: &schedule.RetryPolicy{
				InitialInterval: schedule.Duration(time.Minute), BackoffCoefficient: 1.5, MaximumInterval: schedule.Duration(time.Hour), MaximumAttempts: 3,
				NonRetryableErrorTypes: []string{"Fatal"},
			},
		},
		Policies: schedule.Policies{
			Overlap: schedule.OverlapBufferAll, CatchupWindow: schedule.Duration(time.Minute), PauseOnFailure: true, KeepOriginalWorkflowID: true,
		},
		State: schedule.State{Notes: "why", Paused: true, LimitedActions: true, RemainingActions: 3},
	}
}

// native is a schedule that starts a run, with what Temporal cannot express.
func native() schedule.Schedule {
	return schedule.Schedule{
		Spec: schedule.Spec{
			Cron: []string{"0 9 L * *", "0 9 * * fri#2"}, At: []time.Time{from}, ExcludeCalendarsNamed: []string{"holidays"},
		},
		Action: schedule.Action{
			Type: "report", TaskQueue: "reports", Input: json.RawMessage(`{"a":1}`), Headers: map[string]string{"a": "b"},
			HeartbeatTimeout: schedule.Duration(time.Minute), RetryPolicy: &schedule.RetryPolicy{MaximumAttempts: 3},
		},
		Policies: schedule.Policies{ConcurrencyLimit: 4, CatchupMode: schedule.CatchupLatest, LostRuns: schedule.LostRunWait},
	}
}

func shown(t require.TestingT, s schedule.Schedule) *schedulepb.Schedule {
	p, err := scheduleproto.Schedule(&s)
	require.NoError(t, err)
	return p
}

// TestRoundTrip: what is shown and sent back is the same schedule, in the form in which it was shown.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	first := shown(t, full())
	parsed, err := scheduleproto.Parse(first)
	require.NoError(t, err)
	require.NoError(t, parsed.Validate())
	want := full()
	assert.Equal(t, want.Action, parsed.Action)
	assert.Equal(t, want.Policies, parsed.Policies)
	assert.Equal(t, want.State, parsed.State)
	assert.True(t, proto.Equal(first, shown(t, parsed)), "%v\n%v", first, shown(t, parsed))
	assert.Len(t, first.Spec.StructuredCalendar, 3)
	assert.Len(t, first.Spec.Interval, 2)
	assert.Empty(t, first.Spec.CronString)
}

func TestDefaultsAreShown(t *testing.T) {
	t.Parallel()
	p := shown(t, schedule.Schedule{Action: schedule.Action{Kind: schedule.ActionWorkflow, Type: "Report", TaskQueue: "q"}})
	assert.Equal(t, enumspb.SCHEDULE_OVERLAP_POLICY_SKIP, p.Policies.OverlapPolicy)
	assert.Equal(t, schedule.DefaultCatchupWindow, p.Policies.CatchupWindow.AsDuration())
	for i, policy := range schedule.OverlapPolicies() {
		p := shown(t, schedule.Schedule{Policies: schedule.Policies{Overlap: policy}})
		assert.EqualValues(t, i+1, p.Policies.OverlapPolicy)
	}
	assert.Equal(t, enumspb.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL,
		shown(t, schedule.Schedule{Policies: schedule.Policies{Overlap: schedule.OverlapAllowAll}}).Policies.OverlapPolicy)
}

// TestShownSpecsKeepTheirTimes: a spec that Temporal can express has the same times after it was shown and read. Any spec is kept by an
// update that leaves it alone.
func TestShownSpecsKeepTheirTimes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := full()
		s.Spec = scheduletest.DrawSpec(t, "Europe/Berlin", from, to)
		p := shown(t, s)
		next, err := scheduleproto.Replace(&s, p)
		require.NoError(t, err)
		require.Equal(t, s, next)
		parsed, err := scheduleproto.Parse(p)
		if err != nil {
			require.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err), "something is hidden")
			return
		}
		before, err := specproc.Compile(s.Spec)
		require.NoError(t, err)
		after, err := specproc.Compile(parsed.Spec)
		require.NoError(t, err)
		at := from.Add(-time.Second)
		for range 10 {
			want, more := before.Next(at, "")
			got, also := after.Next(at, "")
			require.Equal(t, more, also)
			require.True(t, want.Nominal.Equal(got.Nominal))
			if at = want.Nominal; !more {
				break
			}
		}
	})
}

// TestNativePartsStay: nobody can take a run for a workflow, and no update loses what cannot be seen.
func TestNativePartsStay(t *testing.T) {
	t.Parallel()
	s, p := native(), shown(t, native())
	assert.Equal(t, "carillon-run:report", p.Action.GetStartWorkflow().WorkflowType.Name)
	for _, c := range p.Spec.StructuredCalendar {
		assert.Contains(t, c.Comment, "carillon: ")
	}
	assert.Len(t, p.Spec.StructuredCalendar, 3)
	_, err := scheduleproto.Parse(p)
	assert.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))

	p.State.Notes, p.Policies.OverlapPolicy = "new", enumspb.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL
	next, err := scheduleproto.Replace(&s, p)
	require.NoError(t, err)
	want := native()
	want.State.Notes, want.Policies.Overlap, want.Policies.CatchupWindow = "new", schedule.OverlapAllowAll, schedule.Duration(schedule.DefaultCatchupWindow)
	assert.Equal(t, want, next)

	var refused *serviceerror.FailedPrecondition
	other := proto.CloneOf(p)
	other.Spec.StructuredCalendar = other.Spec.StructuredCalendar[:1]
	_, err = scheduleproto.Replace(&s, other)
	require.ErrorAs(t, err, &refused)
	assert.Contains(t, err.Error(), "at, excludeCalendarsNamed, days such as L")
	for _, change := range []func(*workflowpb.NewWorkflowExecutionInfo){
		func(w *workflowpb.NewWorkflowExecutionInfo) { w.WorkflowType.Name = "Report" },
		func(w *workflowpb.NewWorkflowExecutionInfo) {
			w.Input = &commonpb.Payloads{Payloads: []*commonpb.Payload{{}}}
		},
	} {
		other = proto.CloneOf(p)
		change(other.Action.GetStartWorkflow())
		_, err = scheduleproto.Replace(&s, other)
		require.ErrorAs(t, err, &refused)
	}
	workflow := full()
	_, err = scheduleproto.Replace(&workflow, &schedulepb.Schedule{Spec: shown(t, full()).Spec, Action: p.Action})
	assert.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err), "a workflow does not become a run")
}

// TestCronOfTemporal: any # begins a comment, and both day fields must match.
func TestCronOfTemporal(t *testing.T) {
	t.Parallel()
	p := shown(t, full())
	p.Spec = &schedulepb.ScheduleSpec{CronString: []string{"CRON_TZ=Europe/Paris 0 9 13 * fri#2", "CRON_TZ=Europe/Paris 0 9 * * fri #x"}}
	s, err := scheduleproto.Parse(p)
	require.NoError(t, err)
	assert.Equal(t, []string{"CRON_TZ=Europe/Paris 0 9 * * fri # x"}, s.Spec.Cron)
	require.Len(t, s.Spec.StructuredCalendars, 1)
	both := s.Spec.StructuredCalendars[0]
	assert.Equal(t, "2", both.Comment)
	assert.Equal(t, []schedule.Range{{Start: 13, End: 13}}, normal(both.DayOfMonth))
	assert.Equal(t, []schedule.Range{{Start: 5, End: 5}}, normal(both.DayOfWeek))
	assert.Equal(t, "Europe/Paris", s.Spec.TimeZone)
	require.NoError(t, s.Validate())
	p.Spec.TimezoneName = "Europe/Berlin"
	_, err = scheduleproto.Parse(p)
	assert.ErrorContains(t, err, "schedule.spec.cronString[0]: stands in time zone")
}

func normal(ranges []schedule.Range) []schedule.Range {
	for i := range ranges {
		ranges[i].End, ranges[i].Step = max(ranges[i].Start, ranges[i].End), 0
	}
	return ranges
}

// TestRetriesAreShownWithDefaults, and an update that sends them back changes nothing.
func TestRetriesAreShownWithDefaults(t *testing.T) {
	t.Parallel()
	s := full()
	s.Action.RetryPolicy = &schedule.RetryPolicy{InitialInterval: schedule.Duration(3 * time.Second)}
	p := shown(t, s)
	assert.True(t, proto.Equal(&commonpb.RetryPolicy{
		InitialInterval: durationpb.New(3 * time.Second), BackoffCoefficient: 2, MaximumInterval: durationpb.New(5 * time.Minute),
	}, p.Action.GetStartWorkflow().RetryPolicy))
	again, err := scheduleproto.Replace(&s, p)
	require.NoError(t, err)
	assert.Equal(t, s.Action.RetryPolicy, again.Action.RetryPolicy)
	p.Action.GetStartWorkflow().RetryPolicy.MaximumInterval = &durationpb.Duration{Nanos: -1, Seconds: 1}
	_, err = scheduleproto.Parse(p)
	assert.ErrorContains(t, err, "startWorkflow.retryPolicy.maximumInterval")
}

// TestNothingIsDropped: a field that Carillon has no place for is refused by its name.
func TestNothingIsDropped(t *testing.T) {
	t.Parallel()
	type workflow = workflowpb.NewWorkflowExecutionInfo
	later := &commonpb.Payload{}
	later.ProtoReflect().SetUnknown([]byte{0xf8, 0x07, 1})
	for field, change := range map[string]func(*workflow){
		"versioningOverride":    func(w *workflow) { w.VersioningOverride = &workflowpb.VersioningOverride{} },
		"taskQueue.normalName":  func(w *workflow) { w.TaskQueue = &taskqueuepb.TaskQueue{Name: "q", NormalName: "n"} },
		"cronSchedule":          func(w *workflow) { w.CronSchedule = "* * * * *" },
		"workflowIdReusePolicy": func(w *workflow) { w.WorkflowIdReusePolicy = enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE },
		"input[0]":              func(w *workflow) { w.Input = &commonpb.Payloads{Payloads: []*commonpb.Payload{later}} },
		"memo.m":                func(w *workflow) { w.Memo = &commonpb.Memo{Fields: map[string]*commonpb.Payload{"m": later}} },
		"workflowRunTimeout":    func(w *workflow) { w.WorkflowRunTimeout = durationpb.New(1<<63 - 1); w.WorkflowRunTimeout.Seconds++ },
	} {
		p := shown(t, full())
		change(p.Action.GetStartWorkflow())
		_, err := scheduleproto.Parse(p)
		assert.ErrorContains(t, err, "schedule.action.startWorkflow."+field)
	}
	for field, p := range map[string]*schedulepb.Schedule{
		"schedule.action.startWorkflow":   {},
		"schedule.spec.startTime":         {Spec: &schedulepb.ScheduleSpec{StartTime: &timestamppb.Timestamp{Nanos: -1}}},
		"schedule.policies.overlapPolicy": {Action: shown(t, full()).Action, Policies: &schedulepb.SchedulePolicies{OverlapPolicy: 7}},
	} {
		_, err := scheduleproto.Parse(p)
		assert.ErrorContains(t, err, field)
		assert.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	token, err := scheduleproto.ParseToken(scheduleproto.Token(1 << 40))
	require.NoError(t, err)
	assert.EqualValues(t, 1<<40, token)
	token, err = scheduleproto.ParseToken(nil)
	require.NoError(t, err)
	assert.Zero(t, token)
	_, err = scheduleproto.ParseToken([]byte{1})
	assert.Error(t, err)
}

package schedule_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// validCreate returns the smallest request that is valid.
func validCreate() schedule.CreateRequest {
	return schedule.CreateRequest{ID: "daily", Schedule: schedule.Schedule{Action: schedule.Action{Type: "report", TaskQueue: "reports"}}}
}

func TestValidateAccepts(t *testing.T) {
	t.Parallel()
	require.NoError(t, validCreate().Validate())

	full := scheduletest.Schedule()
	require.NoError(t, full.Spec.ValidateWith(scheduletest.Named()))
	require.NoError(t, full.Validate())

	atLimits := validCreate()
	atLimits.ID = strings.Repeat("é", 127) + "x"
	atLimits.Action.Input = json.RawMessage(`"` + strings.Repeat("x", schedule.MaxInputBytes-2) + `"`)
	atLimits.Action.Priority = 5
	atLimits.Action.RetryPolicy = &schedule.RetryPolicy{BackoffCoefficient: 1}
	atLimits.Action.Memo = map[string]json.RawMessage{"deep": json.RawMessage(scheduletest.Nested(schedule.MaxInputDepth)), "none": json.RawMessage("null")}
	atLimits.Action.Headers = manyHeaders(schedule.MaxMapEntries)
	atLimits.State.Notes = strings.Repeat("\n", schedule.MaxNoteBytes)
	require.NoError(t, atLimits.Validate())

	for _, policy := range append(schedule.OverlapPolicies(), schedule.OverlapUnspecified) {
		require.NoError(t, schedule.Policies{Overlap: policy}.Validate())
	}
	for _, mode := range append(schedule.CatchupModes(), "") {
		require.NoError(t, schedule.Policies{CatchupMode: mode}.Validate())
	}
	for _, policy := range append(schedule.LostRunPolicies(), "") {
		require.NoError(t, schedule.Policies{LostRuns: policy}.Validate())
	}
}

func manyHeaders(n int) map[string]string {
	headers := make(map[string]string, n)
	for i := range n {
		headers[fmt.Sprintf("h%d", i)] = "x"
	}
	return headers
}

func TestCreateRequestValidate(t *testing.T) {
	t.Parallel()
	type edit = func(*schedule.CreateRequest)
	raw := func(text string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"good": json.RawMessage("1"), "k": json.RawMessage(text), "worse": json.RawMessage("{")}
	}
	for _, test := range []struct {
		want string
		edit edit
	}{
		{`id: is empty: use 1 to 255 bytes of text`, func(r *schedule.CreateRequest) { r.ID = "" }},
		{`id: is 256 bytes long: at most 255 are accepted`, func(r *schedule.CreateRequest) { r.ID = strings.Repeat("é", 128) }},
		{`id: is not valid UTF-8`, func(r *schedule.CreateRequest) { r.ID = "a\xff" }},
		{`id: contains the control character U+000A: use printable text`, func(r *schedule.CreateRequest) { r.ID = "a\nb" }},
		{`id: contains the control character U+0085: use printable text`, func(r *schedule.CreateRequest) { r.ID = "a\u0085b" }},
		{`id: contains U+202E, which cannot be seen: use printable text`, func(r *schedule.CreateRequest) { r.ID = "gpj.\u202eexe" }},
		{`id: contains U+200B, which cannot be seen: use printable text`, func(r *schedule.CreateRequest) { r.ID = "a\u200bb" }},
		{`id: contains U+2028, which cannot be seen: use printable text`, func(r *schedule.CreateRequest) { r.ID = "a\u2028b" }},
		{`action.type: contains U+2066, which cannot be seen: use printable text`, func(r *schedule.CreateRequest) { r.Action.Type = "\u2066t" }},
		{`action.taskQueue: contains U+FEFF, which cannot be seen: use printable text`, func(r *schedule.CreateRequest) { r.Action.TaskQueue = "\ufeffq" }},
		{`action.workflowId: contains U+200D, which cannot be seen: use printable text`, func(r *schedule.CreateRequest) { r.Action.WorkflowID = "w\u200d" }},
		{`requestId: contains the control character U+0000: use printable text`, func(r *schedule.CreateRequest) { r.RequestID = "\x00" }},

		{`spec.jitter: -1s is negative: use 0 or more`, func(r *schedule.CreateRequest) { r.Spec.Jitter = schedule.Duration(-time.Second) }},

		{`action.type: is empty: use 1 to 255 bytes of text`, func(r *schedule.CreateRequest) { r.Action.Type = "" }},
		{`action.taskQueue: is empty: use 1 to 255 bytes of text`, func(r *schedule.CreateRequest) { r.Action.TaskQueue = "" }},
		{`action.workflowId: is 300 bytes long: at most 255 are accepted`, func(r *schedule.CreateRequest) { r.Action.WorkflowID = strings.Repeat("x", 300) }},
		{`action.input: is 524289 bytes long: at most 524288 (512 KiB) are accepted; store it elsewhere and pass a reference`, func(r *schedule.CreateRequest) {
			r.Action.Input = json.RawMessage(`"` + strings.Repeat("x", schedule.MaxInputBytes-1) + `"`)
		}},
		{`action.input: is not valid JSON: line 1, column 2: unexpected end of JSON input`, func(r *schedule.CreateRequest) { r.Action.Input = json.RawMessage(`[1`) }},
		{`action.input[1].a: stands twice: use each key once`, func(r *schedule.CreateRequest) { r.Action.Input = json.RawMessage(`[0,{"a":1,"a":2}]`) }},
		{`action.input: is nested too deeply: at most 100 levels are accepted`, func(r *schedule.CreateRequest) { r.Action.Input = json.RawMessage(scheduletest.Nested(101)) }},
		{`action.headers: has 101 entries: at most 100 are accepted`, func(r *schedule.CreateRequest) { r.Action.Headers = manyHeaders(101) }},
		{`action.headers: is 32769 bytes long with its names: at most 32768 are accepted`, func(r *schedule.CreateRequest) {
			r.Action.Headers = map[string]string{"a": strings.Repeat("x", schedule.MaxMapBytes)}
		}},
		{`action.headers[""]: is empty: use 1 to 255 bytes of text`, func(r *schedule.CreateRequest) { r.Action.Headers = map[string]string{"": "x", "a": "\xff"} }},
		{`action.headers.a: is not valid UTF-8`, func(r *schedule.CreateRequest) { r.Action.Headers = map[string]string{"a": "\xff", "b": "\xff"} }},
		{`action.headers["a\n"]: contains the control character U+000A: use printable text`, func(r *schedule.CreateRequest) { r.Action.Headers = map[string]string{"a\n": "x"} }},
		{`action.memo.k: is not valid JSON: line 1, column 1: unexpected end of JSON input`, func(r *schedule.CreateRequest) { r.Action.Memo = raw("") }},
		{`action.memo.k.x: stands twice: use each key once`, func(r *schedule.CreateRequest) { r.Action.Memo = raw(`{"x":1,"x":1}`) }},
		{`action.searchAttributes.k: is not valid JSON: line 1, column 1: invalid character 'x' looking for beginning of value`, func(r *schedule.CreateRequest) { r.Action.SearchAttributes = raw("x") }},
		{`action.runTimeout: -1s is negative: use 0 or more`, func(r *schedule.CreateRequest) { r.Action.RunTimeout = schedule.Duration(-time.Second) }},
		{`action.executionTimeout: -1s is negative: use 0 or more`, func(r *schedule.CreateRequest) { r.Action.ExecutionTimeout = schedule.Duration(-time.Second) }},
		{`action.taskTimeout: -1s is negative: use 0 or more`, func(r *schedule.CreateRequest) { r.Action.TaskTimeout = schedule.Duration(-time.Second) }},
		{`action.priority: 6 is out of range: use 1 (first) to 5, or 0 for the default`, func(r *schedule.CreateRequest) { r.Action.Priority = 6 }},
		{`action.priority: -1 is out of range: use 1 (first) to 5, or 0 for the default`, func(r *schedule.CreateRequest) { r.Action.Priority = -1 }},

		{`action.retryPolicy.initialInterval: -1s is negative: use 0 or more`, retry(schedule.RetryPolicy{InitialInterval: schedule.Duration(-time.Second)})},
		{`action.retryPolicy.backoffCoefficient: 0.5 is out of range: use a number from 1, or 0 for the default`, retry(schedule.RetryPolicy{BackoffCoefficient: 0.5})},
		{`action.retryPolicy.backoffCoefficient: -2 is out of range: use a number from 1, or 0 for the default`, retry(schedule.RetryPolicy{BackoffCoefficient: -2})},
		{`action.retryPolicy.backoffCoefficient: NaN is out of range: use a number from 1, or 0 for the default`, retry(schedule.RetryPolicy{BackoffCoefficient: math.NaN()})},
		{`action.retryPolicy.backoffCoefficient: +Inf is out of range: use a number from 1, or 0 for the default`, retry(schedule.RetryPolicy{BackoffCoefficient: math.Inf(1)})},
		{`action.retryPolicy.maximumInterval: -1s is negative: use 0 or more`, retry(schedule.RetryPolicy{MaximumInterval: schedule.Duration(-time.Second)})},
		{`action.retryPolicy.maximumInterval: 1s is less than initialInterval (2s): use that or more, or 0 for the default`, retry(schedule.RetryPolicy{InitialInterval: schedule.Duration(2 * time.Second), MaximumInterval: schedule.Duration(time.Second)})},
		{`action.retryPolicy.maximumAttempts: -1 is negative: use 0 or more`, retry(schedule.RetryPolicy{MaximumAttempts: -1})},
		{`action.retryPolicy.nonRetryableErrorTypes: has 101 entries: at most 100 are accepted`, retry(schedule.RetryPolicy{NonRetryableErrorTypes: make([]string, 101)})},
		{`action.retryPolicy.nonRetryableErrorTypes[1]: is empty: use 1 to 255 bytes of text`, retry(schedule.RetryPolicy{NonRetryableErrorTypes: []string{"a", ""}})},

		{`policies.overlap: "bufer_one" is not an overlap policy, did you mean buffer_one? Use one of skip, buffer_one, buffer_all, cancel_other, terminate_other, allow_all`, func(r *schedule.CreateRequest) { r.Policies.Overlap = "bufer_one" }},
		{`policies.overlap: "AllowAll" is not an overlap policy, did you mean allow_all? Use one of skip, buffer_one, buffer_all, cancel_other, terminate_other, allow_all`, func(r *schedule.CreateRequest) { r.Policies.Overlap = "AllowAll" }},
		{`policies.overlap: "whatever" is not an overlap policy: use one of skip, buffer_one, buffer_all, cancel_other, terminate_other, allow_all`, func(r *schedule.CreateRequest) { r.Policies.Overlap = "whatever" }},
		{`policies.concurrencyLimit: -1 is negative: use 0 or more`, func(r *schedule.CreateRequest) { r.Policies.ConcurrencyLimit = -1 }},
		{`policies.catchupWindow: -1s is negative: use 0 or more`, func(r *schedule.CreateRequest) { r.Policies.CatchupWindow = schedule.Duration(-time.Second) }},
		{`policies.lostRuns: "fial" is not a policy for lost runs, did you mean fail? Use one of fail, wait`, func(r *schedule.CreateRequest) { r.Policies.LostRuns = "fial" }},
		{`policies.catchupMode: "lastest" is not a catch-up mode, did you mean latest? Use one of all, latest`, func(r *schedule.CreateRequest) { r.Policies.CatchupMode = "lastest" }},

		{`spec.excludeDates[0]: "25.12.2026" is not a date: use one such as 2026-12-25, or a range such as 2026-12-24/2026-12-26`, func(r *schedule.CreateRequest) { r.Spec.ExcludeDates = []schedule.DateRange{"25.12.2026"} }},
		{`spec.blackouts[0].to: 2026-03-01T09:30:15Z is not after from (2026-03-01T09:30:15Z): use a later time, it is the first one that is not blacked out`, func(r *schedule.CreateRequest) {
			r.Spec.Blackouts = []schedule.Blackout{{From: scheduletest.Whole(9), To: scheduletest.Whole(9)}}
		}},
		{`spec.excludeCalendarsNamed[0]: is empty: use 1 to 255 bytes of text`, func(r *schedule.CreateRequest) { r.Spec.ExcludeCalendarsNamed = []string{""} }},
		{`spec.dst.gap: "shfit" is not a gap policy, did you mean shift? Use one of skip, shift`, func(r *schedule.CreateRequest) { r.Spec.DST.Gap = "shfit" }},
		{`spec.dst.repeat: "once" is not a repeat policy: use one of both, first, last`, func(r *schedule.CreateRequest) { r.Spec.DST.Repeat = "once" }},

		{`state.notes: is 4097 bytes long: at most 4096 are accepted`, func(r *schedule.CreateRequest) { r.State.Notes = strings.Repeat("x", 4097) }},
		{`state.notes: is not valid UTF-8`, func(r *schedule.CreateRequest) { r.State.Notes = "\xff" }},
		{`state.remainingActions: -1 is negative: use 0 or more`, func(r *schedule.CreateRequest) { r.State.RemainingActions = -1 }},
	} {
		t.Run(test.want, func(t *testing.T) {
			t.Parallel()
			request := validCreate()
			test.edit(&request)
			scheduletest.RequireInvalid(t, request.Validate(), test.want)
		})
	}
}

func retry(policy schedule.RetryPolicy) func(*schedule.CreateRequest) {
	return func(r *schedule.CreateRequest) { r.Action.RetryPolicy = &policy }
}

// The first error wins, in the order of the fields: the same schedule always gives the same error.
func TestValidateOrder(t *testing.T) {
	t.Parallel()
	request := schedule.CreateRequest{RequestID: "\n"}
	request.Spec.Jitter = -1
	request.Policies.ConcurrencyLimit = -1
	request.State.RemainingActions = -1
	for _, step := range []struct {
		field string
		fix   func()
	}{
		{"id", func() { request.ID = "daily" }},
		{"spec.jitter", func() { request.Spec.Jitter = 0 }},
		{"action.type", func() { request.Action = validCreate().Action }},
		{"policies.concurrencyLimit", func() { request.Policies.ConcurrencyLimit = 0 }},
		{"state.remainingActions", func() { request.State.RemainingActions = 0 }},
		{"requestId", func() { request.RequestID = "" }},
	} {
		var e *schedule.Error
		require.ErrorAs(t, request.Validate(), &e)
		require.Equal(t, step.field, e.Field)
		step.fix()
	}
	require.NoError(t, request.Validate())
}

func TestRequestsValidate(t *testing.T) {
	t.Parallel()
	longNote := strings.Repeat("x", schedule.MaxNoteBytes+1)
	morning, evening := scheduletest.Whole(9), scheduletest.Whole(18)
	for _, test := range []struct {
		request interface{ Validate() error }
		want    string // empty: valid
	}{
		{schedule.IDRequest{ID: "a"}, ""},
		{schedule.IDRequest{}, `id: is empty: use 1 to 255 bytes of text`},
		{schedule.NoteRequest{ID: "a", Note: "two\nlines"}, ""},
		{schedule.NoteRequest{}, `id: is empty: use 1 to 255 bytes of text`},
		{schedule.NoteRequest{ID: "a", Note: longNote}, `note: is 4097 bytes long: at most 4096 are accepted`},
		{schedule.TriggerRequest{ID: "a", Trigger: schedule.Trigger{Overlap: schedule.OverlapSkip, Note: "n"}, RequestID: "r"}, ""},
		{schedule.TriggerRequest{}, `id: is empty: use 1 to 255 bytes of text`},
		{schedule.TriggerRequest{ID: "a", Trigger: schedule.Trigger{Overlap: "x"}}, `overlap: "x" is not an overlap policy: use one of skip, buffer_one, buffer_all, cancel_other, terminate_other, allow_all`},
		{schedule.TriggerRequest{ID: "a", Trigger: schedule.Trigger{Note: longNote}}, `note: is 4097 bytes long: at most 4096 are accepted`},
		{schedule.TriggerRequest{ID: "a", RequestID: "\t"}, `requestId: contains the control character U+0009: use printable text`},
		{schedule.ListRequest{}, ""},
		{schedule.ListRequest{PageSize: 1000, PageToken: "t", Prefix: "p"}, ""},
		{schedule.ListRequest{PageSize: -1}, `pageSize: -1 is out of range: use 1 to 1000, or 0 for the default`},
		{schedule.ListRequest{PageSize: 1001}, `pageSize: 1001 is out of range: use 1 to 1000, or 0 for the default`},
		{schedule.ListRequest{PageToken: strings.Repeat("x", 1025)}, `pageToken: is 1025 bytes long: at most 1024 are accepted`},
		{schedule.ListRequest{Prefix: "\n"}, `prefix: contains the control character U+000A: use printable text`},
		{schedule.BackfillRange{Start: morning, End: evening, Overlap: schedule.OverlapSkip}, ""},
		{schedule.BackfillRange{Start: morning, End: morning}, ""},
		{schedule.BackfillRange{End: evening}, `start: is missing: use a time in RFC 3339`},
		{schedule.BackfillRange{Start: morning}, `end: is missing: use a time in RFC 3339`},
		{schedule.BackfillRange{Start: evening, End: morning}, `end: lies before start: use a time from start on`},
		{schedule.BackfillRange{Start: morning, End: evening, Overlap: "Skip"}, `overlap: "Skip" is not an overlap policy, did you mean skip? Use one of skip, buffer_one, buffer_all, cancel_other, terminate_other, allow_all`},
		{schedule.Key{Namespace: "default", ID: "a"}, ""},
		{schedule.Key{ID: "a"}, `namespace: "" is not a name: use 1 to 63 of a-z, 0-9 and -`},
		{schedule.Key{Namespace: "default"}, `id: is empty: use 1 to 255 bytes of text`},
	} {
		err := test.request.Validate()
		if test.want == "" {
			require.NoError(t, err, "%+v", test.request)
			continue
		}
		scheduletest.RequireInvalid(t, err, test.want)
	}
}

func TestValidateNamespace(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "team-7", "0", "-", strings.Repeat("x", 63)} {
		require.NoError(t, schedule.ValidateNamespace(name))
	}
	for _, name := range []string{"", "A", "a.b", "a_b", "a b", "é", "*", ">", "a\x00", "\xff", strings.Repeat("x", 64)} {
		scheduletest.RequireInvalid(t, schedule.ValidateNamespace(name),
			fmt.Sprintf("namespace: %q is not a name: use 1 to 63 of a-z, 0-9 and -", name))
	}
}
